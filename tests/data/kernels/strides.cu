// Loops that stride with the whole grid: under a launch that reaches their bound they turn once.
__global__ void scaled(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = x[i] * 2.0f;
}

__global__ void smooth(const float* x, float* y, int n, int width) {
    int first = threadIdx.x + blockIdx.x * blockDim.x;
    const int stride = gridDim.x * blockDim.x;
    float s;
    int k;
    for (int i = first; i < n - 2 * width; i += stride) {
        if (x[i] < -0.9f) continue;
        s = 0.0f;
        for (k = 0; k <= 2 * width; k++) s += x[i + k];
        y[i + width] = s / (2 * width + 1);
    }
}

__global__ void counted(const float* x, float* y, unsigned long n) {
    for (unsigned long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float best = x[i];
        for (int j = 1; j < 5; j++) best = fmaxf(best, x[(i + j) % n]);
        y[i] = best;
    }
}
