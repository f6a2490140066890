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
    const int i_first = (uint)get_group_id(0) * (uint)get_local_size(0) + (uint)get_local_id(0);
    for (int i_turn = 0; i_turn < (i_first < n ? (n - i_first - 1) / ((uint)get_num_groups(0) * (uint)get_local_size(0)) + 1 : 0); i_turn++) {
        const int i = i_first + i_turn * ((uint)get_num_groups(0) * (uint)get_local_size(0));
        mine += in[i];
    }
    cache[tid] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint s_first = (uint)get_local_size(0) / 2;
    for (uint s_turn = 0; s_turn < (s_first >= 1 ? 32 - clz(s_first) : 0); s_turn++) {
        if (tid < (s_first >> s_turn)) {
            cache[tid] += cache[tid + (s_first >> s_turn)];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (tid == 0) {
        evo_atomicAdd_float(&total[0], cache[0]);
    }
}
