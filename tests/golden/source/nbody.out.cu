struct Body { float x, y, z, m; };
__device__ float inverse_cube(float r2) { float r = rsqrtf(r2); return r * r * r; }

extern "C" __global__ void __launch_bounds__(256) forces(const Body* bodies, float* out, int n, float eps)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Body me = bodies[i];
        float ax = 0.f;
        float ay = 0.f;
        float az = 0.f;
        #pragma unroll 4
        for (int j = 0; j < n; j++) {
            float dx = bodies[j].x - me.x;
            float dy = bodies[j].y - me.y;
            float dz = bodies[j].z - me.z;
            float s = bodies[j].m * inverse_cube(dx * dx + dy * dy + dz * dz + eps * eps);
            ax += dx * s;
            ay += dy * s;
            az += dz * s;
        }
        out[3 * i] = ax;
        out[3 * i + 1] = ay;
        out[3 * i + 2] = az;
    }
}
