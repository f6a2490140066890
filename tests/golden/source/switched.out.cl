__kernel void classes(__global const int* kind, __global const float* x, __global float* y, int n)
{
    const int i = (int)(get_group_id(0) * get_local_size(0) + get_local_id(0));
    if (i < n) {
        float s = x[i];
        const int chosen = kind[i];
        if (chosen == 0 || chosen == 1) {
            s += 1.0f;
        } else if (chosen == 2) {
            s *= 2.0f;
        } else if (chosen == 3) {
            if (n <= 9) {
                s -= 3.0f;
            }
        } else {
            float w = s * s;
            s = w + 1.0f;
        }
        y[i] = s;
    }
}
