extern "C" __global__ void lengths(const float* x, const float* y, const float* z, float* r, int n, float soft)
{
    const int i_block = (int)blockIdx.x * 64;
    const int i_thread = (int)threadIdx.x;
    const int i = i_block + i_thread;
    if (i < n) {
        r[i] = sqrtf(soft + x[i] * x[i] + y[i] * y[i] + z[i] * z[i]);
    }
}

extern "C" __global__ void blended(float* out, int h, int w, const float* p, float a)
{
    const int u_block = (int)blockIdx.x * 32;
    const int u_thread = (int)threadIdx.x;
    const int v_block = (int)blockIdx.y * 4;
    const int v_thread = (int)threadIdx.y;
    const int u_first = u_block + u_thread * 2;
    const int v = v_block + v_thread;
    if (u_first + 1 < w && v < h) {
        #pragma unroll
        for (int u_inner = 0; u_inner < 2; u_inner++) {
            out[v * w + u_first + u_inner] = p[v * w + (u_first + u_inner > 0 ? u_first + u_inner - 1 : 0)] - 1.0f + a * p[v * w + u_first + u_inner] - p[v * w + (u_first + u_inner > 0 ? u_first + u_inner - 1 : 0)] * 0.5f;
        }
    } else {
        #pragma unroll 1
        for (int u_inner = 0; u_inner < 2; u_inner++) {
            if (u_first + u_inner < w && v < h) {
                out[v * w + u_first + u_inner] = p[v * w + (u_first + u_inner > 0 ? u_first + u_inner - 1 : 0)] - 1.0f + a * p[v * w + u_first + u_inner] - p[v * w + (u_first + u_inner > 0 ? u_first + u_inner - 1 : 0)] * 0.5f;
            }
        }
    }
}

extern "C" __global__ void summed(int m, int n, float* total, const float* rows, const float* q)
{
    const int r_block = (int)blockIdx.x * 32;
    const int r_thread = (int)threadIdx.x;
    const int r = r_block + r_thread;
    if (r < n) {
        float t = 1.0f;
        for (int k_outer = 0; k_outer < m / 4 * 4; k_outer += 4) {
            #pragma unroll
            for (int k_inner = 0; k_inner < 4; k_inner++) {
                t = t + q[k_outer + k_inner] * q[k_outer + k_inner] + rows[r * m + k_outer + k_inner] * q[k_outer + k_inner];
            }
        }
        for (int k = m / 4 * 4; k < m; k++) {
            t = t + q[k] * q[k] + rows[r * m + k] * q[k];
        }
        total[r] = t;
    }
}
