// entry: roots
__device__ int find(const float* knots, int n, float key) {
    int low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (knots[middle] == key) return middle;
        if (knots[middle] < key) low = middle + 1;
        else high = middle;
    }
    return -1;
}
__global__ void roots(const float* x, const float* knots, float* y, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i], r = v;
    do {
        r = 0.5f * (r + v / r);
        if (r == 0.0f) break;
    } while (fabsf(r * r - v) > 1e-6f);
    float s = 0.0f;
    for (int k = 0; k < m; k++) {
        if (knots[k] < 0.0f) {
            if (knots[k] < -1.0f) break;
            s -= 1.0f;
            continue;
        }
        if (s > 100.0f) {
            y[i] = s;
            return;
        }
        s += knots[k] * r;
    }
    for (;;) {
        s *= 0.5f;
        if (s < 1.0f) break;
    }
    y[i] = s + find(knots, m, v);
}
