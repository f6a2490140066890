extern "C" __global__ void planes(const float* x, float* y, int n, int m, int p)
{
    const int i_block = (int)blockIdx.x * 64;
    const int i_thread = (int)threadIdx.x;
    const int i = i_block + i_thread;
    if (i < n) {
        for (int b = 0; b < p; b++) {
            for (int a = 0; a < m; a++) {
                y[b + (i * m + a) * p] = 2.0f * x[(i * p + b) * m + a];
            }
        }
    }
}

extern "C" __global__ void pooled(int width, float* out, int rows, const float* image)
{
    const int row_block = (int)blockIdx.x * 32;
    const int row_thread = (int)threadIdx.x;
    const int row = row_block + row_thread;
    if (row < rows) {
        float best = -1e30f;
        for (int down = 0; down < 3; down++) {
            for (int right = 0; right < width; right++) {
                best = fmaxf(best, image[(row + down) * (width + 4) + right]);
            }
        }
        out[row] = best;
    }
}

extern "C" __global__ void outer_products(const float* left, const float* right, float* acc, int n, int k)
{
    const int c_block = (int)blockIdx.x * 64;
    const int c_thread = (int)threadIdx.x;
    const int c = c_block + c_thread;
    if (c < n) {
        for (int r = 0; r < 8; r++) {
            for (int t = 0; t < k; t++) {
                acc[c + r * n] += left[r + t * 8] * right[c * k + t];
            }
        }
    }
}

extern "C" __global__ void totals(const float* x, float* y, int n, int m, int p)
{
    const int e_block = (int)blockIdx.x * 32;
    const int e_thread = (int)threadIdx.x;
    const int e = e_block + e_thread;
    if (e < n) {
        float sum = 0.0f;
        for (int v = 0; v < m; v++) {
            for (int u = 0; u < p; u++) {
                sum += x[e + (v * p + u) * n];
            }
        }
        y[e] = sum;
    }
}
