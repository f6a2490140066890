// entry: softmax
#include <float.h>
__global__ void softmax(const float* x, float* y, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;

    const float* in = x + row * cols;
    float* out = &y[row * cols];
    int j;
    float top = -FLT_MAX;
    for (j = 0; j < cols; j++) top = fmaxf(top, in[j]);
    float sum = 0;
    for (j = 0; j < cols; j++) {
        float e = expf(in[j] - top);
        out[j] = e;
        sum += e;
    }
    for (j = 0; j < cols; j++) out[j] /= sum;
}
