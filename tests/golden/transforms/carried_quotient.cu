// kernel folded: x:float32:in:n*m, w:float32:in:m, y:float32:out:n, n:int32=n, m:int32=m, p:int32=p
// domain n block 64 sizes n=67,m=5,p=3 | n=3,m=0,p=1 | n=128,m=33,p=7
// genes carried_quotient@k
__global__ void folded(const float* x, const float* w, float* y, int n, int m, int p) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float s = 0.0f;
        for (int k = 0; k < m; k++) s += x[i * m + k] * w[k % p] * (float)(k / p);
        y[i] = s;
    }
}

// kernel windows: cols:int32=c, out:float32:out:c*r, width:uint32=w, rows:int32=r, in:float32:in:c
// domain c block 32 sizes c=67,r=5,w=2 | c=3,r=129,w=5 | c=64,r=1,w=1
// genes carried_quotient@q, unroll@q(factor=4)
__global__ void windows(int cols, float* out, unsigned int width, int rows, const float* in) {
    const int col = threadIdx.x + blockDim.x * blockIdx.x;
    if (col >= cols) return;
    for (int q = 1; q < rows; ++q) {
        for (int t = 0; t < 2; t++) out[q * cols + col] = in[(q % width + t) % cols] + q / width;
    }
    out[col] = in[col];
}

// kernel planes9: a:float32:in:n*9, out:float32:out:n, n:int32=n
// domain n block 64 sizes n=131 | n=5 | n=64
// genes carried_quotient@tap, unroll@tap(factor=0)
__global__ void planes9(const float* a, float* out, int n) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < n) {
        float s = 0.0f;
        for (int tap = 0; tap < 9; tap++) {
            int dx = tap % 3 - 1, dy = tap / 3 - 1;
            s += a[r * 9 + tap] * (float)(dx + 3 * dy);
        }
        out[r] = s;
    }
}
