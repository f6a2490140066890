__kernel void matmul(__global const float* restrict A, __global const float* restrict B, __global float* C, int M, int N, int K)
{
    const int row = (int)(get_group_id(1) * get_local_size(1) + get_local_id(1));
    const int col = (int)(get_group_id(0) * get_local_size(0) + get_local_id(0));
    if (row < M && col < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; k++) {
            sum += A[row * K + k] * B[k * N + col];
        }
        C[row * N + col] = sum;
    }
}
