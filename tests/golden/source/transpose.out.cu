extern "C" __global__ void transpose(float* out, const float* in, const unsigned int rows, const unsigned int cols)
{
    const unsigned int c = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c < cols && r < rows) {
        out[c * rows + r] = in[r * cols + c];
    }
}
