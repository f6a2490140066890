"""The backend's own kernels: two peaks, the sweep that evicts the L2 cache, and the one that holds the stream back."""

from __future__ import annotations

CHAINS = 8  # independent accumulators: enough to hide the latency of a multiply-add
STEPS = 4096

_MULTIPLY_ADDS = " ".join(f"s{index} = fmaf(s{index}, a, b);" for index in range(CHAINS))
_STARTS = ", ".join(f"s{index} = threadIdx.x + {index}.0f" for index in range(CHAINS))
_TOTAL = " + ".join(f"s{index}" for index in range(CHAINS))

SOURCE = f"""
extern "C" __global__ void copy(const float4* a, float4* b, unsigned long long n) {{
  for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < n; i += gridDim.x * 256ull) b[i] = a[i];
}}
extern "C" __global__ void peak(float* out, float a, float b) {{
  float {_STARTS};
  #pragma unroll 16
  for (int i = 0; i < {STEPS}; i++) {{ {_MULTIPLY_ADDS} }}
  out[blockIdx.x * 256 + threadIdx.x] = {_TOTAL};
}}
// Reads zeros: lines that are only read leave nothing to be written back while the next kernel runs.
extern "C" __global__ void sweep(const float4* a, float* out, unsigned long long n) {{
  float sum = 0.0f;
  for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < n; i += gridDim.x * 256ull) {{
    const float4 v = a[i];
    sum += v.x + v.y + v.z + v.w;
  }}
  if (sum != 0.0f) *out = sum;
}}
extern "C" __global__ void hold(unsigned int microseconds) {{
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  do {{ asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now)); }} while (now - start < microseconds * 1000ull);
}}
"""
