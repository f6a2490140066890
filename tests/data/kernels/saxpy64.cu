// 64-bit indices and an inout argument.
__global__ void saxpy(size_t n, float a, const float* __restrict__ x, float* __restrict__ y) {
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = a * x[i] + y[i];
    }
}
