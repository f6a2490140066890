extern "C" __global__ void jacobi(const float* in, float* out, int W, int H)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= 1 && x < W - 1 && y >= 1 && y < H - 1) {
        const float c = 0.25f;
        out[y * W + x] = c * (in[y * W + x - 1] + in[y * W + x + 1] + in[y * W + x - W] + in[y * W + x + W]);
    }
}
