extern "C" __global__ void gelu(const float* x, float* y, size_t n)
{
    const size_t idx = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx < n) {
        float v = x[idx];
        float u = (float)0.7978845608 * (v + (float)0.044715 * v * v * v);
        y[idx] = (float)0.5 * v * ((float)1 + tanhf(u));
    }
}
