// Loops that nothing counts: they end by a condition, by break, or with the kernel.

__global__ void bisect(const int* knots, const int* keys, int* found, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m) return;
    int low = 0, high = n, at = -1;
    while (low < high) {
        int middle = low + (high - low) / 2;
        int knot = knots[middle];
        if (knot == keys[i]) {
            at = middle;
            break;
        }
        if (knot < keys[i])
            low = middle + 1;
        else
            high = middle;
    }
    found[i] = at;
}

__global__ void newton(const float* x, float* root, int* steps, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = fabsf(x[i]) + 0.25f, r = v;
        int count = 0;
        do {
            r = 0.5f * (r + v / r);
            if (++count == 40) break;
        } while (fabsf(r * r - v) > 1e-5f * v);
        root[i] = r;
        steps[i] = count < 40 ? 1 : 0;
    }
}

// Sums a sparse row up to its first large entry; small ones do not count, and a very large one makes the row zero.
__global__ void sparse_row(const int* start, const int* column, const float* value, const float* x, float* y, int rows) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float s = 0.0f;
    for (int k = start[r]; k < start[r + 1]; k++) {
        float v = value[k];
        if (v < -0.9f) continue;
        if (v > 0.99f) {
            y[r] = 0.0f;
            return;
        }
        if (v > 0.95f) break;
        s += v * x[column[k]];
    }
    y[r] = s;
}

__global__ void mandelbrot(int* turns, int width, int height, int limit) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c < width && r < height) {
        float a = -2.0f + 3.0f * c / width, b = -1.0f + 2.0f * r / height;
        float x = 0.0f, y = 0.0f;
        int turn = 0;
        while (turn < limit && x * x + y * y < 4.0f) {
            float next = x * x - y * y + a;
            y = 2.0f * x * y + b;
            x = next;
            turn++;
        }
        turns[r * width + c] = turn;
    }
}

// Counted loops around and inside of one that is not.
__global__ void halving(const float* x, const int* most, float* y, int rows, int cols) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    float s = 0.0f;
    for (int j = 0; j < cols; j++) {
        float v = fabsf(x[r * cols + j]);
        int count = 0;
        while (v > 0.1f) {
            for (int q = 0; q < 4; q++) s += x[r * cols + q % cols] * v;
            v *= 0.5f;
            if (++count > most[j] % 3) break;
        }
        s += v;
    }
    y[r] = s;
}
