// kernel product: A:float32:in:m*k, B:float32:in:k*n, C:float32:out:m*n, m:int32=m, n:int32=n, k:int32=k
// domain n, m block 16,16 sizes m=67,n=35,k=37 | m=16,n=16,k=8 | m=32,n=33,k=3
// genes strip@p(factor=8), shared_tile@A(pad=4,transpose=1,width=4), vectorise@A(width=4)
__global__ void product(const float* A, const float* B, float* C, int m, int n, int k) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < m && col < n) {
        float sum = 0.0f;
        for (int p = 0; p < k; p++) sum += A[row * k + p] * B[p * n + col];
        C[row * n + col] = sum;
    }
}

// kernel product_tn: depth:int32=k, cols:int32=n, rows:int32=m, out:float32:out:m*n, right:float32:in:k*n, left:float32:in:k*m
// domain n, m block 8,8 sizes m=67,n=35,k=37 | m=16,n=16,k=8 | m=32,n=33,k=3
// genes coarsen_blocked@i(factor=4), register_tile@instances, strip@t(factor=4), shared_tile@left(pad=0,transpose=0,width=4), vectorise@left(width=4), vectorise@left_tile(width=4)
__global__ void product_tn(int depth, int cols, int rows, float* out, const float* right, const float* left) {
    const int j = threadIdx.x + blockDim.x * blockIdx.x;
    const int i = threadIdx.y + blockDim.y * blockIdx.y;
    if (i >= rows || j >= cols) return;
    float acc = 0.0f;
    for (int t = 0; t < depth; ++t) acc += right[t * cols + j] * left[t * rows + i];
    out[i * cols + j] = acc;
}

// kernel smooth: x:float32:in:n+4, y:float32:out:n, n:int32=n
// domain n block 64 sizes n=131 | n=64 | n=5
// genes shared_tile@x(pad=0,transpose=0,width=2), vectorise@x(width=2), vectorise@x_tile(width=2)
__global__ void smooth(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + x[i + 1] - x[i + 3] * x[i + 4];
}
