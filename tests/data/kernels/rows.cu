// Rows that one thread walks: the shapes that several threads could share, and what stands between the loops.
__global__ void softmax_in_place(const float* logits, float* probabilities, int n, int width) {
    int row = threadIdx.x + blockDim.x * blockIdx.x;
    if (row >= n) return;
    float largest = -3.0e38f;
    for (int k = 0; k < width; ++k)
        if (logits[k * n + row] > largest) largest = logits[k * n + row];
    float total = 0.0f;
    for (int k = 0; k < width; ++k) {
        float e = expf(logits[k * n + row] - largest);
        probabilities[k * n + row] = e;
        total = total + e;
    }
    for (int k = 0; k < width; ++k)
        probabilities[k * n + row] /= total;
}

__global__ void statistics(const int* values, int* smallest, unsigned int* bits, float* spread, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows) {
        int low = values[r * cols], high = values[r * cols];
        unsigned int mask = 0u;
        for (int j = 1; j < cols; j++) {
            int v = values[r * cols + j];
            low = v < low ? v : low;
            high = max(v, high);
            mask ^= (unsigned int)v;
        }
        smallest[r] = low;
        bits[r] = mask;
        if (high > low) {
            float wide = (float)(high - low);
            spread[r] = wide;
        } else {
            spread[r] = 0.0f;
        }
    }
}

__global__ void batched(const float* A, const float* x, float* y, int B, int M, unsigned int N) {
    unsigned int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < M) {
        for (int b = 0; b < B; b++) {
            float s = 0.0f, p = 1.0f;
            for (unsigned int j = 1; j < N; j++) {
                s = fmaf(A[r * N + j], x[b * N + j], s);
                p *= 1.0f + 0.01f * x[b * N + j];
            }
            y[r] = (b == 0 ? 0.0f : y[r]) + s * p;
            for (unsigned int j = 2; j < N; j++) y[r] += x[b * N + j] * s;
        }
    }
}
