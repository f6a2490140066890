extern "C" __global__ void weighted(const float* x, const float* w, float* y, int n, int m)
{
    const int i_block = (int)blockIdx.x * 64;
    const int i_thread = (int)threadIdx.x;
    const int i = i_block + i_thread;
    if (i < n) {
        float w_value;
        if (0 < m) {
            w_value = w[i];
        }
        for (int k = 0; k < m; k++) {
            y[i * m + k] = w_value * x[i * m + k];
        }
    }
}

extern "C" __global__ void gathered(int cols, float* out, const unsigned char* at, int rows, const float* in)
{
    const int col_block = (int)blockIdx.x * 32;
    const int col_thread = (int)threadIdx.x;
    const int col = col_block + col_thread;
    if (col < cols) {
        float in_value;
        if (0 < rows / 4 * 4) {
            in_value = in[at[col]];
        }
        for (int q_outer = 0; q_outer < rows / 4 * 4; q_outer += 4) {
            #pragma unroll
            for (int q_inner = 0; q_inner < 4; q_inner++) {
                if (in_value > 0.0f) {
                    out[col + (q_outer + q_inner) * cols] = in_value;
                } else {
                    out[col + (q_outer + q_inner) * cols] = in[q_outer + q_inner] - 1.0f;
                }
            }
        }
        for (int q = rows / 4 * 4; q < rows; q++) {
            if (in[at[col]] > 0.0f) {
                out[col + q * cols] = in[at[col]];
            } else {
                out[col + q * cols] = in[q] - 1.0f;
            }
        }
    }
}

extern "C" __global__ void taps3(const float* a, const float* t, float* y, int m, int n)
{
    const int r_block = (int)blockIdx.x * 64;
    const int r_thread = (int)threadIdx.x;
    const int r = r_block + r_thread;
    if (r < n) {
        float t_value_2;
        if (0 < m) {
            t_value_2 = t[0];
        }
        for (int j = 0; j < m; j++) {
            float s = 0.0f;
            float a_value = a[r + j * n];
            float t_value = t_value_2;
            for (int d = 0; d < 3; d++) {
                s += a_value * t[d] + t_value;
            }
            y[r + j * n] = s;
        }
    }
}
