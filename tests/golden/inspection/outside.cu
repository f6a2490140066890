// Reads strided, counts with an atomic, and holds text that the front end does not read.
__global__ void outside(const int* values, int* bins, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  int odd = 0;
  for (int j = 0; j < cols; j++) {
    odd += values[r * cols + j] & 1;
  }
  asm volatile("membar.gl;");
  atomicAdd(&bins[odd % 8], 1);
}
