// Counts how often each of the 256 byte values occurs, added onto bins. One thread counts one byte.
__global__ void histogram(const unsigned char* data, unsigned int* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(&bins[data[i]], 1u);
  }
}
