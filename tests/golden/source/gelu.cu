// entry: gelu
// template: float
template <typename T>
__global__ void gelu(const T* x, T* y, size_t n) {
    size_t idx = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (idx < n) {
        T v = x[idx];
        auto u = T(0.7978845608) * (v + static_cast<T>(0.044715) * v * v * v);
        y[idx] = T(0.5) * v * (T(1) + tanhf(u));
    }
}
