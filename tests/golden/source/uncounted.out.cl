__kernel void roots(__global const float* x, __global const float* knots, __global float* y, int n, int m)
{
    const int i = (int)(get_group_id(0) * get_local_size(0) + get_local_id(0));
    if (i < n) {
        float v = x[i];
        float r = v;
        while (true) {
            r = 0.5f * (r + v / r);
            if (r == 0.0f) {
                break;
            }
            if (!(fabs(r * r - v) > 1e-6f)) {
                break;
            }
        }
        float s = 0.0f;
        int k = 0;
        int left = 0;
        while (k < m) {
            if (knots[k] < 0.0f) {
                if (knots[k] < -1.0f) {
                    break;
                }
                s -= 1.0f;
                k++;
            } else {
                if (s > 100.0f) {
                    y[i] = s;
                    left = 1;
                    break;
                }
                s += knots[k] * r;
                k++;
            }
        }
        if (!left) {
            while (true) {
                s *= 0.5f;
                if (s < 1.0f) {
                    break;
                }
            }
            float key = v;
            int find_value;
            int low = 0;
            int high = m;
            int left_2 = 0;
            while (low < high) {
                int middle = (low + high) / 2;
                if (knots[middle] == key) {
                    find_value = middle;
                    left_2 = 1;
                    break;
                }
                if (knots[middle] < key) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            if (!left_2) {
                find_value = -1;
            }
            y[i] = s + find_value;
        }
    }
}
