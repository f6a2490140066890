"""The comparison on the device: what a run left against what it must have left, reduced to six numbers a question.

Written in the words that ``CUDA`` and ``OPENCL`` define, so that the same text runs on any device of a developer. No
product is fused with a sum (``OPTIONS``): the error of an element is the number that numpy gives, to the last bit.
"""

from __future__ import annotations

THREADS = 256
BLOCKS = 256
"""Of every kernel here but ``fold``, which takes one block a question."""

COLUMNS = 6
"""Of a row: the largest error (double), four sums (double), and a digest (64 bits, modulo 2**64)."""

OPTIONS = ("--fmad=false",)

KINDS = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 3}
"""How ``closeness`` reads an element; integers are ``EXACT`` plus their bytes."""

EXACT = 16

CUDA = """typedef unsigned long long word;
typedef unsigned char byte;
#define KERNEL extern "C" __global__ void
#define DEVICE static __device__ __forceinline__
#define GLOBAL
#define SHARED __shared__
#define LOCAL
#define LID threadIdx.x
#define GROUP blockIdx.x
#define TASK blockIdx.y
#define GROUPS gridDim.x
#define BARRIER __syncthreads()
#define BITS(x) ((word)__double_as_longlong(x))
#define DOUBLE(x) __longlong_as_double((long long)(x))
#define FLOAT(x) __uint_as_float(x)
"""

OPENCL = """#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF
typedef ulong word;
typedef uchar byte;
#define KERNEL __kernel void
#define DEVICE static
#define GLOBAL __global
#define SHARED __local
#define LOCAL __local
#define LID get_local_id(0)
#define GROUP get_group_id(0)
#define TASK get_group_id(1)
#define GROUPS get_num_groups(0)
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define BITS(x) as_ulong(x)
#define DOUBLE(x) as_double(x)
#define FLOAT(x) as_float(x)
"""

SOURCE = f"""
#define THREADS {THREADS}
#define COLUMNS {COLUMNS}
#define EXACT {EXACT}
#define FINITE(x) (((BITS(x) >> 52) & 0x7ff) != 0x7ff)

DEVICE double half_to_double(unsigned int bits) {{
  const word sign = (word)(bits >> 15) << 63, exponent = (bits >> 10) & 31, mantissa = bits & 1023;
  if (exponent == 31) return DOUBLE(sign | ((word)0x7ff << 52) | mantissa << 42);
  if (exponent == 0) return (sign ? -1.0 : 1.0) * (double)mantissa / 16777216.0;
  return DOUBLE(sign | (exponent + 1008) << 52 | mantissa << 42);
}}

// One row of a question: the largest first number, the sums of the others, over all threads of a block.
DEVICE void put(GLOBAL word *row, LOCAL word *shared, double worst, double a, double b, double c, double d, word mix) {{
  word mine[COLUMNS] = {{BITS(worst), BITS(a), BITS(b), BITS(c), BITS(d), mix}};
  for (int column = 0; column < COLUMNS; column++) {{
    shared[LID] = mine[column];
    BARRIER;
    for (int width = THREADS / 2; width > 0; width /= 2) {{
      if (LID < width) {{
        const word x = shared[LID], y = shared[LID + width];
        if (column == COLUMNS - 1) shared[LID] = x + y;
        else if (column > 0) shared[LID] = BITS(DOUBLE(x) + DOUBLE(y));
        else shared[LID] = DOUBLE(x) < DOUBLE(y) ? y : x;
      }}
      BARRIER;
    }}
    if (LID == 0) row[column] = shared[0];
    BARRIER;
  }}
}}

// The rows that the blocks of a question left, as one.
KERNEL fold(GLOBAL const word *rows, GLOBAL word *results, int count) {{
  SHARED word shared[THREADS];
  double worst = 0.0, a = 0.0, b = 0.0, c = 0.0, d = 0.0;
  word mix = 0;
  for (int i = LID; i < count; i += THREADS) {{
    GLOBAL const word *row = rows + ((word)GROUP * count + i) * COLUMNS;
    worst = worst < DOUBLE(row[0]) ? DOUBLE(row[0]) : worst;
    a += DOUBLE(row[1]);
    b += DOUBLE(row[2]);
    c += DOUBLE(row[3]);
    d += DOUBLE(row[4]);
    mix += row[5];
  }}
  put(results + (word)GROUP * COLUMNS, shared, worst, a, b, c, d, mix);
}}

// The digest of bytes: what each is, and where it lies.
DEVICE word digest(GLOBAL const byte *x, word nbytes, word first, word step) {{
  word mix = 0;
  GLOBAL const unsigned int *p = (GLOBAL const unsigned int *)x;
  for (word i = first; i < (nbytes + 3) / 4; i += step) {{
    word part = 0;
    if (4 * i + 4 <= nbytes) part = p[i];
    else for (word j = 4 * i; j < nbytes; j++) part = part << 8 | x[j];
    word h = (part + 1) * 0x9e3779b97f4a7c15UL ^ (i + 1) * 0xbf58476d1ce4e5b9UL;
    h = (h ^ h >> 30) * 0x94d049bb133111ebUL;
    mix += h ^ h >> 31;
  }}
  return mix;
}}

// A task a line of the table: address, other address, bytes, unit. First sum: units of 4 or 1 bytes that differ (what
// is left over at the end is compared by bytes). Unit 0: the digest of the first address.
KERNEL inspect(GLOBAL const word *table, GLOBAL word *rows) {{
  SHARED word shared[THREADS];
  GLOBAL const word *task = table + (word)TASK * 4;
  GLOBAL const byte *x = (GLOBAL const byte *)task[0];
  GLOBAL const byte *y = (GLOBAL const byte *)task[1];
  const word nbytes = task[2], unit = task[3], step = (word)GROUPS * THREADS, first = (word)GROUP * THREADS + LID;
  double differ = 0.0;
  word mix = 0;
  if (unit == 4) {{
    GLOBAL const unsigned int *p = (GLOBAL const unsigned int *)x;
    GLOBAL const unsigned int *q = (GLOBAL const unsigned int *)y;
    for (word i = first; i < nbytes / 4; i += step) differ += p[i] != q[i] ? 1.0 : 0.0;
  }}
  const word whole = unit == 4 ? nbytes / 4 * 4 : 0;
  if (unit == 0) mix = digest(x, nbytes, first, step);
  else for (word i = whole + first; i < nbytes; i += step) differ += x[i] != y[i] ? 1.0 : 0.0;
  put(rows + ((word)TASK * GROUPS + GROUP) * COLUMNS, shared, 0.0, differ, 0.0, 0.0, 0.0, mix);
}}

DEVICE double element(GLOBAL const byte *x, int kind, word i) {{
  if (kind == 0) return ((GLOBAL const float *)x)[i];
  if (kind == 1) return ((GLOBAL const double *)x)[i];
  if (kind == 3) return FLOAT((unsigned int)((GLOBAL const unsigned short *)x)[i] << 16);
  return half_to_double(((GLOBAL const unsigned short *)x)[i]);
}}

// Largest error relative to the tolerance; sums: elements that are left alone and did not hold the pattern ``left``
// any more, squares of differences, squares of values, and elements where both are finite.
KERNEL closeness(GLOBAL const byte *output, GLOBAL const byte *expected, GLOBAL const byte *written, word count,
                 int kind, double atol, double rtol, word left, int guarded, int wide, GLOBAL word *rows) {{
  SHARED word shared[THREADS];
  double worst = 0.0, touched = 0.0, distance = 0.0, size = 0.0, finite = 0.0;
  for (word i = (word)GROUP * THREADS + LID; i < count; i += (word)GROUPS * THREADS) {{
    const int kept = guarded && !written[i];
    word raw = 0;
    double x = 0.0, y = 0.0;
    if (kind < EXACT) x = element(output, kind, i);
    switch (kind) {{
      case 0: raw = ((GLOBAL const unsigned int *)output)[i]; break;
      case 1: raw = ((GLOBAL const word *)output)[i]; break;
      case 2: case 3: raw = ((GLOBAL const unsigned short *)output)[i]; break;
      case EXACT + 1: raw = output[i]; break;
      case EXACT + 2: raw = ((GLOBAL const unsigned short *)output)[i]; break;
      case EXACT + 4: raw = ((GLOBAL const unsigned int *)output)[i]; break;
      default: raw = ((GLOBAL const word *)output)[i]; break;
    }}
    if (kept) {{
      touched += raw != left ? 1.0 : 0.0;
      finite += 1.0;
      continue;
    }}
    double error = 0.0;
    if (kind < EXACT) {{
      y = element(expected, wide ? 1 : kind, i);
      const double apart = x < y ? y - x : x - y, limit = atol + rtol * (y < 0.0 ? -y : y);
      if (x == y || (x != x && y != y)) error = 0.0;
      else error = apart / limit;
      if (!FINITE(error)) error = DOUBLE((word)0x7ff << 52);
      if (FINITE(x) && FINITE(y)) {{
        distance += apart * apart;
        size += y * y;
        finite += 1.0;
      }}
    }} else {{
      word wanted;
      switch (kind) {{
        case EXACT + 1: wanted = expected[i]; break;
        case EXACT + 2: wanted = ((GLOBAL const unsigned short *)expected)[i]; break;
        case EXACT + 4: wanted = ((GLOBAL const unsigned int *)expected)[i]; break;
        default: wanted = ((GLOBAL const word *)expected)[i]; break;
      }}
      if (raw != wanted) error = DOUBLE((word)0x7ff << 52);
    }}
    worst = worst < error ? error : worst;
  }}
  put(rows + (word)GROUP * COLUMNS, shared, worst, touched, distance, size, finite, 0);
}}
"""
