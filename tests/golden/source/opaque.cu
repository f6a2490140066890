// entry: steps
__device__ float mean3(const float* p, int stride) {
    const float* q = p + stride;
    return (p[0] + q[0] + q[stride]) / 3.0f;
}
__global__ void steps(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || x[i] < 0.0f) return;
    float v = x[i];
    int count = 0;
    while (v > 1.0f) {
        v *= 0.5f;
        count++;
        if (count > 100) break;
    }
    float w[3] = {v, 1.0f};
    for (int k = 0; k < 3; k++) {
        if (k == 1) continue;
        y[i * 3 + k] = w[k] + mean3(x, 1) + mean3(w, 1);
    }
    if (count > 9) goto done;
    y[i * 3 + 1] = (float)count;
done:
    y[i * 3] += 1.0f;
}
