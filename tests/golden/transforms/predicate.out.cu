extern "C" __global__ void clipped(const float* x, float* y, int n, int m)
{
    const int i_block = (int)blockIdx.x * 64;
    const int i_thread = (int)threadIdx.x;
    const int i = i_block + i_thread;
    if (i < n) {
        float s = 0.0f;
        for (int k = 0; k < m; k++) {
            float v = x[i * m + k];
            s = v > 0.0f ? s + v : s;
        }
        y[i] = s;
    }
}

extern "C" __global__ void best(int cols, int* where, int rows, const float* in, float* top)
{
    const int col_block = (int)blockIdx.x * 32;
    const int col_thread = (int)threadIdx.x;
    const int col = col_block + col_thread;
    if (col < cols) {
        float most = -1e30f;
        int at = -1;
        for (int q = 0; q < rows; q++) {
            const float v = in[col + q * cols];
            const bool most_taken = v > most;
            most = most_taken ? v : most;
            at = most_taken ? q : at;
        }
        top[col] = most;
        where[col] = at;
    }
}

extern "C" __global__ void levels(const float* a, int* out, int n)
{
    const int r_block = (int)blockIdx.x * 128;
    const int r_thread = (int)threadIdx.x;
    const int r_first = r_block + r_thread * 2;
    if (r_first + 1 < n) {
        int level[2];
        #pragma unroll
        for (int r_inner = 0; r_inner < 2; r_inner++) {
            level[r_inner] = 16777217;
        }
        int sign[2];
        #pragma unroll
        for (int r_inner = 0; r_inner < 2; r_inner++) {
            sign[r_inner] = 1;
        }
        float v[2];
        #pragma unroll
        for (int r_inner = 0; r_inner < 2; r_inner++) {
            v[r_inner] = a[r_first + r_inner];
        }
        #pragma unroll
        for (int r_inner = 0; r_inner < 2; r_inner++) {
            level[r_inner] = v[r_inner] > 0.5f ? (int)(v[r_inner] * 100.0f) : level[r_inner];
        }
        bool sign_taken[2];
        #pragma unroll
        for (int r_inner = 0; r_inner < 2; r_inner++) {
            sign_taken[r_inner] = v[r_inner] < 0.0f;
        }
        #pragma unroll
        for (int r_inner = 0; r_inner < 2; r_inner++) {
            sign[r_inner] = sign_taken[r_inner] ? -1 : sign[r_inner];
        }
        #pragma unroll
        for (int r_inner = 0; r_inner < 2; r_inner++) {
            level[r_inner] = sign_taken[r_inner] ? level[r_inner] - sign[r_inner] : level[r_inner];
        }
        #pragma unroll
        for (int r_inner = 0; r_inner < 2; r_inner++) {
            sign[r_inner] = sign_taken[r_inner] ? sign[r_inner] : 0;
        }
        #pragma unroll
        for (int r_inner = 0; r_inner < 2; r_inner++) {
            out[r_first + r_inner] = level[r_inner] + sign[r_inner];
        }
    } else {
        #pragma unroll 1
        for (int r_inner = 0; r_inner < 2; r_inner++) {
            if (r_first + r_inner < n) {
                int level = 16777217;
                int sign = 1;
                const float v = a[r_first + r_inner];
                level = v > 0.5f ? (int)(v * 100.0f) : level;
                const bool sign_taken = v < 0.0f;
                sign = sign_taken ? -1 : sign;
                level = sign_taken ? level - sign : level;
                sign = sign_taken ? sign : 0;
                out[r_first + r_inner] = level + sign;
            }
        }
    }
}
