extern "C" __global__ void unit(const float* x, float* y, int n)
{
    const int i_block = (int)blockIdx.x * 64;
    const int i_thread = (int)threadIdx.x;
    const int i = i_block + i_thread;
    if (i < n) {
        float square = 1.0f;
        for (int d = 0; d < 3; d++) {
            square += x[i * 3 + d] * x[i * 3 + d];
        }
        float inverse = rsqrtf(square);
        for (int d_2 = 0; d_2 < 3; d_2++) {
            y[i * 3 + d_2] = x[i * 3 + d_2] * inverse;
        }
    }
}

extern "C" __global__ void scaled_by(float eps, int n, float* out, const float* v)
{
    const int e_block = (int)blockIdx.x * 32;
    const int e_thread = (int)threadIdx.x;
    const int e = e_block + e_thread;
    if (e < n) {
        out[e] = (v[e] - eps) * rsqrtf(v[e] * v[e] + eps);
    }
}

extern "C" __global__ void gravity(const float* px, const float* py, float* ax, int n)
{
    const int i_block = (int)blockIdx.x * 64;
    const int i_thread = (int)threadIdx.x;
    const int i = i_block + i_thread;
    if (i < n) {
        float a = 0.0f;
        for (int j = 0; j < n; j++) {
            float dx = px[j] - px[i];
            float dy = py[j] - py[i];
            float r = rsqrtf(dx * dx + dy * dy + 0.01f);
            a += dx * r * r * r;
        }
        ax[i] = a;
    }
}
