extern "C" __global__ void reduce(const float* in, float* total, int n)
{
    extern __shared__ float cache[];
    unsigned int tid = threadIdx.x;
    float mine = 0.0f;
    const int i_first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i_turn = 0; i_turn < (i_first < n ? (n - i_first - 1) / (gridDim.x * blockDim.x) + 1 : 0); i_turn++) {
        const int i = i_first + i_turn * (gridDim.x * blockDim.x);
        mine += in[i];
    }
    cache[tid] = mine;
    __syncthreads();
    const unsigned int s_first = blockDim.x / 2;
    for (unsigned int s_turn = 0; s_turn < (s_first >= 1 ? 32 - __clz(s_first) : 0); s_turn++) {
        if (tid < (s_first >> s_turn)) {
            cache[tid] += cache[tid + (s_first >> s_turn)];
        }
        __syncthreads();
    }
    if (tid == 0) {
        atomicAdd(&total[0], cache[0]);
    }
}
