// Updates of one element by every thread: what blocks can add up in a buffer.
__global__ void dot(int count, float* result, const float* right, const float* left, int slot) {
    int at = threadIdx.x + blockIdx.x * blockDim.x;
    if (at < count) atomicAdd(&result[slot], left[at] * right[at]);
}

__global__ void signs(const int* values, unsigned int* seen, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    int v = values[x * h + y];
    atomicOr(seen, v < 0 ? 1u : v > 0 ? 2u : 4u);
}

__global__ void highest(const int* values, int* most, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicMax(most, values[i]);
}
