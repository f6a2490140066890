extern "C" __global__ void reduce(const float* in, float* total, int n)
{
    extern __shared__ float cache[];
    unsigned int tid = threadIdx.x;
    float mine = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        mine += in[i];
    cache[tid] = mine;
    __syncthreads();
    for (unsigned int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s)
            cache[tid] += cache[tid + s];
        __syncthreads();
    }
    if (tid == 0) {
        atomicAdd(&total[0], cache[0]);
    }
}
