extern "C" __global__ void __launch_bounds__(128, 2) matmul(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K)
{
    __shared__ __align__(16) float A_tile[2][8][132];
    __shared__ __align__(16) float B_tile[2][8][128];
    const int thread_id = (int)threadIdx.x + (int)threadIdx.y * 16;
    const int c_block = (int)blockIdx.x * 128;
    const int c_thread = thread_id % 8 + thread_id / 32 % 2 * 8;
    const int r_block = (int)blockIdx.y * 128;
    const int r_thread = thread_id / 8 % 4 + thread_id / 64 % 2 * 4;
    const int c_first = c_block + c_thread * 4;
    const int r_first = r_block + r_thread * 4;
    if (c_block + 127 < N && r_block + 127 < M) {
        float sum[4][4][2][4];
        #pragma unroll
        for (int r_outer = 0; r_outer < 4; r_outer++) {
            #pragma unroll
            for (int r_inner = 0; r_inner < 4; r_inner++) {
                #pragma unroll
                for (int c_outer = 0; c_outer < 2; c_outer++) {
                    #pragma unroll
                    for (int c_inner = 0; c_inner < 4; c_inner++) {
                        sum[r_outer][r_inner][c_outer][c_inner] = 0.0f;
                    }
                }
            }
        }
        float A_ahead[2][4];
        float B_ahead[2][4];
        if (0 < K / 8 * 8) {
            #pragma unroll
            for (int A_round_first = 0; A_round_first < 2; A_round_first++) {
                const int A_row_first = thread_id / 2 + A_round_first * 64;
                {
                    const float4 wide = *(const float4*)&A[K * r_block + thread_id % 2 * 4 + A_row_first * K + 0];
                    A_ahead[A_round_first][0] = wide.x;
                    A_ahead[A_round_first][1] = wide.y;
                    A_ahead[A_round_first][2] = wide.z;
                    A_ahead[A_round_first][3] = wide.w;
                }
            }
            #pragma unroll
            for (int B_round_first = 0; B_round_first < 2; B_round_first++) {
                const int B_row_first = thread_id / 32 + B_round_first * 4;
                {
                    const float4 wide = *(const float4*)&B[thread_id % 32 * 4 + c_block + B_row_first * N + 0];
                    B_ahead[B_round_first][0] = wide.x;
                    B_ahead[B_round_first][1] = wide.y;
                    B_ahead[B_round_first][2] = wide.z;
                    B_ahead[B_round_first][3] = wide.w;
                }
            }
            #pragma unroll
            for (int A_round_store_first = 0; A_round_store_first < 2; A_round_store_first++) {
                const int A_row_store_first = thread_id / 2 + A_round_store_first * 64;
                #pragma unroll
                for (int A_lane_store_first = 0; A_lane_store_first < 4; A_lane_store_first++) {
                    A_tile[0][thread_id % 2 * 4 + A_lane_store_first][A_row_store_first] = A_ahead[A_round_store_first][A_lane_store_first];
                }
            }
            #pragma unroll
            for (int B_round_store_first = 0; B_round_store_first < 2; B_round_store_first++) {
                const int B_row_store_first = thread_id / 32 + B_round_store_first * 4;
                *(float4*)&B_tile[0][B_row_store_first][thread_id % 32 * 4 + 0] = make_float4(B_ahead[B_round_store_first][0], B_ahead[B_round_store_first][1], B_ahead[B_round_store_first][2], B_ahead[B_round_store_first][3]);
            }
        }
        __syncthreads();
        for (int k_outer = 0; k_outer < K / 8 * 8; k_outer += 8) {
            const int k_outer_stage = k_outer / 8 % 2;
            if (k_outer + 8 < K / 8 * 8) {
                #pragma unroll
                for (int A_round = 0; A_round < 2; A_round++) {
                    const int A_row = thread_id / 2 + A_round * 64;
                    {
                        const float4 wide = *(const float4*)&A[K * r_block + thread_id % 2 * 4 + k_outer + A_row * K + 0 + 8];
                        A_ahead[A_round][0] = wide.x;
                        A_ahead[A_round][1] = wide.y;
                        A_ahead[A_round][2] = wide.z;
                        A_ahead[A_round][3] = wide.w;
                    }
                }
                #pragma unroll
                for (int B_round = 0; B_round < 2; B_round++) {
                    const int B_row = thread_id / 32 + B_round * 4;
                    {
                        const float4 wide = *(const float4*)&B[thread_id % 32 * 4 + N * 8 + c_block + N * k_outer + B_row * N + 0];
                        B_ahead[B_round][0] = wide.x;
                        B_ahead[B_round][1] = wide.y;
                        B_ahead[B_round][2] = wide.z;
                        B_ahead[B_round][3] = wide.w;
                    }
                }
            }
            #pragma unroll
            for (int k_inner = 0; k_inner < 8; k_inner++) {
                float A_tile_value[4][4];
                #pragma unroll
                for (int r_outer = 0; r_outer < 4; r_outer++) {
                    {
                        const float4 wide = *(const float4*)&A_tile[k_outer_stage][k_inner][r_thread * 4 + r_outer * 32 + 0];
                        A_tile_value[r_outer][0] = wide.x;
                        A_tile_value[r_outer][1] = wide.y;
                        A_tile_value[r_outer][2] = wide.z;
                        A_tile_value[r_outer][3] = wide.w;
                    }
                }
                float B_tile_value[2][4];
                #pragma unroll
                for (int c_outer = 0; c_outer < 2; c_outer++) {
                    {
                        const float4 wide = *(const float4*)&B_tile[k_outer_stage][k_inner][c_thread * 4 + c_outer * 64 + 0];
                        B_tile_value[c_outer][0] = wide.x;
                        B_tile_value[c_outer][1] = wide.y;
                        B_tile_value[c_outer][2] = wide.z;
                        B_tile_value[c_outer][3] = wide.w;
                    }
                }
                #pragma unroll
                for (int r_outer = 0; r_outer < 4; r_outer++) {
                    #pragma unroll
                    for (int r_inner = 0; r_inner < 4; r_inner++) {
                        #pragma unroll
                        for (int c_outer = 0; c_outer < 2; c_outer++) {
                            #pragma unroll
                            for (int c_inner = 0; c_inner < 4; c_inner++) {
                                sum[r_outer][r_inner][c_outer][c_inner] += A_tile_value[r_outer][r_inner] * B_tile_value[c_outer][c_inner];
                            }
                        }
                    }
                }
            }
            if (k_outer + 8 < K / 8 * 8) {
                #pragma unroll
                for (int A_round_store = 0; A_round_store < 2; A_round_store++) {
                    const int A_row_store = thread_id / 2 + A_round_store * 64;
                    #pragma unroll
                    for (int A_lane_store = 0; A_lane_store < 4; A_lane_store++) {
                        A_tile[1 - k_outer_stage][thread_id % 2 * 4 + A_lane_store][A_row_store] = A_ahead[A_round_store][A_lane_store];
                    }
                }
                #pragma unroll
                for (int B_round_store = 0; B_round_store < 2; B_round_store++) {
                    const int B_row_store = thread_id / 32 + B_round_store * 4;
                    *(float4*)&B_tile[1 - k_outer_stage][B_row_store][thread_id % 32 * 4 + 0] = make_float4(B_ahead[B_round_store][0], B_ahead[B_round_store][1], B_ahead[B_round_store][2], B_ahead[B_round_store][3]);
                }
            }
            __syncthreads();
        }
        for (int k = K / 8 * 8; k < K; k++) {
            float B_value[2][4];
            #pragma unroll
            for (int c_outer_rest = 0; c_outer_rest < 2; c_outer_rest++) {
                {
                    const float4 wide = *(const float4*)&B[c_first + k * N + c_outer_rest * 64 + 0];
                    B_value[c_outer_rest][0] = wide.x;
                    B_value[c_outer_rest][1] = wide.y;
                    B_value[c_outer_rest][2] = wide.z;
                    B_value[c_outer_rest][3] = wide.w;
                }
            }
            #pragma unroll
            for (int r_outer_rest = 0; r_outer_rest < 4; r_outer_rest++) {
                #pragma unroll
                for (int r_inner_rest = 0; r_inner_rest < 4; r_inner_rest++) {
                    #pragma unroll
                    for (int c_outer_rest = 0; c_outer_rest < 2; c_outer_rest++) {
                        #pragma unroll
                        for (int c_inner_rest = 0; c_inner_rest < 4; c_inner_rest++) {
                            sum[r_outer_rest][r_inner_rest][c_outer_rest][c_inner_rest] += A[k + (r_first + r_inner_rest + r_outer_rest * 32) * K] * B_value[c_outer_rest][c_inner_rest];
                        }
                    }
                }
            }
        }
        #pragma unroll
        for (int r_outer = 0; r_outer < 4; r_outer++) {
            #pragma unroll
            for (int r_inner = 0; r_inner < 4; r_inner++) {
                #pragma unroll
                for (int c_outer = 0; c_outer < 2; c_outer++) {
                    *(float4*)&C[c_first + (r_first + r_inner + r_outer * 32) * N + c_outer * 64 + 0] = make_float4(sum[r_outer][r_inner][c_outer][0], sum[r_outer][r_inner][c_outer][1], sum[r_outer][r_inner][c_outer][2], sum[r_outer][r_inner][c_outer][3]);
                }
            }
        }
    } else {
        #pragma unroll 1
        for (int r_outer = 0; r_outer < 4; r_outer++) {
            #pragma unroll 1
            for (int r_inner = 0; r_inner < 4; r_inner++) {
                #pragma unroll 1
                for (int c_outer = 0; c_outer < 2; c_outer++) {
                    #pragma unroll 1
                    for (int c_inner = 0; c_inner < 4; c_inner++) {
                        if (c_first + c_inner + c_outer * 64 < N && r_first + r_inner + r_outer * 32 < M) {
                            float sum = 0.0f;
                            for (int k = 0; k < K; k++) {
                                sum += A[(r_first + r_inner + r_outer * 32) * K + k] * B[c_first + c_outer * 64 + c_inner + k * N];
                            }
                            C[c_first + (r_first + r_inner + r_outer * 32) * N + c_outer * 64 + c_inner] = sum;
                        }
                    }
                }
            }
        }
    }
}
