extern "C" __global__ void softmax(const float* x, float* y, int rows, int cols)
{
    __shared__ __align__(16) float top_part_warps[1][8];
    __shared__ __align__(16) float sum_part_warps[1][8];
    const int r_block = (int)blockIdx.x;
    const int r_lane = (int)threadIdx.x;
    if (r_block < rows) {
        float top = x[r_block * cols];
        float top_part = top;
        float sum_part = 0.0f;
        for (int j_outer = 0; j_outer < cols / 1024; j_outer++) {
            const float top_part_old = top_part;
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
                top_part = fmaxf(top_part, x_kept[j_inner]);
            }
            const float top_part_now = top_part >= -3.402823466e+38f ? top_part : 0.0f;
            sum_part *= expf(top_part_old - top_part_now);
            #pragma unroll
            for (int j_2_inner = 0; j_2_inner < 4; j_2_inner++) {
                sum_part += expf(x_kept[j_2_inner] - top_part_now);
            }
        }
        for (int j = cols / 1024 * 1024 + r_lane; j < cols; j += 256) {
            const float top_part_old_2 = top_part;
            top_part = fmaxf(top_part, x[r_block * cols + j]);
            const float top_part_now_2 = top_part >= -3.402823466e+38f ? top_part : 0.0f;
            sum_part *= expf(top_part_old_2 - top_part_now_2);
            sum_part += expf(x[r_block * cols + j] - top_part_now_2);
        }
        const float top_part_own = top_part;
        const float top_part_other = __shfl_xor_sync(0xffffffffu, top_part, 16);
        top_part = fmaxf(top_part, top_part_other);
        const float top_part_other_2 = __shfl_xor_sync(0xffffffffu, top_part, 8);
        top_part = fmaxf(top_part, top_part_other_2);
        const float top_part_other_3 = __shfl_xor_sync(0xffffffffu, top_part, 4);
        top_part = fmaxf(top_part, top_part_other_3);
        const float top_part_other_4 = __shfl_xor_sync(0xffffffffu, top_part, 2);
        top_part = fmaxf(top_part, top_part_other_4);
        const float top_part_other_5 = __shfl_xor_sync(0xffffffffu, top_part, 1);
        top_part = fmaxf(top_part, top_part_other_5);
        if (r_lane % 32 == 0) {
            top_part_warps[0][r_lane / 32] = top_part;
        }
        __syncthreads();
        top_part = top_part_warps[0][r_lane % 8];
        const float top_part_other_6 = __shfl_xor_sync(0xffffffffu, top_part, 4);
        top_part = fmaxf(top_part, top_part_other_6);
        const float top_part_other_7 = __shfl_xor_sync(0xffffffffu, top_part, 2);
        top_part = fmaxf(top_part, top_part_other_7);
        const float top_part_other_8 = __shfl_xor_sync(0xffffffffu, top_part, 1);
        top_part = fmaxf(top_part, top_part_other_8);
        top = top_part;
        float sum = 0.0f;
        sum_part *= expf(top_part_own - top);
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
        for (int j_3_outer = 0; j_3_outer < cols / 1024; j_3_outer++) {
            float x_value[4];
            {
                const float4 wide = *(const float4*)&x[r_block * cols + r_lane * 4 + j_3_outer * 1024 + 0];
                x_value[0] = wide.x;
                x_value[1] = wide.y;
                x_value[2] = wide.z;
                x_value[3] = wide.w;
            }
            *(float4*)&y[r_block * cols + r_lane * 4 + j_3_outer * 1024 + 0] = make_float4(expf(x_value[0] - top) / sum, expf(x_value[1] - top) / sum, expf(x_value[2] - top) / sum, expf(x_value[3] - top) / sum);
        }
        for (int j_3 = cols / 1024 * 1024 + r_lane; j_3 < cols; j_3 += 256) {
            y[r_block * cols + j_3] = expf(x[r_block * cols + j_3] - top) / sum;
        }
    }
}
