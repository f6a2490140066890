// CUDA C++ on a CPU: one system thread a CUDA thread, the blocks of a grid one after the other. Barriers, shuffles and
// atomics are real, so that a missing barrier is a real data race (which -fsanitize=thread reports).
#include <barrier>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <map>
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

struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(8) int2 { int x, y; };
struct alignas(16) int4 { int x, y, z, w; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(4) uchar4 { unsigned char x, y, z, w; };
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline int2 make_int2(int x, int y) { return {x, y}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
#define __expf(x) std::exp((float)(x))
#define __logf(x) std::log((float)(x))
#define __sinf(x) std::sin((float)(x))
#define __fdividef(a, b) ((float)(a) / (float)(b))
#define __popc(x) __builtin_popcount(x)
#define __ffs(x) __builtin_ffs(x)
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
template <class T, class F> T updated(T* target, F change) {
  std::lock_guard<std::mutex> lock(memory);
  T old = *target;
  *target = change(old);
  return old;
}
template <class T, class V> T atomicAdd(T* target, V value) {
  return updated(target, [=](T old) { return (T)(old + (T)value); });
}
template <class T, class V> T atomicSub(T* target, V value) {
  return updated(target, [=](T old) { return (T)(old - (T)value); });
}
template <class T, class V> T atomicMax(T* target, V value) {
  return updated(target, [=](T old) { return old > (T)value ? old : (T)value; });
}

// Lanes of a warp that come by within a moment are together, as on a GPU: which ones these are is nobody's promise.
struct Gathering {
  std::mutex lock;
  std::condition_variable over;
  unsigned present = 0, round = 0, peers[32];
  long long keys[32];
};
inline Gathering& gathering(int line) {
  static std::map<std::pair<int, unsigned>, Gathering> found;
  std::lock_guard<std::mutex> lock(memory);
  return found[{line, thread_number() / 32}];
}
#define __activemask() ~0u
#define __match_any_sync(mask, key) match_any(gathering(__LINE__), key)
inline unsigned match_any(Gathering& here, long long key) {
  unsigned lane = thread_number() % 32;
  std::unique_lock<std::mutex> lock(here.lock);
  unsigned round = here.round;
  bool first = !here.present;
  here.present |= 1u << lane;
  here.keys[lane] = key;
  if (first) {
    here.over.wait_for(lock, std::chrono::milliseconds(2), [] { return false; });
    for (unsigned a = 0; a < 32; a++)  // lanes of the round before may still have to read theirs
      for (unsigned b = here.present >> a & 1 ? here.peers[a] = 0 : 32; b < 32; b++)
        if (here.present >> b & 1 && here.keys[a] == here.keys[b]) here.peers[a] |= 1u << b;
    here.present = 0;
    here.round++;
    here.over.notify_all();
  } else {
    here.over.wait(lock, [&] { return here.round != round; });
  }
  return here.peers[lane];
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
