__kernel void softmax(__global const float* x, __global float* y, int rows, int cols)
{
    const int r_block = (int)get_group_id(0) * 64;
    const int r_thread = (int)get_local_id(0);
    const int r = r_block + r_thread;
    if (r < rows) {
        float top = x[r * cols];
        for (int j = 0; j < cols; j++) {
            top = fmax(top, x[r * cols + j]);
        }
        float sum = 0.0f;
        for (int j_2 = 0; j_2 < cols; j_2++) {
            sum += exp(x[r * cols + j_2] - top);
        }
        for (int j_3 = 0; j_3 < cols; j_3++) {
            y[r * cols + j_3] = exp(x[r * cols + j_3] - top) / sum;
        }
    }
}
