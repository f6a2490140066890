extern "C" __global__ void tiled(const float* A, const float* B, float* C, int N)
{
    __shared__ __align__(16) float As[16][17];
    __shared__ __align__(16) float Bs[16][16];
    int tx = threadIdx.x;
    int ty = threadIdx.y;
    int row = blockIdx.y * 16 + ty;
    int col = blockIdx.x * 16 + tx;
    float acc = 0;
    for (int t = 0; t < (N + 16 - 1) / 16; t++) {
        As[ty][tx] = row < N && t * 16 + tx < N ? A[row * N + t * 16 + tx] : 0.0f;
        Bs[ty][tx] = col < N && t * 16 + ty < N ? B[(t * 16 + ty) * N + col] : 0.0f;
        __syncthreads();
        #pragma unroll 16
        for (int k = 0; k < 16; k++) {
            acc += As[ty][k] * Bs[k][tx];
        }
        __syncthreads();
    }
    if (row < N && col < N) {
        C[row * N + col] = acc;
    }
}
