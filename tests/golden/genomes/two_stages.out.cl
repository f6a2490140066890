__kernel void sum(__global const float* x, __global float* total, int n, __global float* total_totals)
{
    __local float total_part_lanes[1][256] __attribute__((aligned(16)));
    __local float total_part_sums[1][16] __attribute__((aligned(16)));
    const int i_thread = (int)get_local_id(0);
    const int thread_id = i_thread;
    float total_part = 0.0f;
    for (int i_round = 0; i_round < ((int)get_group_id(0) < n / 2048 + (n % 2048 != 0) ? (n / 2048 + (n % 2048 != 0) - (int)get_group_id(0) + (int)get_num_groups(0) - 1) / (int)get_num_groups(0) : 0); i_round++) {
        const int i_block = (int)get_group_id(0) * 2048 + (int)get_num_groups(0) * i_round * 2048;
        const int i_first = i_block + i_thread * 8;
        if (i_first + 7 < n) {
            float x_value[8];
            #pragma unroll
            for (int i_inner = 0; i_inner < 2; i_inner++) {
                {
                    const float4 wide = vload4(0, &x[i_first + i_inner * 4]);
                    x_value[i_inner * 4] = wide.s0;
                    x_value[i_inner * 4 + 1] = wide.s1;
                    x_value[i_inner * 4 + 2] = wide.s2;
                    x_value[i_inner * 4 + 3] = wide.s3;
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
    total_part_lanes[0][thread_id] = total_part;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (thread_id < 16) {
        for (int total_part_at = thread_id + 16; total_part_at < 256; total_part_at += 16) {
            total_part += total_part_lanes[0][total_part_at];
        }
        total_part_sums[0][thread_id] = total_part;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    total_part = total_part_sums[0][0];
    for (int total_part_at = 1; total_part_at < 16; total_part_at++) {
        total_part += total_part_sums[0][total_part_at];
    }
    if (thread_id == 0) {
        total_totals[(int)get_group_id(0) + (int)get_num_groups(0) * ((int)get_group_id(1) + (int)get_num_groups(1) * (int)get_group_id(2))] = total_part;
    }
}

__kernel void sum_finish(__global const float* x, __global float* total, int n, __global const float* total_totals)
{
    __local float total_totals_part_lanes[1][256] __attribute__((aligned(16)));
    __local float total_totals_part_sums[1][16] __attribute__((aligned(16)));
    const int total_totals_thread = (uint)get_local_id(0);
    float total_totals_part = 0.0f;
    for (int total_totals_at = total_totals_thread; total_totals_at < 128; total_totals_at += 256) {
        total_totals_part += total_totals[total_totals_at];
    }
    total_totals_part_lanes[0][total_totals_thread] = total_totals_part;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (total_totals_thread < 16) {
        for (int total_totals_part_at = total_totals_thread + 16; total_totals_part_at < 256; total_totals_part_at += 16) {
            total_totals_part += total_totals_part_lanes[0][total_totals_part_at];
        }
        total_totals_part_sums[0][total_totals_thread] = total_totals_part;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    total_totals_part = total_totals_part_sums[0][0];
    for (int total_totals_part_at = 1; total_totals_part_at < 16; total_totals_part_at++) {
        total_totals_part += total_totals_part_sums[0][total_totals_part_at];
    }
    if (total_totals_thread == 0) {
        total[0] += total_totals_part;
    }
}
