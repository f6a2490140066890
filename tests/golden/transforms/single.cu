// kernel halves: x:float32:in:n, y:float32:out:n, n:int32=n
// domain n block 64 sizes n=1021 | n=3 | n=2048
// genes single@doubles(places=exact)
__global__ void halves(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i] * 0.5;
        if (v > 0.25) v = 1.0 - v;
        v += 2.0;
        y[i] = v + 0.1;
    }
}

// kernel warm: n:int32=n, out:float32:out:n, in:float32:in:n
// domain n block 32 sizes n=131 | n=7 | n=256
// genes single@doubles(places=all)
// grants fast_math
__global__ void warm(int n, float* out, const float* in) {
    const int e = threadIdx.x + blockDim.x * blockIdx.x;
    if (e >= n) return;
    out[e] = 0.5 * in[e] * (1.0 + tanh(0.79788456 * (in[e] + 0.044715 * in[e] * in[e] * in[e]))) + M_PI * pow(in[e], 2);
}

// kernel mean: rows:int32=r, in:float32:in:r*c, cols:int32=c, out:float32:out:r
// domain r block 64 sizes r=67,c=5 | r=3,c=129 | r=64,c=1
// genes single@doubles(places=all)
// grants fast_math
__global__ void mean(int rows, const float* in, int cols, float* out) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        double precise = 0.0;
        float sum = 0.0;
        for (int c = 0; c < cols; c++) {
            sum += in[c * rows + r] > 0.1 ? 2.0 * in[c * rows + r] : -1e-3;
            precise += 0.5 * in[c * rows + r];
        }
        out[r] = sum / (double)cols + precise * 2.0;
    }
}
