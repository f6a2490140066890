// kernel two_sums: x:float32:in:n*m, y:float32:out:n, n:int32=n, m:int32=m
// domain n block 64 sizes n=67,m=5 | n=3,m=0 | n=128,m=33
// genes fusion@k
__global__ void two_sums(const float* x, float* y, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float s = 0.0f;
        for (int k = 0; k < m; k++) s += x[i * m + k];
        float q = 0.0f;
        for (int k = 0; k < m; k++) q += x[i * m + k] * x[i * m + k];
        y[i] = s * s - q;
    }
}

// kernel chained: cols:int32=c, out:float32:inout:c*r, rows:int32=r, in:float32:in:c*r
// domain c block 32 sizes c=67,r=5 | c=3,r=129 | c=64,r=1
// genes fusion@q
__global__ void chained(int cols, float* out, int rows, const float* in) {
    const int col = threadIdx.x + blockDim.x * blockIdx.x;
    if (col >= cols) return;
    for (int q = 0; q < rows; ++q) out[q * cols + col] = in[q * cols + col] + 1.0f;
    for (int t = 0; t < rows; ++t) {
        float v = out[t * cols + col];
        out[t * cols + col] = v * v;
    }
}

// kernel nested: a:float32:in:n*m*2, lo:float32:out:n*m, hi:float32:out:n*m, m:int32=m, n:int32=n
// domain n block 64 sizes n=131,m=7 | n=5,m=1 | n=64,m=16
// genes fusion@p
__global__ void nested(const float* a, float* lo, float* hi, int m, int n) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < n) {
        for (int p = 0; p < m; p++) {
            float s = 1e30f;
            for (int d = 0; d < 2; d++) s = fminf(s, a[(d * m + p) * n + r]);
            lo[p * n + r] = s;
        }
        float scale = 2.0f;
        for (int u = 0; u < m; u++) {
            float s = -1e30f;
            for (int d = 0; d < 2; d++) s = fmaxf(s, a[(d * m + u) * n + r]);
            hi[u * n + r] = s * scale;
        }
    }
}
