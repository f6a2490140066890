// CUDA C++ on a CPU: one system thread a CUDA thread, the blocks of a grid one after the other. Barriers, shuffles and
// atomics are real, so that a missing barrier is a real data race (which -fsanitize=thread reports).
#include <barrier>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

struct Dim { unsigned x, y, z; };
static thread_local Dim threadIdx, blockIdx;
static Dim blockDim, gridDim;

#define __global__
#define __shared__ static
#define __restrict__ __restrict
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)

struct float2 { float x, y; };
struct float4 { float x, y, z, w; };
struct int2 { int x, y; };
struct int4 { int x, y, z, w; };
struct uint2 { unsigned x, y; };
struct uint4 { unsigned x, y, z, w; };
struct uchar4 { unsigned char x, y, z, w; };
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline int max(int a, int b) { return a > b ? a : b; }
inline int min(int a, int b) { return a < b ? a : b; }

struct Warp {
  std::unique_ptr<std::barrier<>> meet;
  char slots[32][8];
};
static std::unique_ptr<std::barrier<>> block_meets;
static std::vector<Warp> warps;
static std::mutex memory;

inline unsigned thread_number() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
inline void __syncthreads() { block_meets->arrive_and_wait(); }

template <class T> T __shfl_xor_sync(unsigned, T value, int offset) {
  Warp& warp = warps[thread_number() / 32];
  std::memcpy(warp.slots[thread_number() % 32], &value, sizeof(T));
  warp.meet->arrive_and_wait();
  T result;
  std::memcpy(&result, warp.slots[(thread_number() % 32) ^ offset], sizeof(T));
  warp.meet->arrive_and_wait();
  return result;
}
template <class T, class V> T atomicAdd(T* target, V value) {
  std::lock_guard<std::mutex> lock(memory);
  T old = *target;
  *target = old + (T)value;
  return old;
}

template <class F> void launch(Dim grid, Dim block, F kernel) {
  unsigned threads = block.x * block.y * block.z;
  blockDim = block;
  gridDim = grid;
  block_meets = std::make_unique<std::barrier<>>(threads);
  warps = std::vector<Warp>((threads + 31) / 32);
  for (unsigned w = 0; w < warps.size(); w++)
    warps[w].meet = std::make_unique<std::barrier<>>(w + 1 < warps.size() || threads % 32 == 0 ? 32 : threads % 32);
  std::barrier<> next(threads);
  std::vector<std::thread> team;
  for (unsigned t = 0; t < threads; t++)
    team.emplace_back([=, &next] {
      threadIdx = {t % block.x, t / block.x % block.y, t / block.x / block.y};
      for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
          for (unsigned x = 0; x < grid.x; x++) {
            blockIdx = {x, y, z};
            kernel();
            next.arrive_and_wait();
          }
    });
  for (auto& thread : team) thread.join();
}
