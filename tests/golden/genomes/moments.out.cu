extern "C" __global__ void layernorm(const float* x, const float* gamma, const float* beta, float* y, int rows, int cols, float eps)
{
    __shared__ __align__(16) float sum_part_warps[1][8];
    __shared__ __align__(16) float squares_part_warps[1][8];
    const int r_block = (int)blockIdx.x;
    const int r_lane = (int)threadIdx.x;
    if (r_block < rows) {
        float sum = 0.0f;
        float sum_part = 0.0f;
        float squares_part = 0.0f;
        float sum_part_count = 0.0f;
        float sum_part_mean = 0.0f;
        for (int j_outer = 0; j_outer < cols / 1024; j_outer++) {
            float x_kept[4];
            {
                const float4 wide = *(const float4*)&x[cols * r_block + r_lane * 4 + j_outer * 1024 + 0];
                x_kept[0] = wide.x;
                x_kept[1] = wide.y;
                x_kept[2] = wide.z;
                x_kept[3] = wide.w;
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
        const float sum_part_other = __shfl_xor_sync(0xffffffffu, sum_part, 16);
        sum_part += sum_part_other;
        const float sum_part_other_2 = __shfl_xor_sync(0xffffffffu, sum_part, 8);
        sum_part += sum_part_other_2;
        const float sum_part_other_3 = __shfl_xor_sync(0xffffffffu, sum_part, 4);
        sum_part += sum_part_other_3;
        const float sum_part_other_4 = __shfl_xor_sync(0xffffffffu, sum_part, 2);
        sum_part += sum_part_other_4;
        const float sum_part_other_5 = __shfl_xor_sync(0xffffffffu, sum_part, 1);
        sum_part += sum_part_other_5;
        if (r_lane % 32 == 0) {
            sum_part_warps[0][r_lane / 32] = sum_part;
        }
        __syncthreads();
        sum_part = sum_part_warps[0][r_lane % 8];
        const float sum_part_other_6 = __shfl_xor_sync(0xffffffffu, sum_part, 4);
        sum_part += sum_part_other_6;
        const float sum_part_other_7 = __shfl_xor_sync(0xffffffffu, sum_part, 2);
        sum_part += sum_part_other_7;
        const float sum_part_other_8 = __shfl_xor_sync(0xffffffffu, sum_part, 1);
        sum_part += sum_part_other_8;
        sum += sum_part;
        float mean = sum / cols;
        float squares = 0.0f;
        squares_part += sum_part_count * ((sum_part_mean - mean) * (sum_part_mean - mean));
        const float squares_part_other = __shfl_xor_sync(0xffffffffu, squares_part, 16);
        squares_part += squares_part_other;
        const float squares_part_other_2 = __shfl_xor_sync(0xffffffffu, squares_part, 8);
        squares_part += squares_part_other_2;
        const float squares_part_other_3 = __shfl_xor_sync(0xffffffffu, squares_part, 4);
        squares_part += squares_part_other_3;
        const float squares_part_other_4 = __shfl_xor_sync(0xffffffffu, squares_part, 2);
        squares_part += squares_part_other_4;
        const float squares_part_other_5 = __shfl_xor_sync(0xffffffffu, squares_part, 1);
        squares_part += squares_part_other_5;
        if (r_lane % 32 == 0) {
            squares_part_warps[0][r_lane / 32] = squares_part;
        }
        __syncthreads();
        squares_part = squares_part_warps[0][r_lane % 8];
        const float squares_part_other_6 = __shfl_xor_sync(0xffffffffu, squares_part, 4);
        squares_part += squares_part_other_6;
        const float squares_part_other_7 = __shfl_xor_sync(0xffffffffu, squares_part, 2);
        squares_part += squares_part_other_7;
        const float squares_part_other_8 = __shfl_xor_sync(0xffffffffu, squares_part, 1);
        squares_part += squares_part_other_8;
        squares += squares_part;
        float scale = rsqrtf(squares / cols + eps);
        for (int j_3_outer = 0; j_3_outer < cols / 1024; j_3_outer++) {
            float x_value[4];
            {
                const float4 wide = *(const float4*)&x[r_block * cols + r_lane * 4 + j_3_outer * 1024 + 0];
                x_value[0] = wide.x;
                x_value[1] = wide.y;
                x_value[2] = wide.z;
                x_value[3] = wide.w;
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
