// The smallest value of a row, and its values scaled by the root of their mean square. Passes in the order of use.
__global__ void norms(int count, unsigned int length, float* low, float* out, const float* values) {
    for (int who = blockIdx.x * blockDim.x + threadIdx.x; who < count; who += blockDim.x * gridDim.x) {
        const float* mine = values + who * length;
        float least = mine[0];
        for (unsigned int i = 1; i < length; i++) {
            float v = mine[i];
            if (v < least) least = v;
        }
        float squares = 0.0f;
        for (unsigned int k = 0; k < length; k++) squares = fmaf(mine[k], mine[k], squares);
        low[who] = least;
        float scale = rsqrtf(squares / length);
        for (unsigned int m = 0; m < length; m++) out[who * length + m] = values[m + length * who] * scale;
    }
}
