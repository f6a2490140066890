// A dense layer in two kernels: C = A B, then y = gelu(C + bias) with the tanh form. One thread computes one element.
__global__ void product(const float* A, const float* B, float* C, int M, int N, int K) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c < N && r < M) {
    float sum = 0.0f;
    for (int k = 0; k < K; k++) {
      sum += A[r * K + k] * B[k * N + c];
    }
    C[r * N + c] = sum;
  }
}

__global__ void bias_gelu(const float* C, const float* bias, float* y, int M, int N) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c < N && r < M) {
    float v = C[r * N + c] + bias[c];
    y[r * N + c] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
  }
}
