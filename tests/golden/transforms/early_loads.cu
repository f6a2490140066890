// kernel pair: a:float32:in:n*m, b:float32:in:n*m, y:float32:out:n*m, z:float32:out:n*m, n:int32=n, m:int32=m
// domain n block 64 sizes n=67,m=5 | n=3,m=0 | n=128,m=33
// genes early_loads@k
__global__ void pair(const float* a, const float* b, float* y, float* z, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int k = 0; k < m; k++) {
            y[i * m + k] = 2.0f * a[i * m + k];
            z[i * m + k] = b[i * m + k] - a[i * m + k];
        }
}

// kernel running: cols:int32=c, out:float32:out:c, rows:int32=r, in:float32:in:c*r+1, scale:float32:in:c*r
// domain c block 32 sizes c=67,r=5 | c=3,r=129 | c=64,r=1
// genes unroll@q(factor=2), early_loads@q_inner
__global__ void running(int cols, float* out, int rows, const float* in, const float* scale) {
    const int col = threadIdx.x + blockDim.x * blockIdx.x;
    if (col >= cols) return;
    float s = 1.0f;
    for (int q = 0; q < rows; ++q) {
        s = s * 0.5f + in[q * cols + col];
        if (scale[q * cols + col] > 0.0f) s -= scale[q * cols + col];
        s += in[q * cols + col + 1];
    }
    out[col] = s;
}

// kernel met: x:float32:in:n*m, t:float32:in:n*m, y:float32:out:n*m, m:int32=m, n:int32=n
// domain n block 64 sizes n=128,m=7 | n=64,m=1 | n=192,m=16
// genes early_loads@j
__global__ void met(const float* x, const float* t, float* y, int m, int n) {
    __shared__ float row[64];
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = 0; j < m; j++) {
        row[threadIdx.x] = x[j * n + r];
        __syncthreads();
        y[j * n + r] = row[63 - threadIdx.x] + t[j * n + r];
        __syncthreads();
    }
}
