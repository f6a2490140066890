extern "C" __global__ void layers(const float* image, const float* taps, float* out, int L, int H, int W)
{
    __shared__ __align__(16) float image_tile[4][6][20];
    const int x_block = (int)blockIdx.x * 16;
    const int x_thread = (int)threadIdx.x;
    const int y_block = (int)blockIdx.y * 4;
    const int y_thread = (int)threadIdx.y;
    const int thread_id = x_thread + y_thread * 8;
    const int x_first = x_block + x_thread * 2;
    const int y = y_block + y_thread;
    if (x_block + 15 < W && y_block + 3 < H) {
        float sum[2];
        #pragma unroll
        for (int x_inner = 0; x_inner < 2; x_inner++) {
            sum[x_inner] = 0.0f;
        }
        for (int l_outer = 0; l_outer < L / 4 * 4; l_outer += 4) {
            #pragma unroll
            for (int image_round = 0; image_round < 14; image_round++) {
                const int image_element = thread_id + image_round * 32;
                if (image_element < 432) {
                    image_tile[image_element / 108][image_element / 18 % 6][image_element % 18] = image_element % 18 + x_block - 1 >= 0 && image_element % 18 + x_block - 1 < W && image_element / 18 % 6 + y_block - 1 >= 0 && image_element / 18 % 6 + y_block - 1 < H ? image[W * y_block + x_block - W + H * W * l_outer + image_element / 108 * H * W + image_element / 18 % 6 * W + image_element % 18 - 1] : 0.0f;
                }
            }
            __syncthreads();
            #pragma unroll
            for (int l_inner = 0; l_inner < 4; l_inner++) {
                for (int dy = 0; dy < 3; dy++) {
                    for (int dx = 0; dx < 3; dx++) {
                        #pragma unroll
                        for (int x_inner = 0; x_inner < 2; x_inner++) {
                            sum[x_inner] += image_tile[l_inner][y_thread + dy][x_thread * 2 + dx + x_inner] * taps[(l_outer + l_inner) * 9 + dy * 3 + dx];
                        }
                    }
                }
            }
            __syncthreads();
        }
        for (int l = L / 4 * 4; l < L; l++) {
            for (int dy_rest = 0; dy_rest < 3; dy_rest++) {
                for (int dx_rest = 0; dx_rest < 3; dx_rest++) {
                    #pragma unroll
                    for (int x_inner_rest = 0; x_inner_rest < 2; x_inner_rest++) {
                        sum[x_inner_rest] += (x_first + x_inner_rest + dx_rest - 1 >= 0 && x_first + x_inner_rest + dx_rest - 1 < W && y + dy_rest - 1 >= 0 && y + dy_rest - 1 < H ? image[x_first + (l * H + (y + dy_rest - 1)) * W + dx_rest + x_inner_rest - 1] : 0.0f) * taps[l * 9 + dy_rest * 3 + dx_rest];
                    }
                }
            }
        }
        #pragma unroll
        for (int x_inner = 0; x_inner < 2; x_inner++) {
            out[y * W + x_first + x_inner] = sum[x_inner];
        }
    } else {
        #pragma unroll 1
        for (int x_inner = 0; x_inner < 2; x_inner++) {
            if (x_first + x_inner < W && y < H) {
                float sum = 0.0f;
                for (int l = 0; l < L; l++) {
                    for (int dy = 0; dy < 3; dy++) {
                        for (int dx = 0; dx < 3; dx++) {
                            sum += (x_first + x_inner + dx - 1 >= 0 && x_first + x_inner + dx - 1 < W && y + dy - 1 >= 0 && y + dy - 1 < H ? image[x_first + x_inner + (l * H + (y + dy - 1)) * W + dx - 1] : 0.0f) * taps[l * 9 + dy * 3 + dx];
                        }
                    }
                }
                out[y * W + x_first + x_inner] = sum;
            }
        }
    }
}

extern "C" __global__ void filtered(int n, float* response, const float* signal, const float* impulse)
{
    __shared__ __align__(16) float signal_tile[70];
    const int t_block = (int)blockIdx.x * 64;
    const int t_thread = (int)threadIdx.x;
    const int thread_id = t_thread;
    const int t_first = t_block + t_thread;
    if (t_block + 63 < n) {
        #pragma unroll
        for (int signal_round = 0; signal_round < 3; signal_round++) {
            const int signal_element = thread_id + signal_round * 32;
            if (signal_element < 70) {
                signal_tile[signal_element] = signal_element + t_block >= 3 && signal_element + t_block < n + 3 ? signal[t_block + signal_element - 3] : 0.0f;
            }
        }
        __syncthreads();
        float acc[2];
        #pragma unroll
        for (int t_outer = 0; t_outer < 2; t_outer++) {
            acc[t_outer] = 0.0f;
        }
        for (int back = 0; back < 7; back++) {
            #pragma unroll
            for (int t_outer = 0; t_outer < 2; t_outer++) {
                acc[t_outer] += impulse[back] * signal_tile[t_thread + back + t_outer * 32];
            }
        }
        #pragma unroll
        for (int t_outer = 0; t_outer < 2; t_outer++) {
            response[t_first + t_outer * 32] = acc[t_outer];
        }
    } else {
        #pragma unroll 1
        for (int t_outer = 0; t_outer < 2; t_outer++) {
            if (t_first + t_outer * 32 < n) {
                float acc = 0.0f;
                for (int back = 0; back < 7; back++) {
                    acc += impulse[back] * (t_first + t_outer * 32 + back >= 3 && t_first + t_outer * 32 + back < n + 3 ? signal[t_first + t_outer * 32 + back - 3] : 0.0f);
                }
                response[t_first + t_outer * 32] = acc;
            }
        }
    }
}

extern "C" __global__ void upright(const float* field, float* sum, int B, int A)
{
    __shared__ __align__(16) float field_tile[8][21];
    const int b_block = (int)blockIdx.x * 8;
    const int b_thread = (int)threadIdx.x;
    const int a_block = (int)blockIdx.y * 16;
    const int a_thread = (int)threadIdx.y;
    const int thread_id = a_thread * 8 + b_thread;
    const int b = b_block + b_thread;
    const int a_first = a_block + a_thread * 2;
    if (b_block + 7 < B && a_block + 15 < A) {
        #pragma unroll
        for (int field_round = 0; field_round < 3; field_round++) {
            const int field_element = thread_id + field_round * 64;
            if (field_element < 160) {
                field_tile[field_element / 20][field_element % 20] = field_element % 20 + a_block < A ? field[A * b_block + a_block + A * (field_element / 20) + field_element % 20] : 0.0f;
            }
        }
        __syncthreads();
        float s[2];
        #pragma unroll
        for (int a_inner = 0; a_inner < 2; a_inner++) {
            s[a_inner] = 0.0f;
        }
        for (int j = 0; j < 5; j++) {
            #pragma unroll
            for (int a_inner = 0; a_inner < 2; a_inner++) {
                s[a_inner] += 0.25f * field_tile[b_thread][a_thread * 2 + j + a_inner];
            }
        }
        #pragma unroll
        for (int a_inner = 0; a_inner < 2; a_inner++) {
            sum[b * A + a_first + a_inner] = s[a_inner];
        }
    } else {
        #pragma unroll 1
        for (int a_inner = 0; a_inner < 2; a_inner++) {
            if (b < B && a_first + a_inner < A) {
                float s = 0.0f;
                for (int j = 0; j < 5; j++) {
                    s += 0.25f * (a_first + a_inner + j < A ? field[b * A + a_first + a_inner + j] : 0.0f);
                }
                sum[b * A + a_first + a_inner] = s;
            }
        }
    }
}

extern "C" __global__ void strided(const float* a, const float* w, float* y, int C, int H, int W)
{
    __shared__ __align__(16) float a_tile[2][9][34];
    const int x_block = (int)blockIdx.x * 16;
    const int x_thread = (int)threadIdx.x;
    const int v_block = (int)blockIdx.y * 4;
    const int v_thread = (int)threadIdx.y;
    const int thread_id = v_thread * 8 + x_thread;
    const int x_first = x_block + x_thread * 2;
    const int v = v_block + v_thread;
    if (x_block + 15 < W / 2 && v_block + 3 < H / 2) {
        float s[2];
        #pragma unroll
        for (int x_inner = 0; x_inner < 2; x_inner++) {
            s[x_inner] = 0.0f;
        }
        for (int c_outer = 0; c_outer < C / 2 * 2; c_outer += 2) {
            for (int a_round = 0; a_round < 19; a_round++) {
                const int a_element = thread_id + a_round * 32;
                if (a_element < 594) {
                    a_tile[a_element / 297][a_element / 33 % 9][a_element % 33] = a_element / 33 % 9 + v_block * 2 - 1 >= 0 && a_element / 33 % 9 + v_block * 2 - 1 < H && a_element % 33 + x_block * 2 - 1 >= 0 && a_element % 33 + x_block * 2 - 1 < W ? a[W * v_block * 2 + x_block * 2 - W + H * W * c_outer + a_element / 297 * H * W + a_element / 33 % 9 * W + a_element % 33 - 1] : 0.0f;
                }
            }
            __syncthreads();
            #pragma unroll
            for (int c_inner = 0; c_inner < 2; c_inner++) {
                for (int i = 0; i < 3; i++) {
                    for (int j = 0; j < 3; j++) {
                        #pragma unroll
                        for (int x_inner = 0; x_inner < 2; x_inner++) {
                            s[x_inner] += w[(c_outer + c_inner) * 9 + i * 3 + j] * a_tile[c_inner][v_thread * 2 + i][x_thread * 4 + j + x_inner * 2];
                        }
                    }
                }
            }
            __syncthreads();
        }
        for (int c = C / 2 * 2; c < C; c++) {
            for (int i_rest = 0; i_rest < 3; i_rest++) {
                for (int j_rest = 0; j_rest < 3; j_rest++) {
                    #pragma unroll
                    for (int x_inner_rest = 0; x_inner_rest < 2; x_inner_rest++) {
                        s[x_inner_rest] += w[c * 9 + i_rest * 3 + j_rest] * (2 * v + i_rest - 1 >= 0 && 2 * v + i_rest - 1 < H && 2 * (x_first + x_inner_rest) + j_rest - 1 >= 0 && 2 * (x_first + x_inner_rest) + j_rest - 1 < W ? a[(c * H + (2 * v + i_rest - 1)) * W + j_rest + 2 * (x_first + x_inner_rest) - 1] : 0.0f);
                    }
                }
            }
        }
        #pragma unroll
        for (int x_inner = 0; x_inner < 2; x_inner++) {
            y[v * (W / 2) + x_first + x_inner] = s[x_inner];
        }
    } else {
        #pragma unroll 1
        for (int x_inner = 0; x_inner < 2; x_inner++) {
            if (x_first + x_inner < W / 2 && v < H / 2) {
                float s = 0.0f;
                for (int c = 0; c < C; c++) {
                    for (int i = 0; i < 3; i++) {
                        for (int j = 0; j < 3; j++) {
                            s += w[c * 9 + i * 3 + j] * (2 * v + i - 1 >= 0 && 2 * v + i - 1 < H && 2 * (x_first + x_inner) + j - 1 >= 0 && 2 * (x_first + x_inner) + j - 1 < W ? a[2 * (x_first + x_inner) + (c * H + (2 * v + i - 1)) * W + j - 1] : 0.0f);
                        }
                    }
                }
                y[v * (W / 2) + x_first + x_inner] = s;
            }
        }
    }
}

extern "C" __global__ void dilated(const float* a, const float* w, float* y, int C, int H, int W)
{
    __shared__ __align__(16) float a_tile[8][20][4];
    const int x_block = (int)blockIdx.x * 16;
    const int x_thread = (int)threadIdx.x;
    const int v_block = (int)blockIdx.y * 4;
    const int v_thread = (int)threadIdx.y;
    const int thread_id = v_thread * 8 + x_thread;
    const int x_first = x_block + x_thread;
    const int v = v_block + v_thread;
    if (x_block + 15 < W && v_block + 3 < H) {
        float s[2];
        #pragma unroll
        for (int x_outer = 0; x_outer < 2; x_outer++) {
            s[x_outer] = 0.0f;
        }
        for (int c_outer = 0; c_outer < C / 4 * 4; c_outer += 4) {
            for (int a_round = 0; a_round < 20; a_round++) {
                const int a_row = thread_id / 4 + a_round * 8;
                a_tile[a_row / 20][a_row % 20][thread_id % 4] = a_row / 20 + v_block - 2 >= 0 && a_row / 20 + v_block - 2 < H && a_row % 20 + x_block - 2 >= 0 && a_row % 20 + x_block - 2 < W ? a[C * W * v_block + C * x_block + thread_id % 4 - C * W * 2 - C * 2 + c_outer + a_row / 20 * C * W + a_row % 20 * C] : 0.0f;
            }
            __syncthreads();
            #pragma unroll
            for (int c_inner = 0; c_inner < 4; c_inner++) {
                for (int j = 0; j < 3; j++) {
                    for (int i = 0; i < 3; i++) {
                        #pragma unroll
                        for (int x_outer = 0; x_outer < 2; x_outer++) {
                            s[x_outer] += a_tile[v_thread + i * 2][x_thread + j * 2 + x_outer * 8][c_inner] * w[c_outer + c_inner + (i * 3 + j) * C];
                        }
                    }
                }
            }
            __syncthreads();
        }
        for (int c = C / 4 * 4; c < C; c++) {
            for (int j_rest = 0; j_rest < 3; j_rest++) {
                for (int i_rest = 0; i_rest < 3; i_rest++) {
                    #pragma unroll
                    for (int x_outer_rest = 0; x_outer_rest < 2; x_outer_rest++) {
                        s[x_outer_rest] += (v + 2 * i_rest - 2 >= 0 && v + 2 * i_rest - 2 < H && x_first + x_outer_rest * 8 + 2 * j_rest - 2 >= 0 && x_first + x_outer_rest * 8 + 2 * j_rest - 2 < W ? a[c + ((v + 2 * i_rest - 2) * W + (x_first + x_outer_rest * 8) + 2 * j_rest - 2) * C] : 0.0f) * w[c + (i_rest * 3 + j_rest) * C];
                    }
                }
            }
        }
        #pragma unroll
        for (int x_outer = 0; x_outer < 2; x_outer++) {
            y[v * W + x_first + x_outer * 8] = s[x_outer];
        }
    } else {
        #pragma unroll 1
        for (int x_outer = 0; x_outer < 2; x_outer++) {
            if (x_first + x_outer * 8 < W && v < H) {
                float s = 0.0f;
                for (int c = 0; c < C; c++) {
                    for (int j = 0; j < 3; j++) {
                        for (int i = 0; i < 3; i++) {
                            s += (v + 2 * i - 2 >= 0 && v + 2 * i - 2 < H && x_first + x_outer * 8 + 2 * j - 2 >= 0 && x_first + x_outer * 8 + 2 * j - 2 < W ? a[c + ((v + 2 * i - 2) * W + (x_first + x_outer * 8) + 2 * j - 2) * C] : 0.0f) * w[c + (i * 3 + j) * C];
                        }
                    }
                }
                y[v * W + x_first + x_outer * 8] = s;
            }
        }
    }
}
