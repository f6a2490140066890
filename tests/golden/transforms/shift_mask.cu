// kernel swizzled: x:float32:in:n, y:float32:out:n, n:int32=n
// domain n block 64 sizes n=1024 | n=8 | n=2048
// genes shift_mask@powers
__global__ void swizzled(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i / 8 * 8 + (7 - i % 8)] + (float)((i - 4) / 4);
}

// kernel boxes: cols:int32=c, out:float32:out:c, rows:int32=r, in:float32:in:c*r
// domain c block 32 sizes c=67,r=5 | c=3,r=129 | c=64,r=1
// genes strip@q(factor=8), shift_mask@powers
__global__ void boxes(int cols, float* out, int rows, const float* in) {
    const int col = threadIdx.x + blockDim.x * blockIdx.x;
    if (col >= cols) return;
    float s = 0.0f;
    for (int q = 0; q < rows; ++q) s += in[q * cols + col] * (float)((q + 2 * col) % 16);
    out[col] = s;
}

// kernel packed: a:float32:in:4*(m//32+1), out:float32:out:n*m, m:int32=m, n:int32=n
// domain m, n block 8, 8 sizes n=13,m=67 | n=5,m=1 | n=64,m=16
// genes coarsen_strided@c(factor=2), shift_mask@powers
__global__ void packed(const float* a, float* out, int m, int n) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < n && c < m) out[r * m + c] = a[c / 32 * 4 + r % 4];
}
