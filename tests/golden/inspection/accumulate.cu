// y += A^T x with the sum kept in memory, where y may be x.
__global__ void accumulate(const float* A, const float* x, float* y, int M, int N) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < N) {
    for (int r = 0; r < M; r++) {
      y[c] += A[r * N + c] * x[r];
    }
  }
}
