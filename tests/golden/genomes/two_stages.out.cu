extern "C" __global__ void sum(const float* x, float* total, int n, float* total_totals)
{
    __shared__ __align__(16) float total_part_warps[1][8];
    const int i_thread = (int)threadIdx.x;
    const int thread_id = i_thread;
    float total_part = 0.0f;
    for (int i_round = 0; i_round < ((int)blockIdx.x < n / 2048 + (n % 2048 != 0) ? (n / 2048 + (n % 2048 != 0) - (int)blockIdx.x + (int)gridDim.x - 1) / (int)gridDim.x : 0); i_round++) {
        const int i_block = (int)blockIdx.x * 2048 + (int)gridDim.x * i_round * 2048;
        const int i_first = i_block + i_thread * 8;
        if (i_first + 7 < n) {
            float x_value[8];
            #pragma unroll
            for (int i_inner = 0; i_inner < 2; i_inner++) {
                {
                    const float4 wide = *(const float4*)&x[i_first + i_inner * 4];
                    x_value[i_inner * 4] = wide.x;
                    x_value[i_inner * 4 + 1] = wide.y;
                    x_value[i_inner * 4 + 2] = wide.z;
                    x_value[i_inner * 4 + 3] = wide.w;
                }
            }
            #pragma unroll
            for (int i_inner = 0; i_inner < 8; i_inner++) {
                total_part += x_value[i_inner];
            }
        } else {
            #pragma unroll 1
            for (int i_inner = 0; i_inner < 8; i_inner++) {
                if (i_first + i_inner < n) {
                    total_part += x[i_first + i_inner];
                }
            }
        }
    }
    const float total_part_other = __shfl_xor_sync(0xffffffffu, total_part, 16);
    total_part += total_part_other;
    const float total_part_other_2 = __shfl_xor_sync(0xffffffffu, total_part, 8);
    total_part += total_part_other_2;
    const float total_part_other_3 = __shfl_xor_sync(0xffffffffu, total_part, 4);
    total_part += total_part_other_3;
    const float total_part_other_4 = __shfl_xor_sync(0xffffffffu, total_part, 2);
    total_part += total_part_other_4;
    const float total_part_other_5 = __shfl_xor_sync(0xffffffffu, total_part, 1);
    total_part += total_part_other_5;
    if (thread_id % 32 == 0) {
        total_part_warps[0][thread_id / 32] = total_part;
    }
    __syncthreads();
    total_part = total_part_warps[0][thread_id % 8];
    const float total_part_other_6 = __shfl_xor_sync(0xffffffffu, total_part, 4);
    total_part += total_part_other_6;
    const float total_part_other_7 = __shfl_xor_sync(0xffffffffu, total_part, 2);
    total_part += total_part_other_7;
    const float total_part_other_8 = __shfl_xor_sync(0xffffffffu, total_part, 1);
    total_part += total_part_other_8;
    if (thread_id == 0) {
        total_totals[(int)blockIdx.x + (int)gridDim.x * ((int)blockIdx.y + (int)gridDim.y * (int)blockIdx.z)] = total_part;
    }
}

extern "C" __global__ void sum_finish(const float* x, float* total, int n, const float* total_totals)
{
    __shared__ __align__(16) float total_totals_part_warps[1][8];
    const int total_totals_thread = threadIdx.x;
    float total_totals_part = 0.0f;
    for (int total_totals_at = total_totals_thread; total_totals_at < 2048; total_totals_at += 256) {
        total_totals_part += total_totals[total_totals_at];
    }
    const float total_totals_part_other = __shfl_xor_sync(0xffffffffu, total_totals_part, 16);
    total_totals_part += total_totals_part_other;
    const float total_totals_part_other_2 = __shfl_xor_sync(0xffffffffu, total_totals_part, 8);
    total_totals_part += total_totals_part_other_2;
    const float total_totals_part_other_3 = __shfl_xor_sync(0xffffffffu, total_totals_part, 4);
    total_totals_part += total_totals_part_other_3;
    const float total_totals_part_other_4 = __shfl_xor_sync(0xffffffffu, total_totals_part, 2);
    total_totals_part += total_totals_part_other_4;
    const float total_totals_part_other_5 = __shfl_xor_sync(0xffffffffu, total_totals_part, 1);
    total_totals_part += total_totals_part_other_5;
    if (total_totals_thread % 32 == 0) {
        total_totals_part_warps[0][total_totals_thread / 32] = total_totals_part;
    }
    __syncthreads();
    total_totals_part = total_totals_part_warps[0][total_totals_thread % 8];
    const float total_totals_part_other_6 = __shfl_xor_sync(0xffffffffu, total_totals_part, 4);
    total_totals_part += total_totals_part_other_6;
    const float total_totals_part_other_7 = __shfl_xor_sync(0xffffffffu, total_totals_part, 2);
    total_totals_part += total_totals_part_other_7;
    const float total_totals_part_other_8 = __shfl_xor_sync(0xffffffffu, total_totals_part, 1);
    total_totals_part += total_totals_part_other_8;
    if (total_totals_thread == 0) {
        total[0] += total_totals_part;
    }
}
