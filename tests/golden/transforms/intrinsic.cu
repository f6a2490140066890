// kernel logistic: x:float32:in:n, y:float32:out:n, n:int32=n
// domain n block 64 sizes n=1021 | n=3 | n=2048
// genes intrinsic@expf, intrinsic@division
// grants fast_math
__global__ void logistic(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 1.0f / (1.0f + expf(-x[i]));
}

// kernel waves: n:int32=n, out:float32:out:n, in:float32:in:n
// domain n block 32 sizes n=131 | n=7 | n=256
// genes intrinsic@sinf
// grants fast_math
__global__ void waves(int n, float* out, const float* in) {
    const int e = threadIdx.x + blockDim.x * blockIdx.x;
    if (e >= n) return;
    out[e] = sinf(in[e]) + cosf(in[e]) + (float)(n / 3);
}

// kernel entropy: rows:int32=r, in:float32:in:r*c, cols:int32=c, out:float32:out:r
// domain r block 64 sizes r=67,c=5 | r=3,c=129 | r=64,c=1
// genes intrinsic@logf
// grants fast_math
__global__ void entropy(int rows, const float* in, int cols, float* out) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        float sum = 0.0f;
        for (int c = 0; c < cols; c++) {
            float p = in[c * rows + r] * in[c * rows + r] + 0.5f;
            sum -= p * log(p);
        }
        out[r] = sum;
    }
}
