extern "C" __global__ void dense(const float* x, const float* w, float* y, int n, int m, int k)
{
    const int i_block = (int)blockIdx.x * 64;
    const int i_thread = (int)threadIdx.x;
    const int i = i_block + i_thread;
    if (i < n) {
        for (int o_outer = 0; o_outer < m / 2 * 2; o_outer += 2) {
            float s[2];
            #pragma unroll
            for (int o_inner = 0; o_inner < 2; o_inner++) {
                s[o_inner] = 0.0f;
            }
            for (int t = 0; t < k; t++) {
                #pragma unroll
                for (int o_inner = 0; o_inner < 2; o_inner++) {
                    s[o_inner] += x[i * k + t] * w[t + (o_outer + o_inner) * k];
                }
            }
            #pragma unroll
            for (int o_inner = 0; o_inner < 2; o_inner++) {
                y[i * m + o_outer + o_inner] = s[o_inner];
            }
        }
        for (int o = m / 2 * 2; o < m; o++) {
            float s_rest = 0.0f;
            for (int t_rest = 0; t_rest < k; t_rest++) {
                s_rest += x[i * k + t_rest] * w[o * k + t_rest];
            }
            y[i * m + o] = s_rest;
        }
    }
}

extern "C" __global__ void smooth4(int rows, const float* image, int cols, float* out)
{
    const int col_block = (int)blockIdx.x * 32;
    const int col_thread = (int)threadIdx.x;
    const int col = col_block + col_thread;
    if (col < cols) {
        for (int down_outer = 0; down_outer < rows / 4 * 4; down_outer += 4) {
            float sum[4];
            #pragma unroll
            for (int down_inner = 0; down_inner < 4; down_inner++) {
                sum[down_inner] = image[col + (down_outer + down_inner) * cols];
            }
            float top[4];
            #pragma unroll
            for (int down_inner = 0; down_inner < 4; down_inner++) {
                top[down_inner] = sum[down_inner];
            }
            #pragma unroll
            for (int tap = 1; tap < 5; tap++) {
                float v[4];
                #pragma unroll
                for (int down_inner = 0; down_inner < 4; down_inner++) {
                    v[down_inner] = image[col + (down_outer + down_inner + tap) * cols];
                }
                #pragma unroll
                for (int down_inner = 0; down_inner < 4; down_inner++) {
                    sum[down_inner] += v[down_inner];
                }
                #pragma unroll
                for (int down_inner = 0; down_inner < 4; down_inner++) {
                    if (v[down_inner] > top[down_inner]) {
                        top[down_inner] = v[down_inner];
                    }
                }
            }
            #pragma unroll
            for (int down_inner = 0; down_inner < 4; down_inner++) {
                out[col + (down_outer + down_inner) * cols] = sum[down_inner] > 4.0f ? top[down_inner] : sum[down_inner];
            }
        }
        for (int down = rows / 4 * 4; down < rows; down++) {
            float sum_rest = image[col + down * cols];
            float top_rest = sum_rest;
            for (int tap_rest = 1; tap_rest < 5; tap_rest++) {
                const float v_rest = image[col + (down + tap_rest) * cols];
                sum_rest += v_rest;
                if (v_rest > top_rest) {
                    top_rest = v_rest;
                }
            }
            out[col + down * cols] = sum_rest > 4.0f ? top_rest : sum_rest;
        }
    }
}

extern "C" __global__ void update(const float* a, const float* b, float* acc, int n, int k)
{
    const int c_block = (int)blockIdx.x * 128;
    const int c_thread = (int)threadIdx.x;
    const int c_first = c_block + c_thread * 2;
    if (c_first + 1 < n) {
        for (int p_outer = 0; p_outer < 8; p_outer += 8) {
            float s[2][8];
            #pragma unroll
            for (int p_inner = 0; p_inner < 8; p_inner++) {
                #pragma unroll
                for (int c_inner = 0; c_inner < 2; c_inner++) {
                    s[c_inner][p_inner] = acc[p_outer + p_inner + (c_first + c_inner) * 12];
                }
            }
            for (int t = 0; t < k; t++) {
                float a_value[2];
                #pragma unroll
                for (int c_inner = 0; c_inner < 2; c_inner++) {
                    a_value[c_inner] = a[c_first + t * n + c_inner];
                }
                #pragma unroll
                for (int p_inner = 0; p_inner < 8; p_inner++) {
                    #pragma unroll
                    for (int c_inner = 0; c_inner < 2; c_inner++) {
                        s[c_inner][p_inner] += a_value[c_inner] * b[t + (p_outer + p_inner) * k];
                    }
                }
            }
            #pragma unroll
            for (int p_inner = 0; p_inner < 8; p_inner++) {
                #pragma unroll
                for (int c_inner = 0; c_inner < 2; c_inner++) {
                    acc[p_outer + p_inner + (c_first + c_inner) * 12] = s[c_inner][p_inner];
                }
            }
        }
        for (int p = 8; p < 12; p++) {
            float s_rest[2];
            #pragma unroll
            for (int c_inner = 0; c_inner < 2; c_inner++) {
                s_rest[c_inner] = acc[p + (c_first + c_inner) * 12];
            }
            for (int t_rest = 0; t_rest < k; t_rest++) {
                #pragma unroll
                for (int c_inner = 0; c_inner < 2; c_inner++) {
                    s_rest[c_inner] += a[c_first + t_rest * n + c_inner] * b[p * k + t_rest];
                }
            }
            #pragma unroll
            for (int c_inner = 0; c_inner < 2; c_inner++) {
                acc[p + (c_first + c_inner) * 12] = s_rest[c_inner];
            }
        }
    } else {
        #pragma unroll 1
        for (int c_inner = 0; c_inner < 2; c_inner++) {
            if (c_first + c_inner < n) {
                for (int p_outer = 0; p_outer < 8; p_outer += 8) {
                    float s[8];
                    #pragma unroll
                    for (int p_inner = 0; p_inner < 8; p_inner++) {
                        s[p_inner] = acc[(c_first + c_inner) * 12 + p_outer + p_inner];
                    }
                    for (int t = 0; t < k; t++) {
                        #pragma unroll
                        for (int p_inner = 0; p_inner < 8; p_inner++) {
                            s[p_inner] += a[c_first + c_inner + t * n] * b[t + (p_outer + p_inner) * k];
                        }
                    }
                    #pragma unroll
                    for (int p_inner = 0; p_inner < 8; p_inner++) {
                        acc[(c_first + c_inner) * 12 + p_outer + p_inner] = s[p_inner];
                    }
                }
                for (int p = 8; p < 12; p++) {
                    float s_rest = acc[(c_first + c_inner) * 12 + p];
                    for (int t_rest = 0; t_rest < k; t_rest++) {
                        s_rest += a[c_first + c_inner + t_rest * n] * b[p * k + t_rest];
                    }
                    acc[(c_first + c_inner) * 12 + p] = s_rest;
                }
            }
        }
    }
}
