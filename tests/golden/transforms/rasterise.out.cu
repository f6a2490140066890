extern "C" __global__ void scaled(const float* x, float* y, int w, int h)
{
    const int raster_first = (int)blockIdx.y / 4 * 4;
    const int raster_rows = raster_first + 4 <= (int)gridDim.y ? 4 : (int)gridDim.y - raster_first;
    const int raster_x = ((int)blockIdx.y % 4 * (int)gridDim.x + (int)blockIdx.x) / raster_rows;
    const int raster_y = raster_first + ((int)blockIdx.y % 4 * (int)gridDim.x + (int)blockIdx.x) % raster_rows;
    const int c_block = raster_x * 8;
    const int c_thread = (int)threadIdx.x;
    const int r_block = raster_y * 4;
    const int r_thread = (int)threadIdx.y;
    const int c = c_block + c_thread;
    const int r = r_block + r_thread;
    if (c < w && r < h) {
        y[r * w + c] = 2.0f * x[r * w + c];
    }
}

extern "C" __global__ void turned(int depth, float* out, int width, const float* in, int height)
{
    const int raster_first = (int)blockIdx.y / 2 * 2;
    const int raster_rows = raster_first + 2 <= (int)gridDim.y ? 2 : (int)gridDim.y - raster_first;
    const int raster_x = ((int)blockIdx.y % 2 * (int)gridDim.x + (int)blockIdx.x) / raster_rows;
    const int raster_y = raster_first + ((int)blockIdx.y % 2 * (int)gridDim.x + (int)blockIdx.x) % raster_rows;
    const int plane_block = (int)blockIdx.z * 2;
    const int plane_thread = (int)threadIdx.z;
    const int column_block = raster_x * 8;
    const int column_thread = (int)threadIdx.x;
    const int row_block = raster_y * 4;
    const int row_thread = (int)threadIdx.y;
    const int plane = plane_block + plane_thread;
    const int column_first = column_block + column_thread;
    const int row = row_block + row_thread;
    if (plane < depth && column_first + 4 < width && row < height) {
        #pragma unroll
        for (int column_outer = 0; column_outer < 2; column_outer++) {
            out[row + (plane * width + (column_first + column_outer * 4)) * height] = in[(plane * height + row) * width + column_first + column_outer * 4];
        }
    } else {
        #pragma unroll 1
        for (int column_outer = 0; column_outer < 2; column_outer++) {
            if (plane < depth && column_first + column_outer * 4 < width && row < height) {
                out[row + (plane * width + (column_first + column_outer * 4)) * height] = in[(plane * height + row) * width + column_first + column_outer * 4];
            }
        }
    }
}

extern "C" __global__ void staged(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ __align__(16) float A_tile[8][8];
    const int raster_first = (int)blockIdx.y / 16 * 16;
    const int raster_rows = raster_first + 16 <= (int)gridDim.y ? 16 : (int)gridDim.y - raster_first;
    const int raster_x = ((int)blockIdx.y % 16 * (int)gridDim.x + (int)blockIdx.x) / raster_rows;
    const int raster_y = raster_first + ((int)blockIdx.y % 16 * (int)gridDim.x + (int)blockIdx.x) % raster_rows;
    const int c_thread = (int)threadIdx.x;
    const int r_block = raster_y * 8;
    const int r_thread = (int)threadIdx.y;
    const int thread_id = c_thread + r_thread * 8;
    const int r = r_block + r_thread;
    for (int c_round = 0; c_round < (raster_x < N / 8 + (N % 8 != 0) ? (N / 8 + (N % 8 != 0) - raster_x + (int)gridDim.x - 1) / (int)gridDim.x : 0); c_round++) {
        const int c_block = (unsigned int)(raster_x * 8) + c_round * (int)gridDim.x * 8;
        const int c = c_block + c_thread;
        if (c_block + 7 < N && r_block + 7 < M) {
            float sum = 0.0f;
            for (int k_outer = 0; k_outer < K / 8 * 8; k_outer += 8) {
                #pragma unroll
                for (int A_round = 0; A_round < 1; A_round++) {
                    const int A_row = thread_id / 8 + A_round * 8;
                    A_tile[A_row][thread_id % 8] = A[K * r_block + thread_id % 8 + k_outer + A_row * K];
                }
                __syncthreads();
                #pragma unroll
                for (int k_inner = 0; k_inner < 8; k_inner++) {
                    sum += A_tile[r_thread][k_inner] * B[c + (k_outer + k_inner) * N];
                }
                __syncthreads();
            }
            for (int k = K / 8 * 8; k < K; k++) {
                sum += A[r * K + k] * B[c + k * N];
            }
            C[r * N + c] = sum;
        } else if (c < N && r < M) {
            float sum = 0.0f;
            for (int k = 0; k < K; k++) {
                sum += A[r * K + k] * B[c + k * N];
            }
            C[r * N + c] = sum;
        }
        __syncthreads();
    }
}

extern "C" __global__ void by_hand(const float* src, float* dst, int W, int H)
{
    __shared__ __align__(16) float tile[8][9];
    const unsigned int raster_first = blockIdx.y / 8 * 8;
    const unsigned int raster_rows = raster_first + 8 <= gridDim.y ? 8 : gridDim.y - raster_first;
    const unsigned int raster_x = (blockIdx.y % 8 * gridDim.x + blockIdx.x) / raster_rows;
    const unsigned int raster_y = raster_first + (blockIdx.y % 8 * gridDim.x + blockIdx.x) % raster_rows;
    const unsigned int left = raster_x * 8;
    const unsigned int top = raster_y * 8;
    tile[threadIdx.y][threadIdx.x] = src[(top + threadIdx.y) * W + left + threadIdx.x];
    __syncthreads();
    dst[(left + threadIdx.y) * H + top + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
