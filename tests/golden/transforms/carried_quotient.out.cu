extern "C" __global__ void folded(const float* x, const float* w, float* y, int n, int m, int p)
{
    const int i_block = (int)blockIdx.x * 64;
    const int i_thread = (int)threadIdx.x;
    const int i = i_block + i_thread;
    if (i < n) {
        float s = 0.0f;
        int k_quotient = 0 / p;
        int k_rest = 0 % p;
        for (int k = 0; k < m; k++) {
            s += x[i * m + k] * w[k_rest] * (float)k_quotient;
            k_rest++;
            if (k_rest == p) {
                k_rest = 0;
                k_quotient++;
            }
        }
        y[i] = s;
    }
}

extern "C" __global__ void windows(int cols, float* out, unsigned int width, int rows, const float* in)
{
    const int col_block = (int)blockIdx.x * 32;
    const int col_thread = (int)threadIdx.x;
    const int col = col_block + col_thread;
    if (col < cols) {
        unsigned int q_quotient = 1 / width;
        unsigned int q_rest = 1 % width;
        for (int q_outer = 1; q_outer < 1 + (rows - 1) / 4 * 4; q_outer += 4) {
            #pragma unroll
            for (int q_inner = 0; q_inner < 4; q_inner++) {
                for (int t = 0; t < 2; t++) {
                    out[col + (q_outer + q_inner) * cols] = in[(q_rest + t) % cols] + q_quotient;
                }
                q_rest++;
                if (q_rest == width) {
                    q_rest = 0;
                    q_quotient++;
                }
            }
        }
        for (int q = 1 + (rows - 1) / 4 * 4; q < rows; q++) {
            for (int t_rest = 0; t_rest < 2; t_rest++) {
                out[col + q * cols] = in[(q_rest + t_rest) % cols] + q_quotient;
            }
            q_rest++;
            if (q_rest == width) {
                q_rest = 0;
                q_quotient++;
            }
        }
        out[col] = in[col];
    }
}

extern "C" __global__ void planes9(const float* a, float* out, int n)
{
    const int r_block = (int)blockIdx.x * 64;
    const int r_thread = (int)threadIdx.x;
    const int r = r_block + r_thread;
    if (r < n) {
        float s = 0.0f;
        int tap_quotient = 0 / 3;
        int tap_rest = 0 % 3;
        #pragma unroll
        for (int tap = 0; tap < 9; tap++) {
            s += a[r * 9 + tap] * (float)(tap_rest - 1 + 3 * (tap_quotient - 1));
            tap_rest++;
            if (tap_rest == 3) {
                tap_rest = 0;
                tap_quotient++;
            }
        }
        out[r] = s;
    }
}
