#ifndef FLT_MAX
#define FLT_MAX 3.402823466e+38f
#endif
extern "C" __global__ void softmax(const float* x, float* y, int rows, int cols)
{
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        float top = -FLT_MAX;
        for (int j = 0; j < cols; j++) {
            top = fmaxf(top, x[row * cols + j]);
        }
        float sum = 0;
        for (int j_2 = 0; j_2 < cols; j_2++) {
            float e = expf(x[row * cols + j_2] - top);
            y[row * cols + j_2] = e;
            sum += e;
        }
        for (int j_3 = 0; j_3 < cols; j_3++) {
            y[row * cols + j_3] /= sum;
        }
    }
}
