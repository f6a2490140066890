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
