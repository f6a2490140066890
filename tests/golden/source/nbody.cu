// entry: forces
struct Body { float x, y, z, m; };

__device__ __forceinline__ float3 pull(float3 a, const Body& other) { return a; }
__device__ float inverse_cube(float r2) { float r = rsqrtf(r2); return r * r * r; }

__global__ void __launch_bounds__(256) forces(const Body* bodies, float* out, int n, float eps) {
    const int i = (int)(blockIdx.x * blockDim.x) + (int)threadIdx.x;
    if (i >= n) { return; }
    Body me = bodies[i];
    float ax = 0.f, ay = 0.f, az = 0.f;
#pragma unroll 4
    for (int j = 0; j < n; j++) {
        float dx = bodies[j].x - me.x, dy = bodies[j].y - me.y, dz = bodies[j].z - me.z;
        float s = bodies[j].m * inverse_cube(dx*dx + dy*dy + dz*dz + eps*eps);
        ax += dx * s; ay += dy * s; az += dz * s;
    }
    float* o = out + 3 * i;
    o[0] = ax; o[1] = ay; *(o + 2) = az;
}
