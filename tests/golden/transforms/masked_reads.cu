// kernel smooth: x:float32:in:n, w:float32:in:5, y:float32:out:n, n:int32=n
// domain n block 64 sizes n=131 | n=3 | n=256
// genes masked_reads@x, coarsen_blocked@i(factor=4), register_tile@instances
__global__ void smooth(const float* x, const float* w, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float total = 0.0f;
    for (int k = 0; k < 5; k++) {
        int at = i + k - 2;
        if (at >= 0 && at < n) total += x[at] * w[k];
    }
    y[i] = total;
}

// kernel lower: rows:int32=r, out:float32:out:r, vector:float32:in:r, matrix:float32:in:r*r
// domain r block 32 sizes r=67 | r=3 | r=64
// genes masked_reads@matrix, coarsen_strided@row(factor=2), register_tile@instances, scalar_reads@vector
__global__ void lower(int rows, float* out, const float* vector, const float* matrix) {
    const int row = threadIdx.x + blockDim.x * blockIdx.x;
    if (row < rows) {
        float left = 1.0f;
        for (int j = 0; j < rows; ++j) {
            if (j <= row) left -= 0.5f * (vector[j] * matrix[j * rows + row]);
        }
        out[row] = left;
    }
}

// kernel counted: marks:int32:in:h*w, weights:int32:in:w, result:int32:out:h, w:int32=w, h:int32=h, limit:int32=100
// domain h block 32 sizes w=37,h=67 | w=1,h=3 | w=16,h=64
// genes masked_reads@weights, coarsen_blocked@q(factor=2), register_tile@instances
__global__ void counted(const int* marks, const int* weights, int* result, int w, int h, int limit) {
    int q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q < h) {
        int sum = 0;
        for (int c = 0; c < w; c++)
            if (marks[q * w + c] > limit) sum += weights[c] * marks[q * w + c];
        result[q] = sum;
    }
}
