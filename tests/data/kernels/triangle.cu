// The trip count differs between threads: prefix sums of each row, the slow way.
__global__ void prefix(const float* x, float* y, int rows, int cols) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols) {
        float s = 0.0f;
        for (int k = 0; k <= c; k++) {
            s += x[r * cols + k];
        }
        y[r * cols + c] = s;
    }
}
