extern "C" __global__ void across(const float* x, const float* w, float* y, int n, int m)
{
    const int c_block = (int)blockIdx.x * 64;
    const int c_thread = (int)threadIdx.x;
    const int r_block = (int)blockIdx.y * 4;
    const int r_thread = (int)threadIdx.y;
    const int c_first = c_block + c_thread * 4;
    const int r = r_block + r_thread;
    if (c_first >= 1 && c_first + 3 < m - 1 && r < n) {
        float s[4];
        #pragma unroll
        for (int c_inner = 0; c_inner < 4; c_inner++) {
            s[c_inner] = 0.0f;
        }
        float x_window[6];
        #pragma unroll
        for (int x_at = 0; x_at < 6; x_at++) {
            x_window[x_at] = x[r * m + c_first + x_at - 1];
        }
        #pragma unroll
        for (int k = 0; k < 3; k++) {
            float w_value;
            w_value = w[k];
            #pragma unroll
            for (int c_inner = 0; c_inner < 4; c_inner++) {
                s[c_inner] += x_window[k + c_inner] * w_value;
            }
        }
        #pragma unroll
        for (int c_inner = 0; c_inner < 4; c_inner++) {
            y[r * m + c_first + c_inner] = s[c_inner];
        }
    } else {
        #pragma unroll 1
        for (int c_inner = 0; c_inner < 4; c_inner++) {
            if (c_first + c_inner >= 1 && c_first + c_inner < m - 1 && r < n) {
                float s = 0.0f;
                for (int k = 0; k < 3; k++) {
                    s += x[r * m + c_first + c_inner + k - 1] * w[k];
                }
                y[r * m + c_first + c_inner] = s;
            }
        }
    }
}

extern "C" __global__ void star(float* out, int H, int W, const float* f)
{
    const int col_block = (int)blockIdx.x * 32;
    const int col_thread = (int)threadIdx.x;
    const int row_block = (int)blockIdx.y * 8;
    const int row_thread = (int)threadIdx.y;
    const int col = col_block + col_thread;
    const int row_first = row_block + row_thread * 4;
    if (col >= 1 && col < W - 1 && row_first >= 1 && row_first + 3 < H - 1) {
        float f_window[4];
        #pragma unroll
        for (int f_at = 0; f_at < 4; f_at++) {
            f_window[f_at] = f[row_first * W + col + W * f_at - 1];
        }
        float f_window_2[4];
        #pragma unroll
        for (int f_at_2 = 0; f_at_2 < 4; f_at_2++) {
            f_window_2[f_at_2] = f[row_first * W + col + W * f_at_2 + 1];
        }
        float f_window_3[6];
        #pragma unroll
        for (int f_at_3 = 0; f_at_3 < 6; f_at_3++) {
            f_window_3[f_at_3] = f[row_first * W + col - W + W * f_at_3];
        }
        #pragma unroll
        for (int row_inner = 0; row_inner < 4; row_inner++) {
            out[col + (row_first + row_inner) * W] = f_window[row_inner] + f_window_2[row_inner] - 4.0f * f_window_3[row_inner + 1] + f_window_3[row_inner] + f_window_3[row_inner + 2];
        }
    } else {
        #pragma unroll 1
        for (int row_inner = 0; row_inner < 4; row_inner++) {
            if (col >= 1 && col < W - 1 && row_first + row_inner >= 1 && row_first + row_inner < H - 1) {
                out[col + (row_first + row_inner) * W] = f[col + (row_first + row_inner) * W - 1] + f[col + (row_first + row_inner) * W + 1] - 4.0f * f[col + (row_first + row_inner) * W] + f[col + (row_first + row_inner - 1) * W] + f[col + (row_first + row_inner + 1) * W];
            }
        }
    }
}

extern "C" __global__ void meet(float* force, int n, const float* place, const float* load)
{
    const int a_block = (int)blockIdx.x * 64;
    const int a_thread = (int)threadIdx.x;
    const int a_first = a_block + a_thread;
    if (a_first + 32 < n) {
        float here[2];
        #pragma unroll
        for (int a_outer = 0; a_outer < 2; a_outer++) {
            here[a_outer] = place[a_first + a_outer * 32];
        }
        float f[2];
        #pragma unroll
        for (int a_outer = 0; a_outer < 2; a_outer++) {
            f[a_outer] = 0.0f;
        }
        for (int b_outer = 0; b_outer < n / 4 * 4; b_outer += 4) {
            float place_window[4];
            {
                const float4 wide = *(const float4*)&place[b_outer + 0];
                place_window[0] = wide.x;
                place_window[1] = wide.y;
                place_window[2] = wide.z;
                place_window[3] = wide.w;
            }
            float load_window[4];
            #pragma unroll
            for (int load_at = 0; load_at < 2; load_at++) {
                {
                    const float2 wide = *(const float2*)&load[b_outer + load_at * 2];
                    load_window[load_at * 2] = wide.x;
                    load_window[load_at * 2 + 1] = wide.y;
                }
            }
            #pragma unroll
            for (int b_inner = 0; b_inner < 4; b_inner++) {
                float d[2];
                #pragma unroll
                for (int a_outer = 0; a_outer < 2; a_outer++) {
                    d[a_outer] = place_window[b_inner] - here[a_outer];
                }
                #pragma unroll
                for (int a_outer = 0; a_outer < 2; a_outer++) {
                    f[a_outer] += d[a_outer] * load_window[b_inner] / (1.0f + d[a_outer] * d[a_outer]);
                }
            }
        }
        for (int b = n / 4 * 4; b < n; b++) {
            float d_rest[2];
            #pragma unroll
            for (int a_outer_rest = 0; a_outer_rest < 2; a_outer_rest++) {
                d_rest[a_outer_rest] = place[b] - here[a_outer_rest];
            }
            #pragma unroll
            for (int a_outer_rest = 0; a_outer_rest < 2; a_outer_rest++) {
                f[a_outer_rest] += d_rest[a_outer_rest] * load[b] / (1.0f + d_rest[a_outer_rest] * d_rest[a_outer_rest]);
            }
        }
        #pragma unroll
        for (int a_outer = 0; a_outer < 2; a_outer++) {
            force[a_first + a_outer * 32] = f[a_outer];
        }
    } else {
        #pragma unroll 1
        for (int a_outer = 0; a_outer < 2; a_outer++) {
            if (a_first + a_outer * 32 < n) {
                float here = place[a_first + a_outer * 32];
                float f = 0.0f;
                for (int b = 0; b < n; b++) {
                    float d = place[b] - here;
                    f += d * load[b] / (1.0f + d * d);
                }
                force[a_first + a_outer * 32] = f;
            }
        }
    }
}

extern "C" __global__ void layered(const float* deep, float* sum, int n, int D)
{
    const int i_block = (int)blockIdx.x * 32;
    const int i_thread = (int)threadIdx.x;
    const int i = i_block + i_thread;
    if (i < n) {
        float s = 0.0f;
        float deep_window[4];
        #pragma unroll
        for (int deep_at_2 = 0; deep_at_2 < 4; deep_at_2++) {
            deep_window[deep_at_2] = deep[i + n + deep_at_2];
        }
        for (int layer = 1; layer < 2; layer++) {
            #pragma unroll
            for (int k = 0; k < 4; k++) {
                s += deep_window[k] * (float)(k + D);
            }
        }
        sum[i] = s;
    }
}
