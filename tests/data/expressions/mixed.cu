// Expressions beyond plain arithmetic: pointers that change type or move, values of atomics, calls with addresses.

__global__ void lanes(const float* x, float* y, int* bits, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 4) {
        float4 v = ((const float4*)x)[i];
        const float4* again = reinterpret_cast<const float4*>(x) + i;
        v.x += again->w;
        v.w = 2.0f * v.y;
        *(float4*)&y[4 * i] = v;
    }
    if (i < n) bits[i] = *(const int*)&x[i] & 0x7f800000;
}

__global__ void slots(const float* x, int* kept, int* count, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (x[i] > 0.0f) {
        int at = atomicAdd(&count[0], 1);
        kept[at] = i;
        if (atomicCAS(&count[1], 0, i + 1) == 0) atomicMax(&count[2], 7);
    }
}

__device__ float parts(float value, float* whole, const float* steps, int n) {
    int k = (int)(fabsf(value) * 8.0f) % n;
    *whole = (float)(k + ((const unsigned char*)steps)[4 * k + 3]);
    return value - steps[k];
}

__global__ void split(const float* x, const float* steps, float* y, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float whole = 0.0f;
        float rest = parts(x[i], &whole, steps, m);
        for (int j = 0; j < 3; j++) {
            float before = whole;
            rest += parts(before + rest, &y[3 * i + j], steps, m);
            y[3 * i + j] += parts(rest, &whole, steps + j % m, m - j % m);
        }
        y[3 * i] += whole;
    }
}

__global__ void walks(const float* x, float* y, int* turns, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float* row = x + i * m;
    float sum = 0.0f, last;
    int left = m, rounds = 0;
    while (left-- > 0) {
        sum += *row++;
        rounds++;
    }
    for (const float* p = x; p < x + m; p += 2) sum += *p;
    int q = (left = 5 * i + m) % 3;
    turns[i] = turns[n + i] = rounds + q;
    if (i & 1) y += n;
    y[i] = last = sum + (float)left;
    y[0 + i] = last;
}
