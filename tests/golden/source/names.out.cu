extern "C" __global__ void conv(const float* global, const float* kernel, float* local, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= 1 && i < n - 1) {
        float constant = kernel[0] * global[i - 1];
        constant += kernel[1] * global[i] + kernel[2] * global[i + 1];
        float dot_value = global[i - 1] * kernel[0] + global[i - 1 + 1] * kernel[1] + global[i - 1 + 2] * kernel[2];
        local[i] = 0.5f * (constant + dot_value);
    }
}
