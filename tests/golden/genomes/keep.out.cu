extern "C" __global__ void softmax(const float* __restrict__ x, float* __restrict__ y, int rows, int cols)
{
    __shared__ __align__(16) float top_part_warps[1][8];
    __shared__ __align__(16) float sum_part_warps[1][8];
    const int r_block = (int)blockIdx.x;
    const int r_lane = (int)threadIdx.x;
    if (r_block < rows) {
        float top = x[r_block * 8192];
        float top_part = top;
        float x_kept[8][4];
        #pragma unroll
        for (int j_kept = 0; j_kept < 8; j_kept++) {
            {
                const float4 wide = *(const float4*)&x[r_block * 8192 + r_lane * 4 + j_kept * 1024 + 0];
                x_kept[j_kept][0] = wide.x;
                x_kept[j_kept][1] = wide.y;
                x_kept[j_kept][2] = wide.z;
                x_kept[j_kept][3] = wide.w;
            }
        }
        #pragma unroll
        for (int j_outer = 0; j_outer < 8; j_outer++) {
            #pragma unroll
            for (int j_inner = 0; j_inner < 4; j_inner++) {
                top_part = fmaxf(top_part, x_kept[j_outer][j_inner]);
            }
        }
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
        float sum_part = 0.0f;
        #pragma unroll
        for (int j_2_outer = 0; j_2_outer < 8; j_2_outer++) {
            #pragma unroll
            for (int j_2_inner = 0; j_2_inner < 4; j_2_inner++) {
                sum_part += expf(x_kept[j_2_outer][j_2_inner] - top);
            }
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
        #pragma unroll
        for (int j_3_outer = 0; j_3_outer < 8; j_3_outer++) {
            *(float4*)&y[r_block * 8192 + r_lane * 4 + j_3_outer * 1024 + 0] = make_float4(expf(x_kept[j_3_outer][0] - top) / sum, expf(x_kept[j_3_outer][1] - top) / sum, expf(x_kept[j_3_outer][2] - top) / sum, expf(x_kept[j_3_outer][3] - top) / sum);
        }
    }
}
