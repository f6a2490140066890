__kernel void gelu(__global const float* x, __global float* y, ulong n)
{
    const size_t idx = (size_t)(get_group_id(0) * get_local_size(0) + get_local_id(0));
    if (idx < n) {
        float v = x[idx];
        float u = (float)0.7978845608 * (v + (float)0.044715 * v * v * v);
        y[idx] = (float)0.5 * v * ((float)1 + tanh(u));
    }
}
