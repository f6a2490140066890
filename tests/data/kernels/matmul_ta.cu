// C = A^T * B with other names, argument order and loop order; no accumulator in a register.
__global__ void gemm_tn(float* out, int rows, int cols, int depth, const float* right, const float* left_t) {
    const int j = threadIdx.x + blockDim.x * blockIdx.x;
    const int i = threadIdx.y + blockDim.y * blockIdx.y;
    if (i >= rows || j >= cols) return;
    out[i * cols + j] = 0.0f;
    for (int p = 0; p < depth; ++p) {
        out[i * cols + j] += left_t[p * rows + i] * right[p * cols + j];
    }
}
