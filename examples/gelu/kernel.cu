// GELU, tanh form: y = 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). One thread computes one element.
__global__ void gelu(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = x[i];
    y[i] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
  }
}
