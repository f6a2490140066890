__attribute__((overloadable)) float mean3(const __global float* p, int stride) {
    const __global float* q = p + stride;
    return (p[0] + q[0] + q[stride]) / 3.0f;
}
__attribute__((overloadable)) float mean3(const __local float* p, int stride) {
    const __local float* q = p + stride;
    return (p[0] + q[0] + q[stride]) / 3.0f;
}
__attribute__((overloadable)) float mean3(const float* p, int stride) {
    const float* q = p + stride;
    return (p[0] + q[0] + q[stride]) / 3.0f;
}

__kernel void steps(__global const float* x, __global float* y, int n)
{
    const int i = (int)(get_group_id(0) * get_local_size(0) + get_local_id(0));
    if (i < n) {
        if (!(x[i] < 0.0f)) {
            float v = x[i];
            int count = 0;
            while (v > 1.0f) {
                v *= 0.5f;
                count++;
                if (count > 100)
                    break;
            }
            float w[3];
            w[0] = v;
            w[1] = 1.0f;
            w[2] = 0;
            for (int k = 0; k < 3; k++) {
                if (k != 1) {
                    y[i * 3 + k] = w[k] + mean3(x, 1) + mean3(w, 1);
                }
            }
            switch (count) {
                case 0:
                    y[i * 3 + 1] = 0.0f;
                    break;
                default:
                    y[i * 3 + 1] = (float) count;
            }
        }
    }
}
