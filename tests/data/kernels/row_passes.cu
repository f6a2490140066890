// Two passes that one can do: a logarithm of summed powers along columns, and the variance of every channel of an image.
__global__ void log_sum(float* out, const float* scores, const float* weight, int width, int n) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= n) return;
    float m = -3.0e38f, total = 0.0f;
    for (int k = 0; k < width; ++k)
        if (scores[k * n + column] > m) m = scores[k * n + column];
    for (int k = 0; k < width; ++k) {
        float e = exp2f(scores[k * n + column] - m);
        total = total + weight[k] * e / 2.0f;
    }
    out[column] = m + log2f(total);
}

__global__ void channels(const float* image, int pixels, int count, float* spread, float* middle) {
    int c = threadIdx.x + blockIdx.x * blockDim.x;
    if (c < count) {
        float all = 0.0f, far = 0.0f;
        for (int p = 0; p < pixels; p++) all += image[c * pixels + p];
        middle[c] = all / pixels;
        float centre = all / pixels;
        for (int p = 0; p < pixels; p++)
            far = fmaf(image[c * pixels + p] - centre, image[c * pixels + p] - centre, far);
        spread[c] = sqrtf(far / pixels);
    }
}
