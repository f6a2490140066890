__kernel void jacobi(__global const float* in, __global float* out, int W, int H)
{
    const int x = (int)(get_group_id(0) * get_local_size(0) + get_local_id(0));
    const int y = (int)(get_group_id(1) * get_local_size(1) + get_local_id(1));
    if (x >= 1 && x < W - 1 && y >= 1 && y < H - 1) {
        const float c = 0.25f;
        out[y * W + x] = c * (in[y * W + x - 1] + in[y * W + x + 1] + in[y * W + x - W] + in[y * W + x + W]);
    }
}
