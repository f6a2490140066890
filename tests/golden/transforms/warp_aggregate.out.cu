extern "C" __global__ void counts(const unsigned char* data, unsigned int* bins, int n)
{
    const int i_block = (int)blockIdx.x * 64;
    const int i_thread = (int)threadIdx.x;
    const int linear_thread = (int)threadIdx.x;
    const int i = i_block + i_thread;
    if (i < n) {
        const int bins_element = data[i];
        const unsigned int bins_peers = __match_any_sync(__activemask(), bins_element);
        if (linear_thread % 32 == __ffs(bins_peers) - 1) {
            atomicAdd(&bins[bins_element], (unsigned int)__popc(bins_peers));
        }
    }
}

extern "C" __global__ void marks(int step, int n, int* last, float* weight, const float* x)
{
    const int e_block = (int)blockIdx.x * 64;
    const int e_thread = (int)threadIdx.x;
    const int linear_thread = (int)threadIdx.x;
    const int e_first = e_block + e_thread * 2;
    if (e_first + 1 < n) {
        #pragma unroll
        for (int e_inner = 0; e_inner < 2; e_inner++) {
            if (x[e_first + e_inner] > 0.0f) {
                const int last_element = (e_first + e_inner) % 8;
                const unsigned int last_peers = __match_any_sync(__activemask(), last_element);
                if (linear_thread % 32 == __ffs(last_peers) - 1) {
                    atomicMax(&last[last_element], step);
                }
            }
        }
        #pragma unroll
        for (int e_inner = 0; e_inner < 2; e_inner++) {
            const int weight_element = (e_first + e_inner) % 16;
            const unsigned int weight_peers = __match_any_sync(__activemask(), weight_element);
            if (linear_thread % 32 == __ffs(weight_peers) - 1) {
                atomicAdd(&weight[weight_element], (float)__popc(weight_peers) * 0.5f);
            }
        }
    } else {
        #pragma unroll 1
        for (int e_inner = 0; e_inner < 2; e_inner++) {
            if (e_first + e_inner < n) {
                if (x[e_first + e_inner] > 0.0f) {
                    const int last_element_2 = (e_first + e_inner) % 8;
                    const unsigned int last_peers_2 = __match_any_sync(__activemask(), last_element_2);
                    if (linear_thread % 32 == __ffs(last_peers_2) - 1) {
                        atomicMax(&last[last_element_2], step);
                    }
                }
                const int weight_element_2 = (e_first + e_inner) % 16;
                const unsigned int weight_peers_2 = __match_any_sync(__activemask(), weight_element_2);
                if (linear_thread % 32 == __ffs(weight_peers_2) - 1) {
                    atomicAdd(&weight[weight_element_2], (float)__popc(weight_peers_2) * 0.5f);
                }
            }
        }
    }
}

extern "C" __global__ void plane_counts(int w, const unsigned char* image, int* out, int h)
{
    const int c_block = (int)blockIdx.y * 8;
    const int c_thread = (int)threadIdx.y;
    const int r_thread = (int)threadIdx.x;
    const int linear_thread = (int)threadIdx.x + (int)threadIdx.y * 8;
    const int c = c_block + c_thread;
    for (int r_round = 0; r_round < ((int)blockIdx.x < h / 8 + (h % 8 != 0) ? (h / 8 + (h % 8 != 0) - (int)blockIdx.x + (int)gridDim.x - 1) / (int)gridDim.x : 0); r_round++) {
        const int r_block = (int)blockIdx.x * 8 + (int)gridDim.x * r_round * 8;
        const int r = r_block + r_thread;
        if (c < w && r < h) {
            const int out_element = image[r * w + c] >> 5;
            const unsigned int out_peers = __match_any_sync(__activemask(), out_element);
            if (linear_thread % 32 == __ffs(out_peers) - 1) {
                atomicSub(&out[out_element], __popc(out_peers) * 2);
            }
        }
    }
}
