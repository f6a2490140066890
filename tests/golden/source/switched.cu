// entry: classes
__global__ void classes(const int* kind, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = x[i];
    switch (kind[i]) {
        case 0:
        case 1: s += 1.0f; break;
        case 2: s *= 2.0f; break;
        case 3:
            if (n > 9) break;
            s -= 3.0f;
            break;
        default: {
            float w = s * s;
            s = w + 1.0f;
        }
    }
    y[i] = s;
}
