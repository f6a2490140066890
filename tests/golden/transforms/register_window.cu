// kernel across: x:float32:in:n*m, w:float32:in:3, y:float32:out:n*m, n:int32=n, m:int32=m
// domain m, n block 16,4 sizes n=13,m=67 | n=3,m=5 | n=16,m=128
// genes coarsen_blocked@c(factor=4), register_tile@instances, register_window@x(depth=1), scalar_reads@w
__global__ void across(const float* x, const float* w, float* y, int n, int m) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < n && c >= 1 && c < m - 1) {
        float s = 0.0f;
        for (int k = 0; k < 3; k++) s += x[r * m + c + k - 1] * w[k];
        y[r * m + c] = s;
    }
}

// kernel star: out:float32:out:H*W, H:int32=H, W:int32=W, f:float32:in:H*W
// domain W, H block 32,2 sizes H=37,W=67 | H=5,W=3 | H=64,W=64
// genes coarsen_blocked@row(factor=4), register_tile@instances, register_window@f(depth=0)
__global__ void star(float* out, int H, int W, const float* f) {
    const int col = threadIdx.x + blockDim.x * blockIdx.x;
    const int row = threadIdx.y + blockDim.y * blockIdx.y;
    if (col <= 0 || col >= W - 1 || row <= 0 || row >= H - 1) return;
    out[row * W + col] = f[row * W + col - 1] + f[row * W + col + 1] - 4.0f * f[row * W + col]
                       + f[(row - 1) * W + col] + f[(row + 1) * W + col];
}

// kernel meet: force:float32:out:n, n:int32=n, place:float32:in:n, load:float32:in:n
// domain n block 32 sizes n=131 | n=3 | n=256
// genes coarsen_strided@a(factor=2), register_tile@instances, strip@b(factor=4), register_window@place(depth=1), register_window@load(depth=1), vectorise@place(width=4), vectorise@load(width=2)
__global__ void meet(float* force, int n, const float* place, const float* load) {
    int a = blockIdx.x * blockDim.x + threadIdx.x;
    if (a >= n) return;
    float here = place[a], f = 0.0f;
    for (int b = 0; b < n; b++) {
        float d = place[b] - here;
        f += d * load[b] / (1.0f + d * d);
    }
    force[a] = f;
}

// kernel layered: deep:float32:in:D*n+3, sum:float32:out:n, n:int32=n, D:int32=D
// domain n block 32 sizes n=67,D=2 | n=3,D=2 | n=64,D=9
// genes register_window@deep(depth=2)
__global__ void layered(const float* deep, float* sum, int n, int D) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float s = 0.0f;
        for (int layer = 1; layer < 2; layer++)
            for (int k = 0; k < 4; k++) s += deep[layer * n + i + k] * (float)(k + D);
        sum[i] = s;
    }
}
