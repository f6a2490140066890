// Kernels as people write them: loops that start late and step wide, locals that change under a condition, blocks that
// share memory, wide and unsigned sizes, bounds of floating point.
__global__ void taps(const float* x, const float* w, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float s = 0.0f;
        for (int d = 1; d < 4; d++) s += x[i + d];
        for (int d = 2; d < 9; d += 3) s -= 0.5f * w[i + d];
        y[i] = s;
    }
}

__global__ void fading(const float* x, const float* tab, float* y, int n, int K, int flag) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float t = 1.0f, s = 0.0f;
        float pair[2];
        pair[0] = 1.0f;
        pair[1] = 0.5f;
        for (int j = 0; j < K; j++) {
            if (j % 2 == 0) {
                t = t * 0.5f;
                s += x[i * K + j] * t;
            }
        }
        for (int j = 0; j < 4; j++) {
            if (j != 2) {
                pair[0] = pair[0] + pair[1];
                s += x[i * K] * pair[0];
            }
        }
        for (int j = 0; j < K; j++) {
            float u = 2.0f;
            if (flag > 0) {
                u = u * 3.0f;
                s += x[i * K + j] * u;
            }
        }
        y[i] = s;
    }
}

__global__ void weights(const float* x, const float* tab, float* y, int n, int K) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int p = 0;
        float s = 0.0f;
        for (int j = 0; j < K; j++) {
            float w = 0.0f;
            w += tab[p++];
            s += x[i * K + j] * w;
        }
        y[i] = s;
    }
}

__global__ void flip(const float* x, float* y, int n) {
    __shared__ float s[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) s[i % 64] = x[i];
    __syncthreads();
    if (i < n) y[i] = s[63 - i % 64];
}

__global__ void turn(const float* x, float* y, int W, int H) {
    __shared__ float s[8][8];
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    s[r % 8][c % 8] = x[r * W + c];
    __syncthreads();
    y[r * W + c] = s[c % 8][r % 8];
}

__device__ float neighbour(const float* x, int i) { return x[i - threadIdx.x % 4]; }

__global__ void grouped(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = neighbour(x, i);
}

__global__ void quarter(const float* x, const int* len, float* C, int n, int m, int K) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        for (int j = 0; j < K; j++) {
            if (i % 4 == 0 && i / 4 < m) C[i / 4] += x[i * K + j];
        }
        for (int j = 0; j < len[i] - 250; j++) C[m + i] += 1.0f;
        for (int j = 0; j < K; j++) {
            for (int d = 0; d < len[i] - 200; d += 2) C[m + i] += x[i * K + j];
            for (int d = i % 3; d < K; d++) C[m + i] += 0.5f;
        }
    }
}

__global__ void typed(const float* x, float* y, unsigned int* z, unsigned int n, size_t ld, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    m = m / 2;
    if (i < 256) y[i] = (float)((i - n) >> 1);
    if (i < 256) z[i] = (unsigned int)((i * ld) >> 20);
    if (i < m) y[i] += x[i];
}

__global__ void fraction(const float* x, float* y, int n, int C, float part, float off) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < n) {
        float s = 0.0f;
        for (int j = 0; j < (int)(part * C); j++) s += x[r * C + j];
        y[r] = s + x[r + (int)off] - x[r + (int)off + 1];
    }
}

__global__ void wrapped(const float* x, float* y, int n, size_t N) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c < n && r < n) y[r * n + c] = c > 0 ? x[r * N + (c + 4294967295u) + 1] : 0.0f;
}

__global__ void truncated(const float* x, int* y, int n, int C) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < n) {
        int s = 100;
        for (int j = 0; j < C; j++) s += x[r * C + j] * 7.0f;
        y[r] = s;
    }
}

__global__ void shrinking(const int* x, float* y, int* len, int n, int C) {
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < n) {
        int m = C;
        float s = 0.0f;
        for (int j = 0; j < m; j++) {
            if (x[r * C + j] > 128) m--;
            s += x[r * C + j];
        }
        for (int j = 0; j < len[r]; j++) {
            if (x[r * C + j] > 128) len[r] = j;
            s += 1.0f;
        }
        int old = 1;
        for (int j = 0; j < C; j++) {
            if (x[r * C + j] > 250) break;
            old = old * 3 + j;
        }
        y[r] = s + old % 17;
    }
}

__global__ void tickets(const int* x, int* y, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int mine = atomicAdd(&count[0], 1);
        atomicMax(&count[1], mine);
        y[i] = x[i];
    }
}

__global__ void tiled(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float a[8][8];
    __shared__ float b[8][9];
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    float s = 0.0f;
    for (int t = 0; t < (K + 7) / 8; t++) {
        a[threadIdx.y][threadIdx.x] = r < M && t * 8 + threadIdx.x < K ? A[r * K + t * 8 + threadIdx.x] : 0.0f;
        b[threadIdx.y][threadIdx.x] = c < N && t * 8 + threadIdx.y < K ? B[(t * 8 + threadIdx.y) * N + c] : 0.0f;
        __syncthreads();
        for (int k = 0; k < 8; k++) s += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    if (r < M && c < N) C[r * N + c] = s;
}

__global__ void strided(const float* x, float* y, int* h, int n, int K) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= 1 && i < n - 1 && r < n) {
        float acc = 0.25f, top = -9.0f;
        unsigned int bits = 0u;
        for (int j = 1; j < K; j += 2) {
            float v = x[r * K + j];
            if (v > 0.5f) continue;
            acc += v * x[i * K + j];
            acc = acc * 0.5f;
        }
        for (unsigned int j = 2; j < K; j++) {
            if (x[i * K + j] > top) top = x[i * K + j];
            if (r % 3 == 0) bits ^= j * 2654435761u;
        }
        atomicAdd(&h[bits % 8u], 1);
        y[r * n + i] = acc + top + (float)(bits >> 20);
    }
}
