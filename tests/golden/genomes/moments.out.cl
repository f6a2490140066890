__kernel void layernorm(__global const float* x, __global const float* gamma, __global const float* beta, __global float* y, int rows, int cols, float eps)
{
    __local float sum_part_lanes[1][256] __attribute__((aligned(16)));
    __local float sum_part_sums[1][16] __attribute__((aligned(16)));
    __local float squares_part_lanes[1][256] __attribute__((aligned(16)));
    __local float squares_part_sums[1][16] __attribute__((aligned(16)));
    const int r_block = (int)get_group_id(0);
    const int r_lane = (int)get_local_id(0);
    if (r_block < rows) {
        float sum = 0.0f;
        float sum_part = 0.0f;
        float squares_part = 0.0f;
        float sum_part_count = 0.0f;
        float sum_part_mean = 0.0f;
        for (int j_outer = 0; j_outer < cols / 1024; j_outer++) {
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
                sum_part += x_kept[j_inner];
            }
            const float sum_part_now = sum_part / (sum_part_count + 4.0f);
            squares_part += sum_part_count * ((sum_part_mean - sum_part_now) * (sum_part_mean - sum_part_now));
            float d[4];
            #pragma unroll
            for (int j_2_inner = 0; j_2_inner < 4; j_2_inner++) {
                d[j_2_inner] = x_kept[j_2_inner] - sum_part_now;
            }
            #pragma unroll
            for (int j_2_inner = 0; j_2_inner < 4; j_2_inner++) {
                squares_part += d[j_2_inner] * d[j_2_inner];
            }
            sum_part_count += 4.0f;
            sum_part_mean = sum_part_now;
        }
        for (int j = cols / 1024 * 1024 + r_lane; j < cols; j += 256) {
            sum_part += x[r_block * cols + j];
            const float sum_part_now_2 = sum_part / (sum_part_count + 1.0f);
            squares_part += sum_part_count * ((sum_part_mean - sum_part_now_2) * (sum_part_mean - sum_part_now_2));
            float d_rest = x[r_block * cols + j] - sum_part_now_2;
            squares_part += d_rest * d_rest;
            sum_part_count += 1.0f;
            sum_part_mean = sum_part_now_2;
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
        float mean = sum / cols;
        float squares = 0.0f;
        squares_part += sum_part_count * ((sum_part_mean - mean) * (sum_part_mean - mean));
        squares_part_lanes[0][r_lane] = squares_part;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (r_lane < 16) {
            for (int squares_part_at = r_lane + 16; squares_part_at < 256; squares_part_at += 16) {
                squares_part += squares_part_lanes[0][squares_part_at];
            }
            squares_part_sums[0][r_lane] = squares_part;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        squares_part = squares_part_sums[0][0];
        for (int squares_part_at = 1; squares_part_at < 16; squares_part_at++) {
            squares_part += squares_part_sums[0][squares_part_at];
        }
        squares += squares_part;
        float scale = rsqrt(squares / cols + eps);
        for (int j_3_outer = 0; j_3_outer < cols / 1024; j_3_outer++) {
            float x_value[4];
            {
                const float4 wide = vload4(0, &x[r_block * cols + r_lane * 4 + j_3_outer * 1024 + 0]);
                x_value[0] = wide.s0;
                x_value[1] = wide.s1;
                x_value[2] = wide.s2;
                x_value[3] = wide.s3;
            }
            #pragma unroll
            for (int j_3_inner = 0; j_3_inner < 4; j_3_inner++) {
                y[r_block * cols + r_lane * 4 + j_3_outer * 1024 + j_3_inner] = (x_value[j_3_inner] - mean) * scale * gamma[r_lane * 4 + j_3_outer * 1024 + j_3_inner] + beta[r_lane * 4 + j_3_outer * 1024 + j_3_inner];
            }
        }
        for (int j_3 = cols / 1024 * 1024 + r_lane; j_3 < cols; j_3 += 256) {
            y[r_block * cols + j_3] = (x[r_block * cols + j_3] - mean) * scale * gamma[j_3] + beta[j_3];
        }
    }
}
