// kernel clipped: x:float32:in:n*m, y:float32:out:n, n:int32=n, m:int32=m
// domain n block 64 sizes n=67,m=5 | n=3,m=0 | n=128,m=33
// genes predicate@s
__global__ void clipped(const float* x, float* y, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float s = 0.0f;
        for (int k = 0; k < m; k++) {
            float v = x[i * m + k];
            if (v > 0.0f) s += v;
        }
        y[i] = s;
    }
}

// kernel best: cols:int32=c, where:int32:out:c, rows:int32=r, in:float32:in:c*r, top:float32:out:c
// domain c block 32 sizes c=67,r=5 | c=3,r=129 | c=64,r=1
// genes predicate@most
__global__ void best(int cols, int* where, int rows, const float* in, float* top) {
    const int col = threadIdx.x + blockDim.x * blockIdx.x;
    if (col >= cols) return;
    float most = -1e30f;
    int at = -1;
    for (int q = 0; q < rows; ++q) {
        const float v = in[q * cols + col];
        if (v > most) {
            most = v;
            at = q;
        }
    }
    top[col] = most;
    where[col] = at;
}

// kernel levels: a:float32:in:n, out:int32:out:n, n:int32=n
// domain n block 64 sizes n=131 | n=5 | n=64
// genes predicate@level, predicate@sign, coarsen_blocked@r(factor=2), register_tile@instances
__global__ void levels(const float* a, int* out, int n) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < n) {
        int level = 16777217, sign = 1;
        const float v = a[r];
        if (v > 0.5f) level = v * 100.0f;
        if (v < 0.0f) {
            sign = -1;
            level -= sign;
        } else {
            sign = 0;
        }
        out[r] = level + sign;
    }
}
