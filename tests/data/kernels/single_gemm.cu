// Products of single-precision matrices, one element a thread.
__global__ void single_gemm(const float* A, const float* B, float* C, int M, int N, int K) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c < N && r < M) {
    float sum = 0.0f;
    for (int k = 0; k < K; k++) sum += A[r * K + k] * B[k * N + c];
    C[r * N + c] = sum;
  }
}

// The right factor is stored by columns, and comes first in the product.
__global__ void single_nt(const float* A, const float* B, float* C, int M, int N, int K) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c < N && r < M) {
    float sum = 0.0f;
    for (int k = 0; k < K; k++) sum += B[c * K + k] * A[r * K + k];
    C[r * N + c] = sum;
  }
}
