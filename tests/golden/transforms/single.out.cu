extern "C" __global__ void halves(const float* x, float* y, int n)
{
    const int i_block = (int)blockIdx.x * 64;
    const int i_thread = (int)threadIdx.x;
    const int i = i_block + i_thread;
    if (i < n) {
        float v = x[i] * 0.5f;
        if (v > 0.25f) {
            v = 1.0f - v;
        }
        v += 2.0f;
        y[i] = v + 0.1;
    }
}

extern "C" __global__ void warm(int n, float* out, const float* in)
{
    const int e_block = (int)blockIdx.x * 32;
    const int e_thread = (int)threadIdx.x;
    const int e = e_block + e_thread;
    if (e < n) {
        out[e] = 0.5f * in[e] * (1.0f + tanhf(0.79788456f * (in[e] + 0.044715f * in[e] * in[e] * in[e]))) + 3.14159265358979323846f * powf(in[e], 2);
    }
}

extern "C" __global__ void mean(int rows, const float* in, int cols, float* out)
{
    const int r_block = (int)blockIdx.x * 64;
    const int r_thread = (int)threadIdx.x;
    const int r = r_block + r_thread;
    if (r < rows) {
        double precise = 0.0;
        float sum = 0.0f;
        for (int c = 0; c < cols; c++) {
            sum += in[r + c * rows] > 0.1f ? 2.0f * in[r + c * rows] : -1e-3f;
            precise += 0.5 * in[r + c * rows];
        }
        out[r] = sum / (double)cols + precise * 2.0;
    }
}
