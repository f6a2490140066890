"""What of its file goes with a kernel. A compiler without headers must take it: NVRTC."""

from __future__ import annotations

import re

import pytest

from evaluator.cuda.compile import language_options
from evaluator.cuda.headers import header_folders
from evaluator.cuda.nvrtc import Nvrtc, NvrtcMissing
from genome.ir.print_source import print_kernel
from genome.source.frontend import parse_kernel
from genome.source.headers import needed_headers
from genome.source.verbatim import verbatim_kernel
from genome.variant import Target


def prelude(source: str, entry: str = "k") -> str:
    return verbatim_kernel(source, entry).prelude


@pytest.fixture(scope="module")
def nvrtc() -> Nvrtc:
    try:
        return Nvrtc()
    except NvrtcMissing as error:
        pytest.skip(str(error))


def compiled(nvrtc: Nvrtc, source: str, entry: str = "k") -> None:
    """Both as text and parsed."""
    for kernel in (verbatim_kernel(source, entry), parse_kernel(source, entry)):
        text = print_kernel(kernel, Target.CUDA)
        result = nvrtc.ptx(text, "kernel.cu", ("-arch=compute_80", *language_options()))
        assert result.ok, f"{result.log}\n{text}"


HOST = """
#include <vector>
int width = 640;
std::vector<float> scale(int n) { return std::vector<float>(n); }
double blend(double x) { return x * width; }
__device__ float blend(float x);
typedef void (*scale_t)(float);
float operator+(float2 a, float2 b) { return 0; }
__device__ float blend(float x) { return x * 2; }
__global__ void k(float* y, int width) {
  float scale = blend(y[threadIdx.x]);
  y[threadIdx.x] = scale + width;
}
"""


def test_host_code_of_the_same_name_stays_out(nvrtc: Nvrtc) -> None:
    text = prelude(HOST)
    assert "blend(float x)" in text and "vector" not in text and "width" not in text and "operator" not in text
    compiled(nvrtc, HOST)


OPERATORS = """
struct Pair { float a, b; };
__device__ Pair operator+(Pair x, Pair y) { return Pair{x.a + y.a, x.b + y.b}; }
__device__ Pair operator-(Pair x, Pair y) { return Pair{x.a - y.a, x.b - y.b}; }
__device__ float2 operator+(float2 x, float2 y) { return make_float2(x.x + y.x, x.y + y.y); }
__global__ void k(Pair* p, const Pair* q) { p[threadIdx.x] = p[threadIdx.x] + q[threadIdx.x]; }
__global__ void v(float2* p, const float2* q) { p[threadIdx.x] = p[threadIdx.x] + q[threadIdx.x]; }
"""


def test_operators_come_by_their_sign_and_type(nvrtc: Nvrtc) -> None:
    assert "operator+(Pair" in prelude(OPERATORS) and "operator-" not in prelude(OPERATORS)
    assert "float2" not in prelude(OPERATORS) and "operator+(float2" in prelude(OPERATORS, "v")
    compiled(nvrtc, OPERATORS)
    compiled(nvrtc, OPERATORS, "v")


SPECIALISED = """
template <int N> __device__ float fold(const float* x) { return x[N] + fold<N - 1>(x); }
template <> __device__ float fold<0>(const float* x) { return x[0]; }
template __device__ float fold<9>(const float*);
__global__ void k(float* y, const float* x) { y[threadIdx.x] = fold<3>(x); }
"""


def test_specialisations_come_with_their_template(nvrtc: Nvrtc) -> None:
    assert "fold<0>" in prelude(SPECIALISED) and "fold<9>" not in prelude(SPECIALISED)
    compiled(nvrtc, SPECIALISED)


SPACES = """
namespace maths {
namespace detail { __device__ float square(float x) { return x * x; } }
__device__ float cube(float x) { return x * detail::square(x); }
}
namespace { __device__ float half_of(float x) { return x / 2; } }
namespace app {
using namespace maths;
__device__ float plain(float x) { return x + 1; }
__global__ void qualified(float* y) { y[threadIdx.x] = maths::cube(plain(y[threadIdx.x])); }
__global__ void opened(float* y) { y[threadIdx.x] = plain(half_of(y[threadIdx.x])); }
}
"""


def test_a_template_in_a_namespace_sees_what_is_in_it(nvrtc: Nvrtc) -> None:
    source = SPACES.replace("__global__ void qualified", "template <int N = 2> __global__ void qualified")
    compiled(nvrtc, source, "qualified")


def test_namespaces_stay_where_something_is_named_through_them(nvrtc: Nvrtc) -> None:
    assert re.search(r"namespace maths \{\s*namespace detail \{", prelude(SPACES, "qualified"))
    assert "namespace" not in prelude(SPACES, "opened")
    compiled(nvrtc, SPACES, "qualified")
    compiled(nvrtc, SPACES, "opened")


METHODS = """
struct Job {
  int first, last;
  __host__ Job(int n) : first(0), last(n) {}
  __host__ __device__ Job(int a, int b) : first(a), last(b) {}
  int length() const { return last - first; }
};
__global__ void k(int* y) { Job job(1, 5); y[threadIdx.x] = job.length(); }
"""


def test_methods_of_the_host_do_not_stop_the_compiler(nvrtc: Nvrtc) -> None:
    compiled(nvrtc, METHODS)
    assert "__host__ __device__ Job" in prelude(METHODS)


STANDARD = """
#include <cstdint>
#include <algorithm>
#include <limits>
__device__ uint32_t mix(std::uint32_t a) { return std::min(a, (uint32_t)7) + std::numeric_limits<int>::max(); }
template <typename T> __device__ T pick(T a) { if (std::is_same<T, float>::value) return std::fabs(a); return a; }
__global__ void k(uint32_t* y, float* z, uint n) {
  y[threadIdx.x] = mix(y[threadIdx.x]) + n;
  z[threadIdx.x] = std::sqrt(pick(z[threadIdx.x]));
}
"""


@pytest.mark.parametrize("source", [STANDARD, STANDARD.replace("#include <cstdint>", "typedef unsigned int uint32_t;")])
def test_standard_names_need_no_header(nvrtc: Nvrtc, source: str) -> None:
    if not header_folders():
        source = source.replace("std::numeric_limits<int>::max()", "3")
    compiled(nvrtc, source)


def test_headers_are_those_of_the_words() -> None:
    given = ("cuda_fp16.h", "mma.h", "cooperative_groups.h", "stdio.h")
    assert needed_headers(frozenset({"x"}), given) == []
    assert needed_headers(frozenset({"__half2"}), ()) == ["cuda_fp16.h"]
    assert needed_headers(frozenset({"half", "tiled_partition"}), given) == ["cuda_fp16.h", "cooperative_groups.h"]
    assert needed_headers(frozenset({"cub", "BlockReduce", "WarpScan", "BlockPrefix"}), ()) == [
        "cub/block/block_reduce.cuh", "cub/warp/warp_scan.cuh"
    ]  # fmt: skip


def test_parameters_of_template_types_and_without_names() -> None:
    source = """
template <bool B> struct Flag {};
template <typename T> struct Span { T* data; };
__global__ void k(const Span<float*> s, Flag<true>, int, float*, unsigned) { s.data[0][0] = 1; }
"""
    assert [(p.name, p.ctype, p.pointer) for p in verbatim_kernel(source, "k").params] == [
        ("s", "Span<float*>", False), ("unnamed_1", "Flag<true>", False), ("unnamed_2", "int", False),
        ("unnamed_3", "float", True), ("unnamed_4", "unsigned int", False),
    ]  # fmt: skip
