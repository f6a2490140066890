// kernel unit: x:float32:in:n*3, y:float32:out:n*3, n:int32=n
// domain n block 64 sizes n=131 | n=7 | n=256
// genes inverse_root@roots
// grants fast_math
__global__ void unit(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float square = 1.0f;
        for (int d = 0; d < 3; d++) square += x[i * 3 + d] * x[i * 3 + d];
        float inverse = 1.0f / sqrtf(square);
        for (int d = 0; d < 3; d++) y[i * 3 + d] = x[i * 3 + d] * inverse;
    }
}

// kernel scaled_by: eps:float32=0.5, n:int32=n, out:float32:out:n, v:float32:in:n
// domain n block 32 sizes n=131 | n=7 | n=256
// genes inverse_root@roots
// grants fast_math
__global__ void scaled_by(float eps, int n, float* out, const float* v) {
    const int e = threadIdx.x + blockDim.x * blockIdx.x;
    if (e >= n) return;
    out[e] = (v[e] - eps) / sqrt(v[e] * v[e] + eps);
}

// kernel gravity: px:float32:in:n, py:float32:in:n, ax:float32:out:n, n:int32=n
// domain n block 64 sizes n=131 | n=7 | n=256
// genes inverse_root@roots
// grants fast_math
__global__ void gravity(const float* px, const float* py, float* ax, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float a = 0.0f;
        for (int j = 0; j < n; j++) {
            float dx = px[j] - px[i], dy = py[j] - py[i];
            float r = 1.f / sqrtf(dx * dx + dy * dy + 0.01f);
            a += dx * r * r * r;
        }
        ax[i] = a;
    }
}
