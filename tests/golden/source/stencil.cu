// entry: jacobi
extern "C" __global__ void jacobi(const float* in, float* out, int W, int H)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int idx = y * W + x;
    if (x > 0 && x < W - 1) {
        if (!(y < 1 || y + 1 >= H)) {
            const float c = 0.25f;
            out[idx] = c * (in[idx - 1] + in[idx + 1] + in[idx - W] + in[idx + W]);
        }
    }
}
