// kernel product: A:float32:in:m*k, B:float32:in:k*n, C:float32:out:m*n, m:int32=m, n:int32=n, k:int32=k
// domain n, m block 16,16 sizes m=67,n=36,k=37 | m=16,n=16,k=8 | m=32,n=48,k=3
// genes strip@p(factor=8), shared_tile@A(pad=1,transpose=1), shared_tile@B(pad=0,transpose=0,width=4), async_copy@p_outer(stages=3)
__global__ void product(const float* A, const float* B, float* C, int m, int n, int k) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < m && col < n) {
        float sum = 0.0f;
        for (int p = 0; p < k; p++) sum += A[row * k + p] * B[p * n + col];
        C[row * n + col] = sum;
    }
}

// kernel nearest: found:int32:out:n, count:int32=m, xs:float32:in:n, n:int32=n, centres:float32:in:m
// domain n block 64 sizes n=131,m=67 | n=64,m=16 | n=5,m=3
// genes strip@c(factor=16), shared_tile@centres(pad=0,transpose=0,width=4), async_copy@c_outer(stages=2)
__global__ void nearest(int* found, int count, const float* xs, int n, const float* centres) {
    const int i = threadIdx.x + blockDim.x * blockIdx.x;
    if (i >= n) return;
    float best = 3.0e38f;
    int which = 0;
    for (int c = 0; c < count; ++c) {
        float d = xs[i] - centres[c];
        if (d * d < best) {
            best = d * d;
            which = c;
        }
    }
    found[i] = which;
}

// kernel late_sum: y:float32:out:b*n, x:float32:in:b*(s+4)*n, b:int32=b, n:int32=n, s:int32=s
// domain n, b block 32,4 sizes b=6,n=68,s=21 | b=4,n=32,s=8 | b=1,n=4,s=1
// genes strip@t(factor=4), shared_tile@x(pad=0,transpose=0,width=2), async_copy@t_outer(stages=4)
__global__ void late_sum(float* y, const float* x, int b, int n, int s) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int k = blockIdx.y * blockDim.y + threadIdx.y;
    if (j < n && k < b) {
        float sum = 0.0f;
        for (int t = 2; t < s + 2; t++) sum += x[(k * (s + 4) + t) * n + j] - 0.5f * x[(k * (s + 4) + t + 2) * n + j];
        y[k * n + j] = sum;
    }
}

// kernel weighted: weight:float32:in:m, y:float32:out:n, x:float32:in:m*n, n:int32=n, m:int32=m
// domain n block 64 sizes n=131,m=67 | n=64,m=16 | n=5,m=3
// genes strip@t(factor=8), shared_tile@weight(pad=1,transpose=0,width=4), async_copy@t_outer(stages=2)
__global__ void weighted(const float* weight, float* y, const float* x, int n, int m) {
    int at = blockDim.x * blockIdx.x + threadIdx.x;
    if (at >= n) return;
    float total = 0.0f;
    for (int t = 0; t < m; t++) total += x[t * n + at] * weight[t];
    y[at] = total;
}
