extern "C" __global__ void two_sums(const float* x, float* y, int n, int m)
{
    const int i_block = (int)blockIdx.x * 64;
    const int i_thread = (int)threadIdx.x;
    const int i = i_block + i_thread;
    if (i < n) {
        float s = 0.0f;
        float q = 0.0f;
        for (int k = 0; k < m; k++) {
            s += x[i * m + k];
            q += x[i * m + k] * x[i * m + k];
        }
        y[i] = s * s - q;
    }
}

extern "C" __global__ void chained(int cols, float* out, int rows, const float* in)
{
    const int col_block = (int)blockIdx.x * 32;
    const int col_thread = (int)threadIdx.x;
    const int col = col_block + col_thread;
    if (col < cols) {
        for (int q = 0; q < rows; q++) {
            out[col + q * cols] = in[col + q * cols] + 1.0f;
            float v = out[col + q * cols];
            out[col + q * cols] = v * v;
        }
    }
}

extern "C" __global__ void nested(const float* a, float* lo, float* hi, int m, int n)
{
    const int r_block = (int)blockIdx.x * 64;
    const int r_thread = (int)threadIdx.x;
    const int r = r_block + r_thread;
    if (r < n) {
        float scale = 2.0f;
        for (int p = 0; p < m; p++) {
            float s = 1e30f;
            for (int d = 0; d < 2; d++) {
                s = fminf(s, a[r + (d * m + p) * n]);
            }
            lo[r + p * n] = s;
            float s_2 = -1e30f;
            for (int d_2 = 0; d_2 < 2; d_2++) {
                s_2 = fmaxf(s_2, a[r + (d_2 * m + p) * n]);
            }
            hi[r + p * n] = s_2 * scale;
        }
    }
}
