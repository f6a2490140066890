// out = transpose of the row-major H x W matrix in. One thread moves one element: reads are coalesced, writes stride.
__global__ void transpose(const float* in, float* out, int W, int H) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < W && y < H) {
    out[x * H + y] = in[y * W + x];
  }
}
