extern "C" __global__ void logistic(const float* x, float* y, int n)
{
    const int i_block = (int)blockIdx.x * 64;
    const int i_thread = (int)threadIdx.x;
    const int i = i_block + i_thread;
    if (i < n) {
        y[i] = __fdividef(1.0f, 1.0f + __expf(-x[i]));
    }
}

extern "C" __global__ void waves(int n, float* out, const float* in)
{
    const int e_block = (int)blockIdx.x * 32;
    const int e_thread = (int)threadIdx.x;
    const int e = e_block + e_thread;
    if (e < n) {
        out[e] = __sinf(in[e]) + cosf(in[e]) + (float)(n / 3);
    }
}

extern "C" __global__ void entropy(int rows, const float* in, int cols, float* out)
{
    const int r_block = (int)blockIdx.x * 64;
    const int r_thread = (int)threadIdx.x;
    const int r = r_block + r_thread;
    if (r < rows) {
        float sum = 0.0f;
        for (int c = 0; c < cols; c++) {
            float p = in[r + c * rows] * in[r + c * rows] + 0.5f;
            sum -= p * __logf(p);
        }
        out[r] = sum;
    }
}
