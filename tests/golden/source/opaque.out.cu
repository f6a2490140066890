extern "C" __global__ void steps(const float* x, float* y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (!(x[i] < 0.0f)) {
            float v = x[i];
            int count = 0;
            while (v > 1.0f) {
                v *= 0.5f;
                count++;
                if (count > 100) {
                    break;
                }
            }
            float w[3];
            w[0] = v;
            w[1] = 1.0f;
            w[2] = 0;
            for (int k = 0; k < 3; k++) {
                if (k != 1) {
                    float mean3_value = (x[0] + x[1] + x[1 + 1]) / 3.0f;
                    float mean3_value_2 = (w[0] + w[1] + w[1 + 1]) / 3.0f;
                    y[i * 3 + k] = w[k] + mean3_value + mean3_value_2;
                }
            }
            if (count > 9) {
                goto done;
            }
            y[i * 3 + 1] = (float)count;
            done:
            y[i * 3] += 1.0f;
            ;
        }
    }
}
