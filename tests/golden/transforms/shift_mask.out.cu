extern "C" __global__ void swizzled(const float* x, float* y, int n)
{
    const int i_block = (int)blockIdx.x * 64;
    const int i_thread = (int)threadIdx.x;
    const int i = i_block + i_thread;
    if (i < n) {
        y[i] = x[(i >> 3) * 8 - (i & 7) + 7] + (float)((i - 4) / 4);
    }
}

extern "C" __global__ void boxes(int cols, float* out, int rows, const float* in)
{
    const int col_block = (int)blockIdx.x * 32;
    const int col_thread = (int)threadIdx.x;
    const int col = col_block + col_thread;
    if (col < cols) {
        float s = 0.0f;
        for (int q_outer = 0; q_outer < (rows >> 3) * 8; q_outer += 8) {
            #pragma unroll
            for (int q_inner = 0; q_inner < 8; q_inner++) {
                s += in[col + (q_outer + q_inner) * cols] * (float)((q_outer + q_inner + 2 * col) & 15);
            }
        }
        for (int q = (rows >> 3) * 8; q < rows; q++) {
            s += in[col + q * cols] * (float)((q + 2 * col) & 15);
        }
        out[col] = s;
    }
}

extern "C" __global__ void packed(const float* a, float* out, int m, int n)
{
    const int c_block = (int)blockIdx.x * 16;
    const int c_thread = (int)threadIdx.x;
    const int r_block = (int)blockIdx.y * 8;
    const int r_thread = (int)threadIdx.y;
    const int c_first = c_block + c_thread;
    const int r = r_block + r_thread;
    if (c_first + 8 < m && r < n) {
        #pragma unroll
        for (int c_outer = 0; c_outer < 2; c_outer++) {
            out[r * m + c_first + c_outer * 8] = a[(r & 3) + ((c_first + c_outer * 8) >> 5) * 4];
        }
    } else {
        #pragma unroll 1
        for (int c_outer = 0; c_outer < 2; c_outer++) {
            if (c_first + c_outer * 8 < m && r < n) {
                out[r * m + c_first + c_outer * 8] = a[r % 4 + (c_first + c_outer * 8) / 32 * 4];
            }
        }
    }
}
