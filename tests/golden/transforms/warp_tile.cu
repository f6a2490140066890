// kernel product: A:float32:in:m*k, B:float32:in:k*n, C:float32:out:m*n, m:int32=m, n:int32=n, k:int32=k
// domain n, m block 16,8 sizes m=67,n=35,k=5 | m=8,n=16,k=1 | m=3,n=2,k=9
// genes warp_tile@warp(width=8)
__global__ void product(const float* A, const float* B, float* C, int m, int n, int k) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < m && col < n) {
        float sum = 0.0f;
        for (int p = 0; p < k; p++) sum += A[row * k + p] * B[p * n + col];
        C[row * n + col] = sum;
    }
}

// kernel turned: cols:int32=w, rows:int32=h, to:float32:out:w*h, from:float32:in:w*h
// domain h, w block 32,4 sizes w=67,h=35 | w=4,h=32 | w=3,h=2
// genes warp_tile@warp(width=16), coarsen_blocked@y(factor=2), register_tile@instances
__global__ void turned(int cols, int rows, float* to, const float* from) {
    const int y = threadIdx.x + blockDim.x * blockIdx.x;
    const int x = threadIdx.y + blockDim.y * blockIdx.y;
    if (x >= cols || y >= rows) return;
    to[x * rows + y] = from[y * cols + x];
}

// kernel boxes: v:float32:in:d*h*w, u:float32:out:d*h*w, d:int32=d, h:int32=h, w:int32=w
// domain w, h, d block 8,8,2 sizes d=5,h=13,w=19 | d=2,h=8,w=8 | d=1,h=1,w=3
// genes warp_tile@warp(width=4), shared_tile@v(pad=1,transpose=0)
__global__ void boxes(const float* v, float* u, int d, int h, int w) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1 || z >= d) return;
    int at = (z * h + y) * w + x;
    u[at] = v[at - 1] + v[at + 1] + v[at - w] + v[at + w] - 4.0f * v[at];
}
