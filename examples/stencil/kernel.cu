// One Jacobi step of the five-point Laplacian on an H x W grid. Border cells are not written.
__global__ void stencil(const float* in, float* out, int W, int H) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x > 0 && x < W - 1 && y > 0 && y < H - 1) {
    out[y * W + x] = 0.2f * (in[y * W + x] + in[y * W + x - 1] + in[y * W + x + 1] + in[(y - 1) * W + x] + in[(y + 1) * W + x]);
  }
}
