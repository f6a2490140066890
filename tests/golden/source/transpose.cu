// entry: transpose
#define IDX(r, c, ld) ((r) * (ld) + (c))
__global__ void transpose(float *out, float const *in, const unsigned int rows, const unsigned int cols)
{
    const unsigned int tx = threadIdx.x, ty = threadIdx.y;
    unsigned int c = tx + blockIdx.x * blockDim.x;
    unsigned int r = blockDim.y * blockIdx.y + ty;
    if (r >= rows || c >= cols)
        return;
    out[IDX(c, r, rows)] = in[IDX(r, c, cols)];
}
