// 3x3 convolution over input channels, zero-padded input of (H + 2) x (W + 2).
__global__ void conv3(const float* x, const float* wt, float* y, int IC, int OC, int H, int W) {
    int w = blockIdx.x * blockDim.x + threadIdx.x;
    int h = blockIdx.y * blockDim.y + threadIdx.y;
    int oc = blockIdx.z * blockDim.z + threadIdx.z;
    if (w >= W || h >= H || oc >= OC) return;
    float acc = 0.0f;
    for (int ic = 0; ic < IC; ic++)
        for (int ky = 0; ky < 3; ky++)
            for (int kx = 0; kx < 3; kx++)
                acc += x[(ic * (H + 2) + h + ky) * (W + 2) + w + kx] * wt[((oc * IC + ic) * 3 + ky) * 3 + kx];
    y[(oc * H + h) * W + w] = acc;
}
