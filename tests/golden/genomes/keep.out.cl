__kernel void softmax(__global const float* restrict x, __global float* restrict y, int rows, int cols)
{
    __local float top_part_lanes[1][256] __attribute__((aligned(16)));
    __local float top_part_sums[1][16] __attribute__((aligned(16)));
    __local float sum_part_lanes[1][256] __attribute__((aligned(16)));
    __local float sum_part_sums[1][16] __attribute__((aligned(16)));
    const int r_block = (int)get_group_id(0);
    const int r_lane = (int)get_local_id(0);
    if (r_block < rows) {
        float top = x[r_block * 8192];
        float top_part = top;
        float x_kept[8][4];
        #pragma unroll
        for (int j_kept = 0; j_kept < 8; j_kept++) {
            {
                const float4 wide = vload4(0, &x[r_block * 8192 + r_lane * 4 + j_kept * 1024 + 0]);
                x_kept[j_kept][0] = wide.s0;
                x_kept[j_kept][1] = wide.s1;
                x_kept[j_kept][2] = wide.s2;
                x_kept[j_kept][3] = wide.s3;
            }
        }
        #pragma unroll
        for (int j_outer = 0; j_outer < 8; j_outer++) {
            #pragma unroll
            for (int j_inner = 0; j_inner < 4; j_inner++) {
                top_part = fmax(top_part, x_kept[j_outer][j_inner]);
            }
        }
        top_part_lanes[0][r_lane] = top_part;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (r_lane < 16) {
            for (int top_part_at = r_lane + 16; top_part_at < 256; top_part_at += 16) {
                top_part = fmax(top_part, top_part_lanes[0][top_part_at]);
            }
            top_part_sums[0][r_lane] = top_part;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        top_part = top_part_sums[0][0];
        for (int top_part_at = 1; top_part_at < 16; top_part_at++) {
            top_part = fmax(top_part, top_part_sums[0][top_part_at]);
        }
        top = top_part;
        float sum = 0.0f;
        float sum_part = 0.0f;
        #pragma unroll
        for (int j_2_outer = 0; j_2_outer < 8; j_2_outer++) {
            #pragma unroll
            for (int j_2_inner = 0; j_2_inner < 4; j_2_inner++) {
                sum_part += exp(x_kept[j_2_outer][j_2_inner] - top);
            }
        }
        sum_part_lanes[0][r_lane] = sum_part;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (r_lane < 16) {
            for (int sum_part_at = r_lane + 16; sum_part_at < 256; sum_part_at += 16) {
                sum_part += sum_part_lanes[0][sum_part_at];
            }
            sum_part_sums[0][r_lane] = sum_part;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        sum_part = sum_part_sums[0][0];
        for (int sum_part_at = 1; sum_part_at < 16; sum_part_at++) {
            sum_part += sum_part_sums[0][sum_part_at];
        }
        sum += sum_part;
        #pragma unroll
        for (int j_3_outer = 0; j_3_outer < 8; j_3_outer++) {
            vstore4((float4)(exp(x_kept[j_3_outer][0] - top) / sum, exp(x_kept[j_3_outer][1] - top) / sum, exp(x_kept[j_3_outer][2] - top) / sum, exp(x_kept[j_3_outer][3] - top) / sum), 0, &y[r_block * 8192 + r_lane * 4 + j_3_outer * 1024 + 0]);
        }
    }
}
