// y = A x for a row-major M x N matrix. One thread computes one element of y.
__global__ void gemv(const float* A, const float* x, float* y, int M, int N) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < M) {
    float sum = 0.0f;
    for (int j = 0; j < N; j++) {
      sum += A[r * N + j] * x[j];
    }
    y[r] = sum;
  }
}
