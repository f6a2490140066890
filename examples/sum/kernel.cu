// Sum of n numbers, added onto total[0]. One thread adds one number with an atomic.
__global__ void sum(const float* x, float* total, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(total, x[i]);
  }
}
