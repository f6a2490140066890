extern "C" __global__ void two_maps(const float* x, float* y, float* z, int n, int m)
{
    const int i_block = (int)blockIdx.x * 64;
    const int i_thread = (int)threadIdx.x;
    const int i = i_block + i_thread;
    if (i < n) {
        for (int k = 0; k < m; k++) {
            y[i * m + k] = 2.0f * x[i * m + k];
        }
        for (int k_after = 0; k_after < m; k_after++) {
            z[i * m + k_after] = x[i * m + k_after] - 1.0f;
        }
    }
}

extern "C" __global__ void behind(int cols, float* out, int rows, const float* in)
{
    const int col_block = (int)blockIdx.x * 32;
    const int col_thread = (int)threadIdx.x;
    const int col = col_block + col_thread;
    if (col < cols) {
        for (int q = 1; q < rows; q++) {
            float v = in[col + q * cols];
            out[col + q * cols] = v * v;
        }
        for (int q_after = 1; q_after < rows; q_after++) {
            for (int s_after = 0; s_after < 2; s_after++) {
                out[col + (q_after - 1) * cols] += 0.5f;
            }
        }
    }
}

extern "C" __global__ void sums(const float* a, float* first, float* second, int m, int n)
{
    const int r_block = (int)blockIdx.x * 64;
    const int r_thread = (int)threadIdx.x;
    const int r = r_block + r_thread;
    if (r < n) {
        float s = 0.0f;
        float t = 0.0f;
        for (int j = 0; j < m; j++) {
            s += a[r + j * n];
        }
        for (int j_after_outer = 0; j_after_outer < m / 4 * 4; j_after_outer += 4) {
            #pragma unroll
            for (int j_after_inner = 0; j_after_inner < 4; j_after_inner++) {
                if ((j_after_outer + j_after_inner) % 2 == 0) {
                    t += a[r + (j_after_outer + j_after_inner) * n] * a[r + (j_after_outer + j_after_inner) * n];
                }
            }
        }
        for (int j_after = m / 4 * 4; j_after < m; j_after++) {
            if (j_after % 2 == 0) {
                t += a[r + j_after * n] * a[r + j_after * n];
            }
        }
        first[r] = s;
        second[r] = t;
    }
}
