extern "C" __global__ void product(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ __align__(16) float A_tile[8][20];
    const int col_block = (int)blockIdx.x * 16;
    const int col_thread = (int)threadIdx.x;
    const int row_block = (int)blockIdx.y * 16;
    const int row_thread = (int)threadIdx.y;
    const int thread_id = col_thread + row_thread * 16;
    const int col = col_block + col_thread;
    const int row = row_block + row_thread;
    if (col_block + 15 < n && row_block + 15 < m) {
        float sum = 0.0f;
        for (int p_outer = 0; p_outer < k / 8 * 8; p_outer += 8) {
            #pragma unroll
            for (int A_round = 0; A_round < 1; A_round++) {
                const int A_row = thread_id / 2 + A_round * 128;
                if (A_row < 16) {
                    float A_value[4];
                    {
                        const float4 wide = *(const float4*)&A[k * row_block + thread_id % 2 * 4 + p_outer + A_row * k + 0];
                        A_value[0] = wide.x;
                        A_value[1] = wide.y;
                        A_value[2] = wide.z;
                        A_value[3] = wide.w;
                    }
                    #pragma unroll
                    for (int A_lane = 0; A_lane < 4; A_lane++) {
                        A_tile[thread_id % 2 * 4 + A_lane][A_row] = A_value[A_lane];
                    }
                }
            }
            __syncthreads();
            #pragma unroll
            for (int p_inner = 0; p_inner < 8; p_inner++) {
                sum += A_tile[p_inner][row_thread] * B[col + (p_outer + p_inner) * n];
            }
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

extern "C" __global__ void product_tn(int depth, int cols, int rows, float* out, const float* right, const float* left)
{
    __shared__ __align__(16) float left_tile[4][32];
    const int j_block = (int)blockIdx.x * 8;
    const int j_thread = (int)threadIdx.x;
    const int i_block = (int)blockIdx.y * 32;
    const int i_thread = (int)threadIdx.y;
    const int thread_id = i_thread * 8 + j_thread;
    const int j = j_block + j_thread;
    const int i_first = i_block + i_thread * 4;
    if (j_block + 7 < cols && i_block + 31 < rows) {
        float acc[4];
        #pragma unroll
        for (int i_inner = 0; i_inner < 4; i_inner++) {
            acc[i_inner] = 0.0f;
        }
        for (int t_outer = 0; t_outer < depth / 4 * 4; t_outer += 4) {
            #pragma unroll
            for (int left_round = 0; left_round < 1; left_round++) {
                const int left_row = thread_id / 8 + left_round * 8;
                if (left_row < 4) {
                    float left_value[4];
                    {
                        const float4 wide = *(const float4*)&left[thread_id % 8 * 4 + i_block + rows * t_outer + left_row * rows + 0];
                        left_value[0] = wide.x;
                        left_value[1] = wide.y;
                        left_value[2] = wide.z;
                        left_value[3] = wide.w;
                    }
                    *(float4*)&left_tile[left_row][thread_id % 8 * 4 + 0] = make_float4(left_value[0], left_value[1], left_value[2], left_value[3]);
                }
            }
            __syncthreads();
            #pragma unroll
            for (int t_inner = 0; t_inner < 4; t_inner++) {
                float left_tile_value[4];
                {
                    const float4 wide = *(const float4*)&left_tile[t_inner][i_thread * 4 + 0];
                    left_tile_value[0] = wide.x;
                    left_tile_value[1] = wide.y;
                    left_tile_value[2] = wide.z;
                    left_tile_value[3] = wide.w;
                }
                #pragma unroll
                for (int i_inner = 0; i_inner < 4; i_inner++) {
                    acc[i_inner] += right[j + (t_outer + t_inner) * cols] * left_tile_value[i_inner];
                }
            }
            __syncthreads();
        }
        for (int t = depth / 4 * 4; t < depth; t++) {
            float left_value_2[4];
            {
                const float4 wide = *(const float4*)&left[i_first + t * rows + 0];
                left_value_2[0] = wide.x;
                left_value_2[1] = wide.y;
                left_value_2[2] = wide.z;
                left_value_2[3] = wide.w;
            }
            #pragma unroll
            for (int i_inner_rest = 0; i_inner_rest < 4; i_inner_rest++) {
                acc[i_inner_rest] += right[j + t * cols] * left_value_2[i_inner_rest];
            }
        }
        #pragma unroll
        for (int i_inner = 0; i_inner < 4; i_inner++) {
            out[j + (i_first + i_inner) * cols] = acc[i_inner];
        }
    } else {
        #pragma unroll 1
        for (int i_inner = 0; i_inner < 4; i_inner++) {
            if (j < cols && i_first + i_inner < rows) {
                float acc = 0.0f;
                for (int t = 0; t < depth; t++) {
                    acc += right[j + t * cols] * left[i_first + i_inner + t * rows];
                }
                out[j + (i_first + i_inner) * cols] = acc;
            }
        }
    }
}

extern "C" __global__ void smooth(const float* x, float* y, int n)
{
    __shared__ __align__(16) float x_tile[68];
    const int i_block = (int)blockIdx.x * 64;
    const int i_thread = (int)threadIdx.x;
    const int thread_id = i_thread;
    const int i = i_block + i_thread;
    if (i_block + 63 < n) {
        #pragma unroll
        for (int x_round = 0; x_round < 1; x_round++) {
            const int x_element = thread_id + x_round * 64;
            if (x_element < 34) {
                float x_value[2];
                {
                    const float2 wide = *(const float2*)&x[i_block + x_element * 2 + 0];
                    x_value[0] = wide.x;
                    x_value[1] = wide.y;
                }
                *(float2*)&x_tile[x_element * 2 + 0] = make_float2(x_value[0], x_value[1]);
            }
        }
        __syncthreads();
        y[i] = x_tile[i_thread] + x_tile[i_thread + 1] - x_tile[i_thread + 3] * x_tile[i_thread + 4];
    } else if (i < n) {
        y[i] = x[i] + x[i + 1] - x[i + 3] * x[i + 4];
    }
}
