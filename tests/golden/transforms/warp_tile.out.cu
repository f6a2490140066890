extern "C" __global__ void product(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int thread_id = (int)threadIdx.x + (int)threadIdx.y * 16;
    const int col_block = (int)blockIdx.x * 16;
    const int col_thread = thread_id % 8 + thread_id / 32 % 2 * 8;
    const int row_block = (int)blockIdx.y * 8;
    const int row_thread = thread_id / 8 % 4 + thread_id / 64 % 2 * 4;
    const int col = col_block + col_thread;
    const int row = row_block + row_thread;
    if (col < n && row < m) {
        float sum = 0.0f;
        for (int p = 0; p < k; p++) {
            sum += A[row * k + p] * B[col + p * n];
        }
        C[row * n + col] = sum;
    }
}

extern "C" __global__ void turned(int cols, int rows, float* to, const float* from)
{
    const int thread_id = (int)threadIdx.x + (int)threadIdx.y * 32;
    const int y_block = (int)blockIdx.x * 64;
    const int y_thread = thread_id % 16 + thread_id / 32 % 2 * 16;
    const int x_block = (int)blockIdx.y * 4;
    const int x_thread = thread_id / 16 % 2 + thread_id / 64 % 2 * 2;
    const int y_first = y_block + y_thread * 2;
    const int x = x_block + x_thread;
    if (y_first + 1 < rows && x < cols) {
        #pragma unroll
        for (int y_inner = 0; y_inner < 2; y_inner++) {
            to[x * rows + y_first + y_inner] = from[x + (y_first + y_inner) * cols];
        }
    } else {
        #pragma unroll 1
        for (int y_inner = 0; y_inner < 2; y_inner++) {
            if (y_first + y_inner < rows && x < cols) {
                to[x * rows + y_first + y_inner] = from[x + (y_first + y_inner) * cols];
            }
        }
    }
}

extern "C" __global__ void boxes(const float* v, float* u, int d, int h, int w)
{
    __shared__ __align__(16) float v_tile[2][10][11];
    const int thread_id = (int)threadIdx.x + (int)threadIdx.y * 8 + (int)threadIdx.z * 64;
    const int x_block = (int)blockIdx.x * 8;
    const int x_thread = thread_id % 4 + thread_id / 32 % 2 * 4;
    const int y_block = (int)blockIdx.y * 8;
    const int y_thread = thread_id / 4 % 8;
    const int z_block = (int)blockIdx.z * 2;
    const int z_thread = (int)threadIdx.z;
    const int x = x_block + x_thread;
    const int y = y_block + y_thread;
    const int z = z_block + z_thread;
    if (x_block >= 1 && x_block + 7 < w - 1 && y_block >= 1 && y_block + 7 < h - 1 && z_block + 1 < d) {
        #pragma unroll
        for (int v_round = 0; v_round < 2; v_round++) {
            const int v_element = thread_id + v_round * 128;
            if (v_element < 200) {
                v_tile[v_element / 100][v_element / 10 % 10][v_element % 10] = v[h * w * z_block + w * y_block + x_block - w + v_element / 100 * h * w + v_element / 10 % 10 * w + v_element % 10 - 1];
            }
        }
        __syncthreads();
        u[(z * h + y) * w + x] = v_tile[z_thread][y_thread + 1][x_thread] + v_tile[z_thread][y_thread + 1][x_thread + 2] + v_tile[z_thread][y_thread][x_thread + 1] + v_tile[z_thread][y_thread + 2][x_thread + 1] - 4.0f * v_tile[z_thread][y_thread + 1][x_thread + 1];
    } else if (x >= 1 && x < w - 1 && y >= 1 && y < h - 1 && z < d) {
        u[(z * h + y) * w + x] = v[(z * h + y) * w + x - 1] + v[(z * h + y) * w + x + 1] + v[(z * h + y) * w + x - w] + v[(z * h + y) * w + x + w] - 4.0f * v[(z * h + y) * w + x];
    }
}
