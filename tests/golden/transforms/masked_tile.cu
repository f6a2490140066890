// kernel layers: image:float32:in:L*H*W, taps:float32:in:L*9, out:float32:out:H*W, L:int32=L, H:int32=H, W:int32=W
// domain W, H block 8,4 sizes L=7,H=13,W=37 | L=1,H=1,W=1 | L=4,H=8,W=32
// genes masked_reads@image, coarsen_blocked@x(factor=2), register_tile@instances, strip@l(factor=4), masked_tile@image(pad=2)
__global__ void layers(const float* image, const float* taps, float* out, int L, int H, int W) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < W && y < H) {
        float sum = 0.0f;
        for (int l = 0; l < L; l++)
            for (int dy = 0; dy < 3; dy++)
                for (int dx = 0; dx < 3; dx++) {
                    int u = x + dx - 1, v = y + dy - 1;
                    if (u >= 0 && u < W && v >= 0 && v < H) sum += image[(l * H + v) * W + u] * taps[l * 9 + dy * 3 + dx];
                }
        out[y * W + x] = sum;
    }
}

// kernel filtered: n:int32=n, response:float32:out:n, signal:float32:in:n, impulse:float32:in:7
// domain n block 32 sizes n=131 | n=5 | n=256
// genes masked_reads@signal, coarsen_strided@t(factor=2), register_tile@instances, masked_tile@signal
__global__ void filtered(int n, float* response, const float* signal, const float* impulse) {
    const int t = threadIdx.x + blockDim.x * blockIdx.x;
    if (t >= n) return;
    float acc = 0.0f;
    for (int back = 0; back < 7; ++back)
        if (t + back >= 3 && t + back < n + 3) acc += impulse[back] * signal[t + back - 3];
    response[t] = acc;
}

// kernel upright: field:float32:in:A*B, sum:float32:out:A*B, B:int32=B, A:int32=A
// domain B, A block 8,8 sizes A=13,B=37 | A=70,B=3 | A=32,B=16
// genes masked_reads@field, coarsen_blocked@a(factor=2), register_tile@instances, masked_tile@field(pad=1)
__global__ void upright(const float* field, float* sum, int B, int A) {
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    int a = blockIdx.y * blockDim.y + threadIdx.y;
    if (b < B && a < A) {
        float s = 0.0f;
        for (int j = 0; j < 5; j++)
            if (a + j < A) s += 0.25f * field[b * A + a + j];
        sum[b * A + a] = s;
    }
}

// kernel strided: a:float32:in:C*H*W, w:float32:in:C*9, y:float32:out:(H//2)*(W//2), C:int32=C, H:int32=H, W:int32=W
// domain W//2, H//2 block 8,4 sizes C=5,H=14,W=38 | C=1,H=2,W=2 | C=4,H=16,W=64
// genes masked_reads@a, coarsen_blocked@x(factor=2), register_tile@instances, unroll@c(factor=2), masked_tile@a(pad=1)
__global__ void strided(const float* a, const float* w, float* y, int C, int H, int W) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int v = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < W / 2 && v < H / 2) {
        float s = 0.0f;
        for (int c = 0; c < C; c++)
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) {
                    int p = 2 * v + i - 1, q = 2 * x + j - 1;
                    if (p >= 0 && p < H && q >= 0 && q < W) s += w[c * 9 + i * 3 + j] * a[(c * H + p) * W + q];
                }
        y[v * (W / 2) + x] = s;
    }
}

// kernel dilated: a:float32:in:H*W*C, w:float32:in:9*C, y:float32:out:H*W, C:int32=C, H:int32=H, W:int32=W
// domain W, H block 8,4 sizes C=5,H=13,W=37 | C=1,H=1,W=2 | C=4,H=16,W=64
// genes masked_reads@a, coarsen_strided@x(factor=2), register_tile@instances, interchange@i, strip@c(factor=4), masked_tile@a(pad=0)
__global__ void dilated(const float* a, const float* w, float* y, int C, int H, int W) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int v = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < W && v < H) {
        float s = 0.0f;
        for (int c = 0; c < C; c++)
          for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                if (v + 2 * i - 2 >= 0 && v + 2 * i - 2 < H && x + 2 * j - 2 >= 0 && x + 2 * j - 2 < W)
                    s += a[((v + 2 * i - 2) * W + x + 2 * j - 2) * C + c] * w[(i * 3 + j) * C + c];
        y[v * W + x] = s;
    }
}
