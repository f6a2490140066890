__kernel void tiled(__global const float* A, __global const float* B, __global float* C, int N)
{
    __local float As[16][17] __attribute__((aligned(16)));
    __local float Bs[16][16] __attribute__((aligned(16)));
    int tx = (uint)get_local_id(0);
    int ty = (uint)get_local_id(1);
    int row = (uint)get_group_id(1) * 16 + ty;
    int col = (uint)get_group_id(0) * 16 + tx;
    float acc = 0;
    for (int t = 0; t < (N + 16 - 1) / 16; t++) {
        As[ty][tx] = row < N && t * 16 + tx < N ? A[row * N + t * 16 + tx] : 0.0f;
        Bs[ty][tx] = col < N && t * 16 + ty < N ? B[(t * 16 + ty) * N + col] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
        #pragma unroll 16
        for (int k = 0; k < 16; k++) {
            acc += As[ty][k] * Bs[k][tx];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < N && col < N) {
        C[row * N + col] = acc;
    }
}
