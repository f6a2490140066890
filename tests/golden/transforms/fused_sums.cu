// kernel lengths: x:float32:in:n, y:float32:in:n, z:float32:in:n, r:float32:out:n, n:int32=n, soft:float32=0.5
// domain n block 64 sizes n=131 | n=3 | n=256
// genes fused_sums@sums
__global__ void lengths(const float* x, const float* y, const float* z, float* r, int n, float soft) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) r[i] = sqrtf(x[i] * x[i] + y[i] * y[i] + z[i] * z[i] + soft);
}

// kernel blended: out:float32:out:h*w, h:int32=h, w:int32=w, p:float32:in:h*w, a:float32=0.25
// domain w, h block 16,4 sizes h=13,w=67 | h=3,w=1 | h=8,w=64
// genes fused_sums@sums, coarsen_blocked@u(factor=2), register_tile@instances
__global__ void blended(float* out, int h, int w, const float* p, float a) {
    const int u = threadIdx.x + blockDim.x * blockIdx.x;
    const int v = threadIdx.y + blockDim.y * blockIdx.y;
    if (u >= w || v >= h) return;
    int left = u > 0 ? u - 1 : 0;
    out[v * w + u] = a * p[v * w + u] - p[v * w + left] * 0.5f - (1.0f - p[v * w + left]);
}

// kernel summed: m:int32=m, n:int32=n, total:float32:out:n, rows:float32:in:n*m, q:float32:in:m
// domain n block 32 sizes n=67,m=5 | n=3,m=0 | n=64,m=16
// genes fused_sums@sums, strip@k(factor=4)
__global__ void summed(int m, int n, float* total, const float* rows, const float* q) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < n) {
        float t = 1.0f;
        for (int k = 0; k < m; k++) t = q[k] * q[k] + rows[r * m + k] * q[k] + t;
        total[r] = t;
    }
}
