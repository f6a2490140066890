// Few results of long loops: what a second launch can put together from parts.
__global__ void farthest(unsigned int count, const float* from, float* distance, const float* to, int points, float least) {
    int p = blockDim.x * blockIdx.x + threadIdx.x;
    if (p >= points) return;
    float most = least;
    for (unsigned int q = 0; q < count; ++q) {
        float apart = fabsf(from[p * count + q] - to[q]);
        most = apart > most ? apart : most;
    }
    distance[p] = most > 1.0f ? sqrtf(most) : most;
}

__global__ void moments(const int* values, int first, int last, int columns, long long* total) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < columns) {
        long long sum = total[c];
        for (int row = first; row < last; row++) sum = sum + (long long)values[row * columns + c] * row;
        total[c] = sum;
    }
}

__global__ void pulls(const float* where, const float* weight, float* sums, int* near, float* scaled, int n, int m) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float here = where[i], least = 0.25f, force = sums[i], mass = 1.0f, factor = 0.5f * force;
    for (int j = 0; j < m; j++) {
        float apart = where[j] - here;
        force += factor * apart * weight[j];
        mass += weight[j];
        least = fminf(least, apart * apart);
    }
    sums[i] = force;
    scaled[i] = least + mass * factor;
    near[i] = i;
}
