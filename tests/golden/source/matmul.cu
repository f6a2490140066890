// entry: matmul
#include <cuda_runtime.h>

// Naive matrix product, one thread an element of C.
__global__ void matmul(const float* __restrict__ A, const float* __restrict__ B, float* C,
                       int M, int N, int K) {
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; ++k) {
            int a = row * K + k, b = k * N + col;
            sum += A[a] * B[b];
        }
        C[row * N + col] = sum;
    }
}

__global__ void other(float* x) { x[threadIdx.x] = 0.0f; }
