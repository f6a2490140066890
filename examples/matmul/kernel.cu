// C = A * B for row-major float matrices: A is M x K, B is K x N, C is M x N. One thread computes one element.
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < M && c < N) {
    float sum = 0.0f;
    for (int k = 0; k < K; k++) {
      sum += A[r * K + k] * B[k * N + c];
    }
    C[r * N + c] = sum;
  }
}
