// Matrix loads and products of a warp, and asynchronous copies, on system threads, written from the figures of the PTX
// manual: the fragments of ldmatrix .x2 and .x4, those of mma.m16n8k16 and .m16n8k8, the groups of cp.async. A copy arrives
// as late as it may.
#include <deque>
#include <type_traits>
#include <utility>

#include "cuda_on_threads.h"

using half = _Float16;
struct __nv_bfloat16 { unsigned short bits; };
inline float __half2float(half value) { return (float)value; }
inline half __float2half(float value) { return (half)value; }
inline float __bfloat162float(__nv_bfloat16 value) {
  unsigned wide = (unsigned)value.bits << 16;
  float result;
  std::memcpy(&result, &wide, 4);
  return result;
}

struct Copy { void* to; const void* from; int bytes; };
static thread_local std::deque<std::vector<Copy>> begun;
static thread_local std::vector<Copy> open_copies;
inline void copy_async(int bytes, void* to, const void* from) {
  if ((size_t)to % bytes || (size_t)from % bytes) abort();
  open_copies.push_back({to, from, bytes});
}
inline void copies_begun() { begun.push_back(std::exchange(open_copies, {})); }
inline void copies_done(size_t pending) {
  for (; begun.size() > pending; begun.pop_front())
    for (const Copy& copy : begun.front()) std::memcpy(copy.to, copy.from, copy.bytes);
}

inline unsigned lane() { return thread_number() % 32; }
inline Warp& mine() { return warps[thread_number() / 32]; }

template <int n, bool turned> void load(unsigned (&to)[n], const void* row) {
  if ((size_t)row % 16) abort();
  std::memcpy(mine().slots[lane()], &row, 8);
  mine().meet->arrive_and_wait();
  for (int matrix = 0; matrix < n; matrix++) {
    unsigned short pair[2];
    for (unsigned e = 0; e < 2; e++) {
      unsigned of = turned ? 2 * (lane() % 4) + e : lane() / 4, at = turned ? lane() / 4 : 2 * (lane() % 4) + e;
      const unsigned short* stored;
      std::memcpy(&stored, mine().slots[8 * matrix + of], 8);
      pair[e] = stored[at];
    }
    std::memcpy(&to[matrix], pair, 4);
  }
  mine().meet->arrive_and_wait();
}
template <int n, class T> void cuda_load_matrix(unsigned (&to)[n], const T& first) { load<n, false>(to, &first); }
template <int n, class T> void cuda_load_matrix_turned(unsigned (&to)[n], const T& first) { load<n, true>(to, &first); }

struct Factors { float a[16][16], b[16][8]; };
static Factors factors[32];
template <class T> float widened(unsigned bits, int e) {
  T pair[2];
  std::memcpy(pair, &bits, 4);
  if constexpr (std::is_same_v<T, half>) return __half2float(pair[e]);
  else return __bfloat162float(pair[e]);
}
template <class T>
void multiply(float* const (&s)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  Factors& f = factors[thread_number() / 32];
  const unsigned group = lane() / 4, member = lane() % 4, b[2] = {b0, b1};
  for (int e = 0; e < 2; e++) {
    for (int part = 0; part < 4; part++)
      f.a[group + 8 * (part % 2)][2 * member + e + 8 * (part / 2)] = widened<T>(a[part], e);
    for (int part = 0; part < 2; part++) f.b[2 * member + e + 8 * part][group] = widened<T>(b[part], e);
  }
  mine().meet->arrive_and_wait();
  for (int part = 0; part < 4; part++)
    for (int k = 0; k < 16; k++) *s[part] += f.a[group + 8 * (part / 2)][k] * f.b[k][2 * member + part % 2];
  mine().meet->arrive_and_wait();
}
inline void cuda_multiply_half(float& s0, float& s1, float& s2, float& s3, const unsigned (&a)[4], unsigned b0,
                               unsigned b1) {
  multiply<half>({&s0, &s1, &s2, &s3}, a, b0, b1);
}
inline void cuda_multiply_bfloat16(float& s0, float& s1, float& s2, float& s3, const unsigned (&a)[4], unsigned b0,
                                   unsigned b1) {
  multiply<__nv_bfloat16>({&s0, &s1, &s2, &s3}, a, b0, b1);
}

// To nearest, ties away from zero: 13 bits of the significand go.
inline unsigned cuda_round_tf32(float value) {
  unsigned bits;
  std::memcpy(&bits, &value, 4);
  return (bits + 0x1000u) & ~0x1fffu;
}
inline float rounded(unsigned bits) {
  if (bits & 0x1fffu) abort();  // the hardware would not read these
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
inline void cuda_multiply_tf32(float& s0, float& s1, float& s2, float& s3, const unsigned (&a)[4], unsigned b0,
                               unsigned b1) {
  Factors& f = factors[thread_number() / 32];
  const unsigned group = lane() / 4, member = lane() % 4;
  for (int part = 0; part < 4; part++) f.a[group + 8 * (part % 2)][member + 4 * (part / 2)] = rounded(a[part]);
  f.b[member][group] = rounded(b0);
  f.b[member + 4][group] = rounded(b1);
  mine().meet->arrive_and_wait();
  float* const s[4] = {&s0, &s1, &s2, &s3};
  for (int part = 0; part < 4; part++)
    for (int k = 0; k < 8; k++) *s[part] += f.a[group + 8 * (part / 2)][k] * f.b[k][2 * member + part % 2];
  mine().meet->arrive_and_wait();
}
