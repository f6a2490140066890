static __device__ __forceinline__ unsigned int cuda_round_tf32(float value) {
    unsigned int bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
    return bits;
}
static __device__ __forceinline__ void cuda_multiply_tf32(float& s0, float& s1, float& s2, float& s3, const unsigned int (&a)[4],
        unsigned int b0, unsigned int b1) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(s0), "+f"(s1), "+f"(s2), "+f"(s3)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}


extern "C" __global__ void matmul(const float* __restrict__ A, const float* __restrict__ B, float* __restrict__ C, int M, int N, int K)
{
    __shared__ __align__(16) float A_tile[128][20];
    __shared__ __align__(16) float B_tile[16][136];
    const int thread_id = (int)threadIdx.x + (int)threadIdx.y * 16;
    const int c_block = (int)blockIdx.x * 128;
    const int c_thread = thread_id % 4 + thread_id / 32 % 4 * 4;
    const int r_block = (int)blockIdx.y * 128;
    const int r_thread = thread_id / 4 % 8 + thread_id / 128 % 2 * 8;
    const int c_first = c_block + c_thread * 2;
    const int r_first = r_block + r_thread;
    if (c_block + 127 < N && r_block + 127 < M) {
        float sum[8][4][2];
        #pragma unroll
        for (int r_outer = 0; r_outer < 8; r_outer++) {
            #pragma unroll
            for (int c_outer = 0; c_outer < 4; c_outer++) {
                #pragma unroll
                for (int c_inner = 0; c_inner < 2; c_inner++) {
                    sum[r_outer][c_outer][c_inner] = 0.0f;
                }
            }
        }
        for (int k_outer = 0; k_outer < K / 16 * 16; k_outer += 16) {
            #pragma unroll
            for (int A_round = 0; A_round < 2; A_round++) {
                const int A_row = thread_id / 4 + A_round * 64;
                #pragma unroll
                for (int A_lane = 0; A_lane < 4; A_lane++) {
                    A_tile[A_row][thread_id % 4 * 4 + A_lane] = A[K * r_block + thread_id % 4 * 4 + k_outer + A_row * K + A_lane];
                }
            }
            #pragma unroll
            for (int B_round = 0; B_round < 2; B_round++) {
                const int B_row = thread_id / 32 + B_round * 8;
                #pragma unroll
                for (int B_lane = 0; B_lane < 4; B_lane++) {
                    B_tile[B_row][thread_id % 32 * 4 + B_lane] = B[thread_id % 32 * 4 + c_block + N * k_outer + B_row * N + B_lane];
                }
            }
            __syncthreads();
            #pragma unroll
            for (int k_inner_step = 0; k_inner_step < 2; k_inner_step++) {
                unsigned int A_tile_part[4][4];
                unsigned int B_tile_part[4][2];
                #pragma unroll
                for (int r_outer_pair = 0; r_outer_pair < 4; r_outer_pair++) {
                    A_tile_part[r_outer_pair][0] = cuda_round_tf32(A_tile[r_thread + r_outer_pair * 32][thread_id % 32 % 4 + k_inner_step * 8]);
                    A_tile_part[r_outer_pair][1] = cuda_round_tf32(A_tile[r_thread + r_outer_pair * 32 + 16][thread_id % 32 % 4 + k_inner_step * 8]);
                    A_tile_part[r_outer_pair][2] = cuda_round_tf32(A_tile[r_thread + r_outer_pair * 32][thread_id % 32 % 4 + k_inner_step * 8 + 4]);
                    A_tile_part[r_outer_pair][3] = cuda_round_tf32(A_tile[r_thread + r_outer_pair * 32 + 16][thread_id % 32 % 4 + k_inner_step * 8 + 4]);
                }
                #pragma unroll
                for (int c_inner_group = 0; c_inner_group < 4; c_inner_group++) {
                    B_tile_part[c_inner_group][0] = cuda_round_tf32(B_tile[thread_id % 32 % 4 + k_inner_step * 8][thread_id % 32 / 4 % 2 + thread_id % 32 / 4 / 2 * 2 + c_thread / 4 * 8 + c_inner_group * 32]);
                    B_tile_part[c_inner_group][1] = cuda_round_tf32(B_tile[thread_id % 32 % 4 + k_inner_step * 8 + 4][thread_id % 32 / 4 % 2 + thread_id % 32 / 4 / 2 * 2 + c_thread / 4 * 8 + c_inner_group * 32]);
                }
                #pragma unroll
                for (int r_outer_pair = 0; r_outer_pair < 4; r_outer_pair++) {
                    #pragma unroll
                    for (int c_inner_group = 0; c_inner_group < 4; c_inner_group++) {
                        cuda_multiply_tf32(sum[r_outer_pair * 2][c_inner_group][0], sum[r_outer_pair * 2][c_inner_group][1], sum[r_outer_pair * 2 + 1][c_inner_group][0], sum[r_outer_pair * 2 + 1][c_inner_group][1], A_tile_part[r_outer_pair], B_tile_part[c_inner_group][0], B_tile_part[c_inner_group][1]);
                    }
                }
            }
            __syncthreads();
        }
        for (int k = K / 16 * 16; k < K; k++) {
            #pragma unroll
            for (int r_outer_rest = 0; r_outer_rest < 8; r_outer_rest++) {
                #pragma unroll
                for (int c_outer_rest = 0; c_outer_rest < 4; c_outer_rest++) {
                    #pragma unroll
                    for (int c_inner_rest = 0; c_inner_rest < 2; c_inner_rest++) {
                        sum[r_outer_rest][c_outer_rest][c_inner_rest] += A[k + (r_first + r_outer_rest * 16) * K] * B[c_first + k * N + c_outer_rest * 32 + c_inner_rest];
                    }
                }
            }
        }
        #pragma unroll
        for (int r_outer = 0; r_outer < 8; r_outer++) {
            #pragma unroll
            for (int c_outer = 0; c_outer < 4; c_outer++) {
                #pragma unroll
                for (int c_inner = 0; c_inner < 2; c_inner++) {
                    C[c_first + (r_first + r_outer * 16) * N + c_outer * 32 + c_inner] = sum[r_outer][c_outer][c_inner];
                }
            }
        }
    } else {
        #pragma unroll 1
        for (int r_outer = 0; r_outer < 8; r_outer++) {
            #pragma unroll 1
            for (int c_outer = 0; c_outer < 4; c_outer++) {
                #pragma unroll 1
                for (int c_inner = 0; c_inner < 2; c_inner++) {
                    if (c_first + c_inner + c_outer * 32 < N && r_first + r_outer * 16 < M) {
                        float sum = 0.0f;
                        for (int k = 0; k < K; k++) {
                            sum += A[(r_first + r_outer * 16) * K + k] * B[c_first + c_outer * 32 + c_inner + k * N];
                        }
                        C[c_first + (r_first + r_outer * 16) * N + c_outer * 32 + c_inner] = sum;
                    }
                }
            }
        }
    }
}
