// kernel two_maps: x:float32:in:n*m, y:float32:out:n*m, z:float32:out:n*m, n:int32=n, m:int32=m
// domain n block 64 sizes n=67,m=5 | n=3,m=1 | n=128,m=33
// genes fission@k(at=1)
__global__ void two_maps(const float* x, float* y, float* z, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int k = 0; k < m; k++) {
            y[i * m + k] = 2.0f * x[i * m + k];
            z[i * m + k] = x[i * m + k] - 1.0f;
        }
}

// kernel behind: cols:int32=c, out:float32:inout:c*r, rows:int32=r, in:float32:in:c*r
// domain c block 32 sizes c=67,r=5 | c=3,r=129 | c=64,r=1
// genes fission@q(at=2)
__global__ void behind(int cols, float* out, int rows, const float* in) {
    const int col = threadIdx.x + blockDim.x * blockIdx.x;
    if (col >= cols) return;
    for (int q = 1; q < rows; ++q) {
        float v = in[q * cols + col];
        out[q * cols + col] = v * v;
        for (int s = 0; s < 2; s++) out[(q - 1) * cols + col] += 0.5f;
    }
}

// kernel sums: a:float32:in:n*m, first:float32:out:n, second:float32:out:n, m:int32=m, n:int32=n
// domain n block 64 sizes n=131,m=7 | n=5,m=0 | n=64,m=16
// genes fission@j(at=1), unroll@j_after(factor=4)
__global__ void sums(const float* a, float* first, float* second, int m, int n) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < n) {
        float s = 0.0f, t = 0.0f;
        for (int j = 0; j < m; j++) {
            s += a[j * n + r];
            if (j % 2 == 0) t += a[j * n + r] * a[j * n + r];
        }
        first[r] = s;
        second[r] = t;
    }
}
