__kernel void transpose(__global float* out, __global const float* in, const uint rows, const uint cols)
{
    const uint c = (uint)(get_group_id(0) * get_local_size(0) + get_local_id(0));
    const uint r = (uint)(get_group_id(1) * get_local_size(1) + get_local_id(1));
    if (c < cols && r < rows) {
        out[c * rows + r] = in[r * cols + c];
    }
}
