extern "C" __global__ void product(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ __align__(16) float A_tile[3][8][17];
    __shared__ __align__(16) float B_tile[3][8][16];
    const int col_block = (int)blockIdx.x * 16;
    const int col_thread = (int)threadIdx.x;
    const int row_block = (int)blockIdx.y * 16;
    const int row_thread = (int)threadIdx.y;
    const int thread_id = col_thread + row_thread * 16;
    const int col = col_block + col_thread;
    const int row = row_block + row_thread;
    if (col_block + 15 < n && row_block + 15 < m) {
        float sum = 0.0f;
        if (0 < k / 8 * 8) {
            #pragma unroll
            for (int A_round_first = 0; A_round_first < 1; A_round_first++) {
                const int A_row_first = thread_id / 8 + A_round_first * 32;
                if (A_row_first < 16) {
                    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"((unsigned int)__cvta_generic_to_shared(&A_tile[0][thread_id % 8][A_row_first])), "l"(&A[k * row_block + thread_id % 8 + A_row_first * k]) : "memory");
                }
            }
            #pragma unroll
            for (int B_round_first = 0; B_round_first < 1; B_round_first++) {
                const int B_row_first = thread_id / 4 + B_round_first * 64;
                if (B_row_first < 8) {
                    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"((unsigned int)__cvta_generic_to_shared(&B_tile[0][B_row_first][thread_id % 4 * 4])), "l"(&B[thread_id % 4 * 4 + col_block + B_row_first * n]) : "memory");
                }
            }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        if (8 < k / 8 * 8) {
            #pragma unroll
            for (int A_round_first_2 = 0; A_round_first_2 < 1; A_round_first_2++) {
                const int A_row_first_2 = thread_id / 8 + A_round_first_2 * 32;
                if (A_row_first_2 < 16) {
                    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"((unsigned int)__cvta_generic_to_shared(&A_tile[1][thread_id % 8][A_row_first_2])), "l"(&A[k * row_block + thread_id % 8 + A_row_first_2 * k + 8]) : "memory");
                }
            }
            #pragma unroll
            for (int B_round_first_2 = 0; B_round_first_2 < 1; B_round_first_2++) {
                const int B_row_first_2 = thread_id / 4 + B_round_first_2 * 64;
                if (B_row_first_2 < 8) {
                    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"((unsigned int)__cvta_generic_to_shared(&B_tile[1][B_row_first_2][thread_id % 4 * 4])), "l"(&B[thread_id % 4 * 4 + col_block + n * 8 + B_row_first_2 * n]) : "memory");
                }
            }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        for (int p_outer = 0; p_outer < k / 8 * 8; p_outer += 8) {
            const int p_outer_turn = p_outer / 8;
            if (p_outer + 16 < k / 8 * 8) {
                #pragma unroll
                for (int A_round = 0; A_round < 1; A_round++) {
                    const int A_row = thread_id / 8 + A_round * 32;
                    if (A_row < 16) {
                        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"((unsigned int)__cvta_generic_to_shared(&A_tile[(p_outer_turn + 2) % 3][thread_id % 8][A_row])), "l"(&A[k * row_block + thread_id % 8 + p_outer + A_row * k + 16]) : "memory");
                    }
                }
                #pragma unroll
                for (int B_round = 0; B_round < 1; B_round++) {
                    const int B_row = thread_id / 4 + B_round * 64;
                    if (B_row < 8) {
                        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"((unsigned int)__cvta_generic_to_shared(&B_tile[(p_outer_turn + 2) % 3][B_row][thread_id % 4 * 4])), "l"(&B[thread_id % 4 * 4 + col_block + n * 16 + n * p_outer + B_row * n]) : "memory");
                    }
                }
            }
            asm volatile("cp.async.commit_group;" ::: "memory");
            #pragma unroll
            for (int p_inner = 0; p_inner < 8; p_inner++) {
                sum += A_tile[p_outer_turn % 3][p_inner][row_thread] * B_tile[p_outer_turn % 3][p_inner][col_thread];
            }
            asm volatile("cp.async.wait_group 1;" ::: "memory");
            __syncthreads();
        }
        for (int p = k / 8 * 8; p < k; p++) {
            sum += A[row * k + p] * B[col + p * n];
        }
        C[row * n + col] = sum;
    } else if (col < n && row < m) {
        float sum = 0.0f;
        for (int p = 0; p < k; p++) {
            sum += A[row * k + p] * B[col + p * n];
        }
        C[row * n + col] = sum;
    }
}

extern "C" __global__ void nearest(int* found, int count, const float* xs, int n, const float* centres)
{
    __shared__ __align__(16) float centres_tile[2][16];
    const int i_block = (int)blockIdx.x * 64;
    const int i_thread = (int)threadIdx.x;
    const int thread_id = i_thread;
    const int i = i_block + i_thread;
    if (i_block + 63 < n) {
        float best = 3.0e38f;
        int which = 0;
        if (0 < count / 16 * 16) {
            #pragma unroll
            for (int centres_round_first = 0; centres_round_first < 1; centres_round_first++) {
                const int centres_element_first = thread_id + centres_round_first * 64;
                if (centres_element_first < 4) {
                    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"((unsigned int)__cvta_generic_to_shared(&centres_tile[0][centres_element_first * 4])), "l"(&centres[centres_element_first * 4]) : "memory");
                }
            }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        for (int c_outer = 0; c_outer < count / 16 * 16; c_outer += 16) {
            const int c_outer_turn = c_outer / 16;
            if (c_outer + 16 < count / 16 * 16) {
                #pragma unroll
                for (int centres_round = 0; centres_round < 1; centres_round++) {
                    const int centres_element = thread_id + centres_round * 64;
                    if (centres_element < 4) {
                        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"((unsigned int)__cvta_generic_to_shared(&centres_tile[(c_outer_turn + 1) % 2][centres_element * 4])), "l"(&centres[c_outer + centres_element * 4 + 16]) : "memory");
                    }
                }
            }
            asm volatile("cp.async.commit_group;" ::: "memory");
            #pragma unroll
            for (int c_inner = 0; c_inner < 16; c_inner++) {
                float d = xs[i] - centres_tile[c_outer_turn % 2][c_inner];
                if (d * d < best) {
                    best = d * d;
                    which = c_outer + c_inner;
                }
            }
            asm volatile("cp.async.wait_group 0;" ::: "memory");
            __syncthreads();
        }
        for (int c = count / 16 * 16; c < count; c++) {
            float d_rest = xs[i] - centres[c];
            if (d_rest * d_rest < best) {
                best = d_rest * d_rest;
                which = c;
            }
        }
        found[i] = which;
    } else if (i < n) {
        float best = 3.0e38f;
        int which = 0;
        for (int c = 0; c < count; c++) {
            float d = xs[i] - centres[c];
            if (d * d < best) {
                best = d * d;
                which = c;
            }
        }
        found[i] = which;
    }
}

extern "C" __global__ void late_sum(float* y, const float* x, int b, int n, int s)
{
    __shared__ __align__(16) float x_tile[4][4][6][32];
    const int j_block = (int)blockIdx.x * 32;
    const int j_thread = (int)threadIdx.x;
    const int k_block = (int)blockIdx.y * 4;
    const int k_thread = (int)threadIdx.y;
    const int thread_id = j_thread + k_thread * 32;
    const int j = j_block + j_thread;
    const int k = k_block + k_thread;
    if (j_block + 31 < n && k_block + 3 < b) {
        float sum = 0.0f;
        if (2 < 2 + (s + 2 - 2) / 4 * 4) {
            #pragma unroll
            for (int x_round_first = 0; x_round_first < 3; x_round_first++) {
                const int x_row_first = thread_id / 16 + x_round_first * 8;
                asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" :: "r"((unsigned int)__cvta_generic_to_shared(&x_tile[0][x_row_first / 6][x_row_first % 6][thread_id % 16 * 2])), "l"(&x[k_block * n * s + k_block * n * 4 + thread_id % 16 * 2 + j_block + n * 2 + x_row_first / 6 * n * s + x_row_first % 6 * n + x_row_first / 6 * n * 4]) : "memory");
            }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        if (6 < 2 + (s + 2 - 2) / 4 * 4) {
            #pragma unroll
            for (int x_round_first_2 = 0; x_round_first_2 < 3; x_round_first_2++) {
                const int x_row_first_2 = thread_id / 16 + x_round_first_2 * 8;
                asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" :: "r"((unsigned int)__cvta_generic_to_shared(&x_tile[1][x_row_first_2 / 6][x_row_first_2 % 6][thread_id % 16 * 2])), "l"(&x[k_block * n * s + k_block * n * 4 + thread_id % 16 * 2 + j_block + n * 6 + x_row_first_2 / 6 * n * s + x_row_first_2 % 6 * n + x_row_first_2 / 6 * n * 4]) : "memory");
            }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        if (10 < 2 + (s + 2 - 2) / 4 * 4) {
            #pragma unroll
            for (int x_round_first_3 = 0; x_round_first_3 < 3; x_round_first_3++) {
                const int x_row_first_3 = thread_id / 16 + x_round_first_3 * 8;
                asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" :: "r"((unsigned int)__cvta_generic_to_shared(&x_tile[2][x_row_first_3 / 6][x_row_first_3 % 6][thread_id % 16 * 2])), "l"(&x[k_block * n * s + k_block * n * 4 + thread_id % 16 * 2 + j_block + n * 10 + x_row_first_3 / 6 * n * s + x_row_first_3 % 6 * n + x_row_first_3 / 6 * n * 4]) : "memory");
            }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group 2;" ::: "memory");
        __syncthreads();
        for (int t_outer = 2; t_outer < 2 + (s + 2 - 2) / 4 * 4; t_outer += 4) {
            const int t_outer_turn = (t_outer - 2) / 4;
            if (t_outer + 12 < 2 + (s + 2 - 2) / 4 * 4) {
                #pragma unroll
                for (int x_round = 0; x_round < 3; x_round++) {
                    const int x_row = thread_id / 16 + x_round * 8;
                    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" :: "r"((unsigned int)__cvta_generic_to_shared(&x_tile[(t_outer_turn + 3) % 4][x_row / 6][x_row % 6][thread_id % 16 * 2])), "l"(&x[k_block * n * s + k_block * n * 4 + thread_id % 16 * 2 + j_block + n * 12 + n * t_outer + x_row / 6 * n * s + x_row % 6 * n + x_row / 6 * n * 4]) : "memory");
                }
            }
            asm volatile("cp.async.commit_group;" ::: "memory");
            #pragma unroll
            for (int t_inner = 0; t_inner < 4; t_inner++) {
                sum += x_tile[t_outer_turn % 4][k_thread][t_inner][j_thread] - 0.5f * x_tile[t_outer_turn % 4][k_thread][t_inner + 2][j_thread];
            }
            asm volatile("cp.async.wait_group 2;" ::: "memory");
            __syncthreads();
        }
        for (int t = 2 + (s + 2 - 2) / 4 * 4; t < s + 2; t++) {
            sum += x[j + (k * (s + 4) + t) * n] - 0.5f * x[j + (k * (s + 4) + t + 2) * n];
        }
        y[k * n + j] = sum;
    } else if (j < n && k < b) {
        float sum = 0.0f;
        for (int t = 2; t < s + 2; t++) {
            sum += x[j + (k * (s + 4) + t) * n] - 0.5f * x[j + (k * (s + 4) + t + 2) * n];
        }
        y[k * n + j] = sum;
    }
}

extern "C" __global__ void weighted(const float* weight, float* y, const float* x, int n, int m)
{
    __shared__ __align__(16) float weight_tile[2][9];
    const int at_block = (int)blockIdx.x * 64;
    const int at_thread = (int)threadIdx.x;
    const int thread_id = at_thread;
    const int at = at_block + at_thread;
    if (at_block + 63 < n) {
        float total = 0.0f;
        if (0 < m / 8 * 8) {
            #pragma unroll
            for (int weight_round_first = 0; weight_round_first < 1; weight_round_first++) {
                const int weight_element_first = thread_id + weight_round_first * 64;
                if (weight_element_first < 2) {
                    #pragma unroll
                    for (int weight_lane_first = 0; weight_lane_first < 4; weight_lane_first++) {
                        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"((unsigned int)__cvta_generic_to_shared(&weight_tile[0][weight_element_first * 4 + weight_lane_first])), "l"(&weight[weight_element_first * 4 + weight_lane_first]) : "memory");
                    }
                }
            }
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        for (int t_outer = 0; t_outer < m / 8 * 8; t_outer += 8) {
            const int t_outer_turn = t_outer / 8;
            if (t_outer + 8 < m / 8 * 8) {
                #pragma unroll
                for (int weight_round = 0; weight_round < 1; weight_round++) {
                    const int weight_element = thread_id + weight_round * 64;
                    if (weight_element < 2) {
                        #pragma unroll
                        for (int weight_lane = 0; weight_lane < 4; weight_lane++) {
                            asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"((unsigned int)__cvta_generic_to_shared(&weight_tile[(t_outer_turn + 1) % 2][weight_element * 4 + weight_lane])), "l"(&weight[t_outer + weight_element * 4 + weight_lane + 8]) : "memory");
                        }
                    }
                }
            }
            asm volatile("cp.async.commit_group;" ::: "memory");
            #pragma unroll
            for (int t_inner = 0; t_inner < 8; t_inner++) {
                total += x[at + (t_outer + t_inner) * n] * weight_tile[t_outer_turn % 2][t_inner];
            }
            asm volatile("cp.async.wait_group 0;" ::: "memory");
            __syncthreads();
        }
        for (int t = m / 8 * 8; t < m; t++) {
            total += x[at + t * n] * weight[t];
        }
        y[at] = total;
    } else if (at < n) {
        float total = 0.0f;
        for (int t = 0; t < m; t++) {
            total += x[at + t * n] * weight[t];
        }
        y[at] = total;
    }
}
