extern "C" __global__ void smooth(const float* x, const float* w, float* y, int n)
{
    const int i_block = (int)blockIdx.x * 256;
    const int i_thread = (int)threadIdx.x;
    const int i_first = i_block + i_thread * 4;
    if (i_first + 3 < n) {
        float total[4];
        #pragma unroll
        for (int i_inner = 0; i_inner < 4; i_inner++) {
            total[i_inner] = 0.0f;
        }
        for (int k = 0; k < 5; k++) {
            #pragma unroll
            for (int i_inner = 0; i_inner < 4; i_inner++) {
                total[i_inner] += (i_first + i_inner + k - 2 >= 0 && i_first + i_inner + k - 2 < n ? x[i_first + k + i_inner - 2] : 0.0f) * w[k];
            }
        }
        #pragma unroll
        for (int i_inner = 0; i_inner < 4; i_inner++) {
            y[i_first + i_inner] = total[i_inner];
        }
    } else {
        #pragma unroll 1
        for (int i_inner = 0; i_inner < 4; i_inner++) {
            if (i_first + i_inner < n) {
                float total = 0.0f;
                for (int k = 0; k < 5; k++) {
                    total += (i_first + i_inner + k - 2 >= 0 && i_first + i_inner + k - 2 < n ? x[i_first + i_inner + k - 2] : 0.0f) * w[k];
                }
                y[i_first + i_inner] = total;
            }
        }
    }
}

extern "C" __global__ void lower(int rows, float* out, const float* vector, const float* matrix)
{
    const int row_block = (int)blockIdx.x * 64;
    const int row_thread = (int)threadIdx.x;
    const int row_first = row_block + row_thread;
    if (row_first + 32 < rows) {
        float left[2];
        #pragma unroll
        for (int row_outer = 0; row_outer < 2; row_outer++) {
            left[row_outer] = 1.0f;
        }
        for (int j = 0; j < rows; j++) {
            float vector_value;
            vector_value = vector[j];
            #pragma unroll
            for (int row_outer = 0; row_outer < 2; row_outer++) {
                left[row_outer] -= 0.5f * (vector_value * (j <= row_first + row_outer * 32 ? matrix[row_first + j * rows + row_outer * 32] : 0.0f));
            }
        }
        #pragma unroll
        for (int row_outer = 0; row_outer < 2; row_outer++) {
            out[row_first + row_outer * 32] = left[row_outer];
        }
    } else {
        #pragma unroll 1
        for (int row_outer = 0; row_outer < 2; row_outer++) {
            if (row_first + row_outer * 32 < rows) {
                float left = 1.0f;
                for (int j = 0; j < rows; j++) {
                    left -= 0.5f * (vector[j] * (j <= row_first + row_outer * 32 ? matrix[row_first + row_outer * 32 + j * rows] : 0.0f));
                }
                out[row_first + row_outer * 32] = left;
            }
        }
    }
}

extern "C" __global__ void counted(const int* marks, const int* weights, int* result, int w, int h, int limit)
{
    const int q_block = (int)blockIdx.x * 64;
    const int q_thread = (int)threadIdx.x;
    const int q_first = q_block + q_thread * 2;
    if (q_first + 1 < h) {
        int sum[2];
        #pragma unroll
        for (int q_inner = 0; q_inner < 2; q_inner++) {
            sum[q_inner] = 0;
        }
        for (int c = 0; c < w; c++) {
            #pragma unroll
            for (int q_inner = 0; q_inner < 2; q_inner++) {
                sum[q_inner] += (marks[c + (q_first + q_inner) * w] > limit ? weights[c] : 0) * marks[c + (q_first + q_inner) * w];
            }
        }
        #pragma unroll
        for (int q_inner = 0; q_inner < 2; q_inner++) {
            result[q_first + q_inner] = sum[q_inner];
        }
    } else {
        #pragma unroll 1
        for (int q_inner = 0; q_inner < 2; q_inner++) {
            if (q_first + q_inner < h) {
                int sum = 0;
                for (int c = 0; c < w; c++) {
                    sum += (marks[(q_first + q_inner) * w + c] > limit ? weights[c] : 0) * marks[(q_first + q_inner) * w + c];
                }
                result[q_first + q_inner] = sum;
            }
        }
    }
}
