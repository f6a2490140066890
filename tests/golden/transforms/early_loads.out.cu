extern "C" __global__ void pair(const float* a, const float* b, float* y, float* z, int n, int m)
{
    const int i_block = (int)blockIdx.x * 64;
    const int i_thread = (int)threadIdx.x;
    const int i = i_block + i_thread;
    if (i < n) {
        for (int k = 0; k < m; k++) {
            float a_early = a[i * m + k];
            float b_early = b[i * m + k];
            y[i * m + k] = 2.0f * a_early;
            z[i * m + k] = b_early - a_early;
        }
    }
}

extern "C" __global__ void running(int cols, float* out, int rows, const float* in, const float* scale)
{
    const int col_block = (int)blockIdx.x * 32;
    const int col_thread = (int)threadIdx.x;
    const int col = col_block + col_thread;
    if (col < cols) {
        float s = 1.0f;
        for (int q_outer = 0; q_outer < rows / 2 * 2; q_outer += 2) {
            #pragma unroll
            for (int q_inner = 0; q_inner < 2; q_inner++) {
                float in_early = in[col + (q_outer + q_inner) * cols];
                float scale_early = scale[col + (q_outer + q_inner) * cols];
                float in_early_2 = in[col + (q_outer + q_inner) * cols + 1];
                s = s * 0.5f + in_early;
                if (scale_early > 0.0f) {
                    s -= scale_early;
                }
                s += in_early_2;
            }
        }
        for (int q = rows / 2 * 2; q < rows; q++) {
            s = s * 0.5f + in[col + q * cols];
            if (scale[col + q * cols] > 0.0f) {
                s -= scale[col + q * cols];
            }
            s += in[col + q * cols + 1];
        }
        out[col] = s;
    }
}

extern "C" __global__ void met(const float* x, const float* t, float* y, int m, int n)
{
    __shared__ __align__(16) float row[64];
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = 0; j < m; j++) {
        float x_early = x[r + j * n];
        float t_early = t[r + j * n];
        row[threadIdx.x] = x_early;
        __syncthreads();
        y[r + j * n] = row[63 - threadIdx.x] + t_early;
        __syncthreads();
    }
}
