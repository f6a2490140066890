// kernel weighted: x:float32:in:n*m, w:float32:in:n, y:float32:out:n*m, n:int32=n, m:int32=m
// domain n block 64 sizes n=67,m=5 | n=3,m=0 | n=128,m=33
// genes hoist_loads@k
__global__ void weighted(const float* x, const float* w, float* y, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int k = 0; k < m; k++) y[i * m + k] = w[i] * x[i * m + k];
}

// kernel gathered: cols:int32=c, out:float32:out:c*r, at:uint8:in:c, rows:int32=r, in:float32:in:256*r
// domain c block 32 sizes c=67,r=5 | c=3,r=129 | c=64,r=1
// genes unroll@q(factor=4), hoist_loads@q_outer
__global__ void gathered(int cols, float* out, const unsigned char* at, int rows, const float* in) {
    const int col = threadIdx.x + blockDim.x * blockIdx.x;
    if (col >= cols) return;
    for (int q = 0; q < rows; ++q) {
        if (in[at[col]] > 0.0f) out[q * cols + col] = in[at[col]];
        else out[q * cols + col] = in[q] - 1.0f;
    }
}

// kernel taps3: a:float32:in:n*m, t:float32:in:3*m, y:float32:out:n*m, m:int32=m, n:int32=n
// domain n block 64 sizes n=131,m=7 | n=5,m=1 | n=64,m=16
// genes hoist_loads@d, hoist_loads@j
__global__ void taps3(const float* a, const float* t, float* y, int m, int n) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < n) {
        for (int j = 0; j < m; j++) {
            float s = 0.0f;
            for (int d = 0; d < 3; d++) s += a[j * n + r] * t[d] + t[0];
            y[j * n + r] = s;
        }
    }
}
