extern "C" __global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K, float* sum_parts)
{
    __shared__ __align__(16) float A_tile[32][16];
    const int k_part = (int)blockIdx.z;
    const int k_share = (K + 255) / 256 * 32;
    const int k_from = k_part * k_share;
    const int k_to = k_from + k_share < K ? k_from + k_share : K;
    const int c_block = (int)blockIdx.x * 16;
    const int c_thread = (int)threadIdx.x;
    const int r_block = (int)blockIdx.y * 32;
    const int r_thread = (int)threadIdx.y;
    const int thread_id = c_thread + r_thread * 16;
    const int c = c_block + c_thread;
    const int r_first = r_block + r_thread * 2;
    if (c_block + 15 < N && r_block + 31 < M) {
        float sum[2];
        #pragma unroll
        for (int r_inner = 0; r_inner < 2; r_inner++) {
            sum[r_inner] = 0.0f;
        }
        for (int k_outer = k_from; k_outer < k_from + (k_to - k_from) / 16 * 16; k_outer += 16) {
            #pragma unroll
            for (int A_round = 0; A_round < 1; A_round++) {
                const int A_row = thread_id / 4 + A_round * 64;
                if (A_row < 32) {
                    float A_value[4];
                    {
                        const float4 wide = *(const float4*)&A[K * r_block + thread_id % 4 * 4 + k_outer + A_row * K + 0];
                        A_value[0] = wide.x;
                        A_value[1] = wide.y;
                        A_value[2] = wide.z;
                        A_value[3] = wide.w;
                    }
                    #pragma unroll
                    for (int A_lane = 0; A_lane < 4; A_lane++) {
                        A_tile[A_row][thread_id % 4 * 4 + A_lane] = A_value[A_lane];
                    }
                }
            }
            __syncthreads();
            #pragma unroll
            for (int k_inner = 0; k_inner < 16; k_inner++) {
                #pragma unroll
                for (int r_inner = 0; r_inner < 2; r_inner++) {
                    sum[r_inner] += A_tile[r_thread * 2 + r_inner][k_inner] * B[c + (k_outer + k_inner) * N];
                }
            }
            __syncthreads();
        }
        for (int k = k_from + (k_to - k_from) / 16 * 16; k < k_to; k++) {
            #pragma unroll
            for (int r_inner_rest = 0; r_inner_rest < 2; r_inner_rest++) {
                sum[r_inner_rest] += A[k + (r_first + r_inner_rest) * K] * B[c + k * N];
            }
        }
        #pragma unroll
        for (int r_inner = 0; r_inner < 2; r_inner++) {
            sum_parts[M * N * k_part + c + N * (r_first + r_inner)] = sum[r_inner];
        }
    } else {
        #pragma unroll 1
        for (int r_inner = 0; r_inner < 2; r_inner++) {
            if (c < N && r_first + r_inner < M) {
                float sum = 0.0f;
                for (int k = k_from; k < k_to; k++) {
                    sum += A[(r_first + r_inner) * K + k] * B[c + k * N];
                }
                sum_parts[M * N * k_part + c + N * (r_first + r_inner)] = sum;
            }
        }
    }
}

extern "C" __global__ void matmul_finish(const float* A, const float* B, float* C, int M, int N, int K, const float* sum_parts)
{
    const int c_block = (int)blockIdx.x * 16;
    const int c_thread = (int)threadIdx.x;
    const int r_block = (int)blockIdx.y * 16;
    const int r_thread = (int)threadIdx.y;
    const int c = c_block + c_thread;
    const int r = r_block + r_thread;
    if (c < N && r < M) {
        float sum = 0.0f;
        #pragma unroll
        for (int k_added = 0; k_added < 8; k_added++) {
            sum += sum_parts[N * r + c + M * N * k_added];
        }
        C[r * N + c] = sum;
    }
}
