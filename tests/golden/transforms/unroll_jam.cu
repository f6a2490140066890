// kernel dense: x:float32:in:n*k, w:float32:in:m*k, y:float32:out:n*m, n:int32=n, m:int32=m, k:int32=k
// domain n block 64 sizes n=67,m=5,k=3 | n=3,m=1,k=70 | n=128,m=8,k=16
// genes unroll_jam@o(factor=2)
__global__ void dense(const float* x, const float* w, float* y, int n, int m, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int o = 0; o < m; o++) {
            float s = 0.0f;
            for (int t = 0; t < k; t++) s += x[i * k + t] * w[o * k + t];
            y[i * m + o] = s;
        }
}

// kernel smooth4: rows:int32=r, image:float32:in:(r+4)*c, cols:int32=c, out:float32:out:r*c
// domain c block 32 sizes r=67,c=5 | r=1,c=129 | r=64,c=64
// genes unroll_jam@down(factor=4), unroll@tap(factor=0)
__global__ void smooth4(int rows, const float* image, int cols, float* out) {
    const int col = threadIdx.x + blockDim.x * blockIdx.x;
    if (col >= cols) return;
    for (int down = 0; down < rows; ++down) {
        float sum = image[down * cols + col], top = sum;
        for (int tap = 1; tap < 5; ++tap) {
            const float v = image[(down + tap) * cols + col];
            sum += v;
            if (v > top) top = v;
        }
        out[down * cols + col] = sum > 4.0f ? top : sum;
    }
}

// kernel update: a:float32:in:k*n, b:float32:in:12*k, acc:float32:inout:n*12, n:int32=n, k:int32=k
// domain n block 64 sizes n=131,k=7 | n=5,k=1 | n=64,k=16
// genes unroll_jam@p(factor=8), coarsen_blocked@c(factor=2), register_tile@instances, scalar_reads@a
__global__ void update(const float* a, const float* b, float* acc, int n, int k) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < n) {
        for (int p = 0; p < 12; p++) {
            float s = acc[c * 12 + p];
            for (int t = 0; t < k; t++) s += a[t * n + c] * b[p * k + t];
            acc[c * 12 + p] = s;
        }
    }
}
