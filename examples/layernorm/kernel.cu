// Layer normalisation of each row of a row-major rows x cols matrix, with scale and shift. One thread walks one row.
__global__ void layernorm(const float* x, const float* gamma, const float* beta, float* y, int rows, int cols, float eps) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < rows) {
    float sum = 0.0f;
    for (int j = 0; j < cols; j++) {
      sum += x[r * cols + j];
    }
    float mean = sum / cols;
    float squares = 0.0f;
    for (int j = 0; j < cols; j++) {
      float d = x[r * cols + j] - mean;
      squares += d * d;
    }
    float scale = rsqrtf(squares / cols + eps);
    for (int j = 0; j < cols; j++) {
      y[r * cols + j] = (x[r * cols + j] - mean) * scale * gamma[j] + beta[j];
    }
  }
}
