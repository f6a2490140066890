// What OpenCL has no words for: exchanges of a warp, references.

__device__ void order(float& low, float& high) {
    if (high < low) {
        float kept = low;
        low = high;
        high = kept;
    }
}

__device__ int draw(unsigned int& state, int below) {
    goto next;
next:
    state = state * 1664525u + 1013904223u;
    return (int)(state >> 8) % below;
}

__global__ void votes(const float* x, float* y, int* found, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? x[i] : 0.0f, other = __shfl_xor_sync(0xffffffff, v, 1);
    order(v, other);
    unsigned int state = i;
    int taken = draw(state, 7);
    for (int step = 16; step > 0; step /= 2) v += __shfl_down_sync(0xffffffff, v, step);
    unsigned int loud = __ballot_sync(0xffffffff, other > 0.5f);
    __syncwarp();
    if (i % 32 == 0) {
        int at = atomicAdd(found, __popc(loud) + taken);
        y[i / 32] = v;
        found[1 + (at & 1)] = state;
    }
}
