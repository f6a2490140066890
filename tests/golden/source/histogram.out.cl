__kernel void histogram(__global const uchar* data, __global uint* bins, int n)
{
    const int i = (int)(get_group_id(0) * get_local_size(0) + get_local_id(0));
    if (i < n) {
        atomic_add(&bins[data[i]], 1u);
    }
}
