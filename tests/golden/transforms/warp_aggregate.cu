// kernel counts: data:uint8:in:n, bins:uint32:inout:256, n:int32=n
// domain n block 64 sizes n=1021 | n=3 | n=2048
// genes warp_aggregate@bins
__global__ void counts(const unsigned char* data, unsigned int* bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[data[i]], 1u);
}

// kernel marks: step:int32=3, n:int32=n, last:int32:inout:8, weight:float32:inout:16, x:float32:in:n
// domain n block 32 sizes n=131 | n=7 | n=256
// genes coarsen_blocked@e(factor=2), register_tile@instances, warp_aggregate@last, warp_aggregate@weight
__global__ void marks(int step, int n, int* last, float* weight, const float* x) {
    const int e = threadIdx.x + blockDim.x * blockIdx.x;
    if (e >= n) return;
    if (x[e] > 0.0f) atomicMax(last + e % 8, step);
    atomicAdd(&weight[e % 16], 0.5f);
}

// kernel plane_counts: w:int32=w, image:uint8:in:w*h, out:int32:inout:8, h:int32=h
// domain w, h block 8, 8 sizes w=67,h=37 | w=3,h=70 | w=129,h=5
// genes axis_swap@r, grid_stride@r(blocks=1), warp_aggregate@out
__global__ void plane_counts(int w, const unsigned char* image, int* out, int h) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < h && c < w) atomicSub(&out[image[r * w + c] >> 5], 2);
}
