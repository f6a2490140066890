__kernel void softmax(__global const float* x, __global float* y, int rows, int cols)
{
    const int row = (int)(get_group_id(0) * get_local_size(0) + get_local_id(0));
    if (row < rows) {
        float top = -FLT_MAX;
        for (int j = 0; j < cols; j++) {
            top = fmax(top, x[row * cols + j]);
        }
        float sum = 0;
        for (int j_2 = 0; j_2 < cols; j_2++) {
            float e = exp(x[row * cols + j_2] - top);
            y[row * cols + j_2] = e;
            sum += e;
        }
        for (int j_3 = 0; j_3 < cols; j_3++) {
            y[row * cols + j_3] /= sum;
        }
    }
}
