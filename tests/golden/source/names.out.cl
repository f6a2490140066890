#define constant constant_
#define global global_
#define kernel kernel_
#define local local_

__kernel void conv(__global const float* global, __global const float* kernel, __global float* local, int n)
{
    const int i = (int)(get_group_id(0) * get_local_size(0) + get_local_id(0));
    if (i >= 1 && i < n - 1) {
        float constant = kernel[0] * global[i - 1];
        constant += kernel[1] * global[i] + kernel[2] * global[i + 1];
        float dot_value = global[i - 1] * kernel[0] + global[i - 1 + 1] * kernel[1] + global[i - 1 + 2] * kernel[2];
        local[i] = 0.5f * (constant + dot_value);
    }
}
