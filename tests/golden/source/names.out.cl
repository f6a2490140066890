#define constant constant_
#define dot dot_
#define global global_
#define kernel kernel_
#define local local_
__attribute__((overloadable)) float dot(const __global float* a, const __global float* b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
__attribute__((overloadable)) float dot(const __global float* a, const __local float* b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
__attribute__((overloadable)) float dot(const __global float* a, const float* b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
__attribute__((overloadable)) float dot(const __local float* a, const __global float* b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
__attribute__((overloadable)) float dot(const __local float* a, const __local float* b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
__attribute__((overloadable)) float dot(const __local float* a, const float* b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
__attribute__((overloadable)) float dot(const float* a, const __global float* b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
__attribute__((overloadable)) float dot(const float* a, const __local float* b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
__attribute__((overloadable)) float dot(const float* a, const float* b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

__kernel void conv(__global const float* global, __global const float* kernel, __global float* local, int n)
{
    const int i = (int)(get_group_id(0) * get_local_size(0) + get_local_id(0));
    if (i >= 1 && i < n - 1) {
        float constant = kernel[0] * global[i - 1];
        constant += kernel[1] * global[i] + kernel[2] * global[i + 1];
        local[i] = 0.5f * (constant + dot(&global[i - 1], kernel));
    }
}
