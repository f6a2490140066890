#ifndef EVO_SHARED_BYTES
#define EVO_SHARED_BYTES 32768
#endif
__attribute__((overloadable)) float evo_atomicAdd_float(volatile __global float* target, float value) {
    volatile __global int* raw = (volatile __global int*)target;
    int seen = *raw, expected;
    do {
        expected = seen;
        float old = as_float(expected);
        seen = atomic_cmpxchg(raw, expected, as_int(old + value));
    } while (seen != expected);
    return as_float(seen);
}
__attribute__((overloadable)) float evo_atomicAdd_float(volatile __local float* target, float value) {
    volatile __local int* raw = (volatile __local int*)target;
    int seen = *raw, expected;
    do {
        expected = seen;
        float old = as_float(expected);
        seen = atomic_cmpxchg(raw, expected, as_int(old + value));
    } while (seen != expected);
    return as_float(seen);
}

__kernel void reduce(__global const float* in, __global float* total, int n)
{
    __local float cache[EVO_SHARED_BYTES / sizeof(float)];
    uint tid = (uint)get_local_id(0);
    float mine = 0.0f;
    for (int i = ((uint)get_group_id(0)) * ((uint)get_local_size(0)) + ((uint)get_local_id(0)); i < n; i += ((uint)get_num_groups(0)) * ((uint)get_local_size(0)))
        mine += in[i];
    cache[tid] = mine;
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (uint s = ((uint)get_local_size(0)) / 2; s > 0; s >>= 1) {
        if (tid < s)
            cache[tid] += cache[tid + s];
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    }
    if (tid == 0) {
        evo_atomicAdd_float(&total[0], cache[0]);
    }
}
