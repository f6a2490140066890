// C = A B in half precision, summed in single precision. One thread computes one element.
#include <cuda_fp16.h>

__global__ void half_gemm(const half* A, const half* B, float* C, int M, int N, int K) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < M && c < N) {
    float sum = 0.0f;
    for (int k = 0; k < K; k++) {
      sum += __half2float(A[r * K + k]) * __half2float(B[k * N + c]);
    }
    C[r * N + c] = sum;
  }
}
