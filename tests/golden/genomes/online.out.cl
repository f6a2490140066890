__kernel void softmax(__global const float* x, __global float* y, int rows, int cols)
{
    __local float top_part_lanes[1][256] __attribute__((aligned(16)));
    __local float top_part_sums[1][16] __attribute__((aligned(16)));
    __local float sum_part_lanes[1][256] __attribute__((aligned(16)));
    __local float sum_part_sums[1][16] __attribute__((aligned(16)));
    const int r_block = (int)get_group_id(0);
    const int r_lane = (int)get_local_id(0);
    if (r_block < rows) {
        float top = x[r_block * cols];
        float top_part = top;
        float sum_part = 0.0f;
        for (int j_outer = 0; j_outer < cols / 1024; j_outer++) {
            const float top_part_old = top_part;
            float x_kept[4];
            {
                const float4 wide = vload4(0, &x[cols * r_block + r_lane * 4 + j_outer * 1024 + 0]);
                x_kept[0] = wide.s0;
                x_kept[1] = wide.s1;
                x_kept[2] = wide.s2;
                x_kept[3] = wide.s3;
            }
            #pragma unroll
            for (int j_inner = 0; j_inner < 4; j_inner++) {
                top_part = fmax(top_part, x_kept[j_inner]);
            }
            const float top_part_now = top_part >= -3.402823466e+38f ? top_part : 0.0f;
            sum_part *= exp(top_part_old - top_part_now);
            #pragma unroll
            for (int j_2_inner = 0; j_2_inner < 4; j_2_inner++) {
                sum_part += exp(x_kept[j_2_inner] - top_part_now);
            }
        }
        for (int j = cols / 1024 * 1024 + r_lane; j < cols; j += 256) {
            const float top_part_old_2 = top_part;
            top_part = fmax(top_part, x[r_block * cols + j]);
            const float top_part_now_2 = top_part >= -3.402823466e+38f ? top_part : 0.0f;
            sum_part *= exp(top_part_old_2 - top_part_now_2);
            sum_part += exp(x[r_block * cols + j] - top_part_now_2);
        }
        const float top_part_own = top_part;
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
        sum_part *= exp(top_part_own - top);
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
        for (int j_3_outer = 0; j_3_outer < cols / 1024; j_3_outer++) {
            float x_value[4];
            {
                const float4 wide = vload4(0, &x[r_block * cols + r_lane * 4 + j_3_outer * 1024 + 0]);
                x_value[0] = wide.s0;
                x_value[1] = wide.s1;
                x_value[2] = wide.s2;
                x_value[3] = wide.s3;
            }
            vstore4((float4)(exp(x_value[0] - top) / sum, exp(x_value[1] - top) / sum, exp(x_value[2] - top) / sum, exp(x_value[3] - top) / sum), 0, &y[r_block * cols + r_lane * 4 + j_3_outer * 1024 + 0]);
        }
        for (int j_3 = cols / 1024 * 1024 + r_lane; j_3 < cols; j_3 += 256) {
            y[r_block * cols + j_3] = exp(x[r_block * cols + j_3] - top) / sum;
        }
    }
}
