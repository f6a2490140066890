// Gravitational accelerations of n bodies, all pairs, Plummer softening, G = 1. One thread sums for one body.
__global__ void nbody(const float* px, const float* py, const float* pz, const float* mass, float* ax, float* ay,
                      float* az, int n, float soft2) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float xi = px[i];
  float yi = py[i];
  float zi = pz[i];
  float fx = 0.0f, fy = 0.0f, fz = 0.0f;
  for (int j = 0; j < n; j++) {
    float dx = px[j] - xi;
    float dy = py[j] - yi;
    float dz = pz[j] - zi;
    float r2 = dx * dx + dy * dy + dz * dz + soft2;
    float inv = 1.0f / sqrtf(r2);
    float s = mass[j] * inv * inv * inv;
    fx += dx * s;
    fy += dy * s;
    fz += dz * s;
  }
  ax[i] = fx;
  ay[i] = fy;
  az[i] = fz;
}
