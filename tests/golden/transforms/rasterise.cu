// kernel scaled: x:float32:in:w*h, y:float32:out:w*h, w:int32=w, h:int32=h
// domain w, h block 8,4 sizes w=67,h=37 | w=3,h=70 | w=129,h=5
// genes rasterise@blocks(group=4)
__global__ void scaled(const float* x, float* y, int w, int h) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (c < w && r < h) y[r * w + c] = 2.0f * x[r * w + c];
}

// kernel turned: depth:int32=d, out:float32:out:w*h*d, width:int32=w, in:float32:in:w*h*d, height:int32=h
// domain h, w, d block 4,4,2 sizes w=17,h=37,d=3 | w=1,h=129,d=1 | w=65,h=5,d=4
// genes axis_swap@column, coarsen_strided@column(factor=2), rasterise@blocks(group=2)
__global__ void turned(int depth, float* out, int width, const float* in, int height) {
    const int plane = threadIdx.z + blockDim.z * blockIdx.z;
    const int column = threadIdx.y + blockDim.y * blockIdx.y;
    const int row = threadIdx.x + blockDim.x * blockIdx.x;
    if (row >= height || column >= width || plane >= depth) return;
    out[(plane * width + column) * height + row] = in[(plane * height + row) * width + column];
}

// kernel staged: A:float32:in:M*K, B:float32:in:K*N, C:float32:out:M*N, M:int32=M, N:int32=N, K:int32=K
// domain N, M block 8,8 sizes M=67,N=93,K=41 | M=9,N=130,K=3 | M=64,N=128,K=32
// genes strip@k(factor=8), shared_tile@A(pad=0,transpose=0), grid_stride@c(blocks=1), rasterise@blocks(group=16)
__global__ void staged(const float* A, const float* B, float* C, int M, int N, int K) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    int r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < M && c < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; k++) sum += A[r * K + k] * B[k * N + c];
        C[r * N + c] = sum;
    }
}

// kernel by_hand: src:float32:in:W*H, dst:float32:out:W*H, W:int32=W, H:int32=H
// domain W, H block 8,8 sizes W=64,H=72 | W=8,H=8 | W=128,H=24
// genes rasterise@blocks(group=8)
__global__ void by_hand(const float* src, float* dst, int W, int H) {
    __shared__ float tile[8][9];
    const unsigned int left = blockIdx.x * 8, top = blockIdx.y * 8;
    tile[threadIdx.y][threadIdx.x] = src[(top + threadIdx.y) * W + left + threadIdx.x];
    __syncthreads();
    dst[(left + threadIdx.y) * H + top + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
