// Products of half-precision matrices, summed in single precision: row-major, transposed and with an epilogue.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void half_gemm(const half* A, const half* B, float* C, int M, int N, int K) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < M && c < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; k++) sum += __half2float(A[r * K + k]) * __half2float(B[k * N + c]);
        C[r * N + c] = sum;
    }
}

__global__ void scaled_nt(int rows, int cols, int depth, float alpha, __half* out, const __half* __restrict__ right,
                          const __half* __restrict__ left) {
    int i = threadIdx.y + blockIdx.y * blockDim.y, j = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= rows || j >= cols) return;
    float acc = 0.0f;
    for (int d = 0; d < depth; ++d) acc += (float)left[i * depth + d] * (float)right[j * depth + d];
    out[i * cols + j] = __float2half(alpha * acc);
}

__global__ void bfloat_tn(const __nv_bfloat16* X, const __nv_bfloat16* Y, float* Z, int m, int n, int k) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < m && col < n) {
        float total = Z[row * n + col];
        for (int p = 0; p < k; p++) total += __bfloat162float(X[p * m + row]) * __bfloat162float(Y[p * n + col]);
        Z[row * n + col] = total;
    }
}
