// 3x3 convolution of an image in CHW order, zero outside, all input channels to each of OC output channels.
// One thread computes one output element.
__global__ void conv3x3(const float* in, const float* weight, float* out, int IC, int OC, int H, int W) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  int o = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < W && y < H && o < OC) {
    float sum = 0.0f;
    for (int c = 0; c < IC; c++) {
      for (int ky = 0; ky < 3; ky++) {
        for (int kx = 0; kx < 3; kx++) {
          int sy = y + ky - 1;
          int sx = x + kx - 1;
          if (sy >= 0 && sy < H && sx >= 0 && sx < W) {
            sum += in[(c * H + sy) * W + sx] * weight[((o * IC + c) * 3 + ky) * 3 + kx];
          }
        }
      }
    }
    out[(o * H + y) * W + x] = sum;
  }
}
