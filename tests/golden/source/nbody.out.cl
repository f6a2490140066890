typedef struct Body Body;
struct Body { float x, y, z, m; };
float inverse_cube(float r2) { float r = rsqrt((float)(r2)); return r * r * r; }

__kernel void forces(__global const Body* bodies, __global float* out, int n, float eps)
{
    const int i = (int)(get_group_id(0) * get_local_size(0) + get_local_id(0));
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
