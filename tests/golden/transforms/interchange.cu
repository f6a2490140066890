// kernel planes: x:float32:in:n*m*p, y:float32:out:n*m*p, n:int32=n, m:int32=m, p:int32=p
// domain n block 64 sizes n=67,m=5,p=3 | n=3,m=1,p=70 | n=128,m=4,p=8
// genes interchange@a
__global__ void planes(const float* x, float* y, int n, int m, int p) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int a = 0; a < m; a++)
            for (int b = 0; b < p; b++) y[(i * m + a) * p + b] = 2.0f * x[(i * p + b) * m + a];
}

// kernel pooled: width:int32=w, out:float32:out:h, rows:int32=h, image:float32:in:(h+3)*(w+4)
// domain h block 32 sizes h=67,w=5 | h=3,w=129 | h=64,w=16
// genes interchange@right
__global__ void pooled(int width, float* out, int rows, const float* image) {
    const int row = threadIdx.x + blockDim.x * blockIdx.x;
    if (row >= rows) return;
    float best = -1e30f;
    for (int right = 0; right < width; ++right) {
        for (int down = 0; down < 3; ++down) best = fmaxf(best, image[(row + down) * (width + 4) + right]);
    }
    out[row] = best;
}

// kernel outer_products: left:float32:in:k*8, right:float32:in:n*k, acc:float32:inout:8*n, n:int32=n, k:int32=k
// domain n block 64 sizes n=131,k=7 | n=5,k=1 | n=64,k=16
// genes interchange@t
__global__ void outer_products(const float* left, const float* right, float* acc, int n, int k) {
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c < n) {
        for (int t = 0; t < k; t++) {
            for (int r = 0; r < 8; r++) {
                acc[r * n + c] += left[t * 8 + r] * right[c * k + t];
            }
        }
    }
}

// kernel totals: x:float32:in:m*p*n, y:float32:out:n, n:int32=n, m:int32=m, p:int32=p
// domain n block 32 sizes n=67,m=5,p=3 | n=3,m=1,p=70 | n=64,m=4,p=8
// genes interchange@u
__global__ void totals(const float* x, float* y, int n, int m, int p) {
    int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e < n) {
        float sum = 0.0f;
        for (int u = 0; u < p; u++)
            for (int v = 0; v < m; v++) sum += x[(v * p + u) * n + e];
        y[e] = sum;
    }
}
