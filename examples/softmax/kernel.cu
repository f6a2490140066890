// Softmax of each row of a row-major rows x cols matrix. One thread walks one row, three times.
__global__ void softmax(const float* x, float* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows) {
    float top = x[r * cols];
    for (int j = 1; j < cols; j++) {
      top = fmaxf(top, x[r * cols + j]);
    }
    float sum = 0.0f;
    for (int j = 0; j < cols; j++) {
      sum += expf(x[r * cols + j] - top);
    }
    for (int j = 0; j < cols; j++) {
      y[r * cols + j] = expf(x[r * cols + j] - top) / sum;
    }
  }
}
