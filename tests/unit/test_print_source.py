"""Printing of what transforms make: wide accesses, mapped kernels, barriers, types and functions of each language."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genome.ir.expr import Binary, Call, Cast, Const, Expr, Index, Unary, Var
from genome.ir.kernel import Axis, Kernel, Param
from genome.ir.print_errors import PrintError
from genome.ir.print_expr import ExprPrinter
from genome.ir.print_source import entry_name, print_kernel
from genome.ir.stmt import Assign, Barrier, Decl, Loop, LoopRole, Opaque, Space, Stmt, VectorLoad, VectorStore
from genome.lower import seal
from genome.source.verbatim import verbatim_kernel
from genome.variant import Target

AT = Var("i")


def kernel(*body: Stmt, **fields: object) -> Kernel:
    params = (Param("x", "float", True, True, True), Param("y", "float", True), Param("n", "int"))
    return Kernel("k", params, (), tuple(body), **fields)  # type: ignore[arg-type]


def inner(source: Kernel, target: Target) -> str:
    text = print_kernel(source, target)
    return "\n".join(line.strip() for line in text[text.index("{") + 1 :].splitlines() if line.strip())


def at(array: str, index: Expr) -> Index:
    return Index(array, (index,))


@pytest.mark.parametrize("width, ctype, expected", [
    (4, "float", "const float4 wide = *(const float4*)&x[i];"),
    (2, "float", "const float2 wide = *(const float2*)&x[i];"),
    (8, "float", "const float4 wide1 = *(const float4*)&x[i + 4];"),
    (4, "double", "const double2 wide1 = *(const double2*)&x[i + 2];"),
    (16, "unsigned char", "const uint4 wide = *(const uint4*)&x[i];"),
    (4, "unsigned int", "const uint4 wide = *(const uint4*)&x[i];"),
])  # fmt: skip
def test_wide_load_in_cuda(width: int, ctype: str, expected: str) -> None:
    load = VectorLoad(tuple(Index("v", (Const(str(lane)),)) for lane in range(width)), at("x", AT))
    source = replace(
        kernel(Decl("v", ctype, (width,)), load), params=(Param("x", ctype, True, True), Param("i", "int"))
    )
    assert expected in print_kernel(source, Target.CUDA)


@pytest.mark.parametrize("ctype, width, lanes", [
    ("float", 2, 2), ("float", 4, 4), ("float", 8, 8), ("float", 16, 8), ("double", 8, 4), ("int", 16, 8),
    ("unsigned char", 16, 16),
])  # fmt: skip
def test_wide_access_in_opencl(ctype: str, width: int, lanes: int) -> None:
    """No vector has more than 32 bytes: what PoCL returns in 64 loses its upper half on some processors."""
    values = tuple(Index("v", (Const(str(lane)),)) for lane in range(width))
    body = (Decl("v", ctype, (width,)), VectorLoad(values, at("x", AT)), VectorStore(at("y", AT), values))
    params = (Param("x", ctype, True, True), Param("y", ctype, True), Param("i", "int"))
    text = print_kernel(replace(kernel(*body), params=params), Target.OPENCL)
    vector, name = f"{ctype.replace('unsigned char', 'uchar')}{lanes}", "wide" if width == lanes else "wide0"
    assert f"const {vector} {name} = vload{lanes}(0, &x[i]);" in text
    assert f"vstore{lanes}(({vector})(v[0], " in text
    last = width - lanes
    name, place = ("wide", "i") if not last else (f"wide{width // lanes - 1}", f"i + {last}")
    assert f"v[{width - 1}] = {name}.s{lanes - 1:x};" in text
    assert f"{name} = vload{lanes}(0, &x[{place}]);" in text
    assert f"v[{width - 1}]), 0, &y[{place}]);" in text


def test_wide_store_in_cuda_and_a_name_that_is_taken() -> None:
    values = (Var("wide"), Var("b"), Const("1.0f"), Const("2.0f"))
    text = inner(kernel(Decl("wide", "float"), Decl("b", "float"), VectorLoad((Var("wide"), Var("b")), at("x", AT)),
                        VectorStore(at("y", Binary("*", AT, Const("4"))), values)), Target.CUDA)  # fmt: skip
    assert "const float2 wide_2 = *(const float2*)&x[i];" in text
    assert "*(float4*)&y[i * 4] = make_float4(wide, b, 1.0f, 2.0f);" in text


def test_cuda_has_no_wide_access_of_a_struct() -> None:
    load = VectorLoad((Var("a"), Var("b")), at("x", AT))
    with pytest.raises(PrintError):
        print_kernel(replace(kernel(load), params=(Param("x", "Body", True),)), Target.CUDA)


def sealed(**changes: object) -> Kernel:
    body = (Assign(at("y", AT), Const("1.0f")),)
    base = kernel(*body, mapped=True, single=False, tail=(Assign(at("y", AT), Const("2.0f")),),
                  prologue=(Decl("i", "int", init=Var("threadIdx.x"), const=True),),
                  inside=Binary("<", AT, Var("n")), inside_block=Binary("<", Var("b"), Var("n")))  # fmt: skip
    return seal(replace(base, **changes))  # type: ignore[arg-type]


def test_mapped_kernel_prints_body_or_tail() -> None:
    assert inner(sealed(), Target.CUDA) == (
        "const int i = (int)threadIdx.x;\nif (i < n) {\ny[i] = 1.0f;\n} else {\ny[i] = 2.0f;\n}\n}"
    )


def test_one_instance_a_thread_needs_no_tail() -> None:
    assert "else" not in inner(sealed(single=True), Target.CUDA)
    assert "if (b < n)" in inner(sealed(single=True, body=(Barrier(),)), Target.CUDA)
    assert "else" in inner(sealed(single=True, body=(Barrier(),)), Target.CUDA)


def test_without_a_tail_every_thread_runs_the_body() -> None:
    assert "if" not in inner(sealed(tail=None, inside=None, inside_block=None), Target.CUDA)


def test_shared_arrays_are_aligned_for_wide_accesses() -> None:
    shared = (Decl("t", "float", (8, 9), None, Space.SHARED),)
    assert "__shared__ __align__(16) float t[8][9];" in inner(sealed(shared=shared, body=(Barrier(),)), Target.CUDA)
    assert "__local float t[8][9] __attribute__((aligned(16)));" in inner(
        sealed(shared=shared, body=(Barrier(),)), Target.OPENCL
    )


def test_barrier_fences_what_threads_exchange() -> None:
    quiet = kernel(Assign(at("y", AT), at("x", AT)), Barrier())
    assert "barrier(CLK_LOCAL_MEM_FENCE);" in inner(quiet, Target.OPENCL)
    loud = kernel(Assign(at("y", AT), at("x", AT)), Barrier(), Assign(at("y", Const("0")), at("y", Const("1"))))
    assert "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);" in inner(loud, Target.OPENCL)


def test_loops_and_pragmas() -> None:
    loop = Loop("j", Const("0"), Var("n"), (Assign(at("y", Var("j")), Const("0.0f")),), step=4, unroll=0,
                role=LoopRole.TILE)  # fmt: skip
    assert inner(kernel(loop), Target.OPENCL).startswith(
        "#pragma unroll\nfor (int j = 0; j < n; j += 4) {\ny[j] = 0.0f;"
    )
    assert "#pragma unroll 2\n" in inner(kernel(replace(loop, unroll=2)), Target.CUDA)
    assert "pragma" not in inner(kernel(replace(loop, unroll=None)), Target.CUDA)


def test_baseline_form_of_wide_and_unsigned_axes() -> None:
    source = replace(kernel(Assign(at("y", AT), Const("1.0f"))), axes=(Axis("i", "z", Const("1"), Var("n"), "size_t"),))
    assert inner(source, Target.CUDA).startswith(
        "const size_t i = (size_t)blockIdx.z * blockDim.z + threadIdx.z;\nif (i >= 1 && i < n) {"
    )
    assert "const size_t i = (size_t)(get_group_id(2) * get_local_size(2) + get_local_id(2));" in inner(
        source, Target.OPENCL
    )


@pytest.mark.parametrize("expr, cuda, opencl", [
    (Call("expf", (Var("f"),)), "expf(f)", "exp(f)"),
    (Call("fmaxf", (Var("f"), Const("0"))), "fmaxf(f, 0)", "fmax(f, 0.0f)"),
    (Call("powf", (Var("f"), Const("2.0"))), "powf(f, 2.0)", "pow(f, (float)(2.0))"),
    (Call("sqrtf", (Var("n"),)), "sqrtf(n)", "sqrt((float)(n))"),
    (Call("max", (Var("f"), Const("0.0f"))), "max(f, 0.0f)", "fmax(f, 0.0f)"),
    (Call("max", (Var("f"), Const("0"))), "max(f, 0)", "fmax(f, (float)(0))"),
    (Call("min", (Var("n"), Const("3"))), "min(n, 3)", "min(n, 3)"),
    (Call("abs", (Var("n"),)), "abs(n)", "(int)abs(n)"),
    (Call("__fdividef", (Var("f"), Binary("+", Var("f"), Const("1")))), "__fdividef(f, f + 1)", "f / (f + 1)"),
    (Call("__popc", (Var("n"),)), "__popc(n)", "popcount(n)"),
    (Call("make_float2", (Var("f"), Var("f"))), "make_float2(f, f)", "(float2)(f, f)"),
    (Cast("unsigned long long", Var("n")), "(unsigned long long)n", "(ulong)n"),
    (Const("3ull"), "3ull", "3ul"),
    (Const("nullptr"), "nullptr", "0"),
    (Var("blockDim.y"), "blockDim.y", "(uint)get_local_size(1)"),
    (Unary("-", Unary("-", Var("n"))), "-(-n)", "-(-n)"),
    (Binary("-", Var("n"), Unary("-", Const("1"))), "n - (-1)", "n - (-1)"),
    (Binary("-", Var("n"), Binary("-", Var("n"), Const("1"))), "n - (n - 1)", "n - (n - 1)"),
    (Binary("%", Binary("*", Var("n"), Const("2")), Const("3")), "n * 2 % 3", "n * 2 % 3"),
])  # fmt: skip
def test_expression_in_both_languages(expr: Expr, cuda: str, opencl: str) -> None:
    types = {"f": "float", "n": "int"}
    assert ExprPrinter(Target.CUDA, types).text(expr) == cuda
    assert ExprPrinter(Target.OPENCL, types).text(expr) == opencl


@pytest.mark.parametrize("body", ["__shfl_down_sync(0xffffffff, v, 1)", 'asm("")', "f<int>(3)"])
def test_opencl_says_what_it_lacks(body: str) -> None:
    with pytest.raises(PrintError, match="no counterpart"):
        print_kernel(kernel(Opaque(f"float v = {body};")), Target.OPENCL)


def test_prelude_in_opencl() -> None:
    source = verbatim_kernel("""
        struct P { float x; };
        constexpr int N = 4;
        __constant__ float w[N] = {1, 2, 3, 4};
        __device__ float first(const P* p, float4 q) { const P* r = p + 1; return fmaxf(r->x, 0) + float(1); }
        __global__ void k(P* p, long long n) {
            __shared__ P s[N];
            const float4* v = reinterpret_cast<const float4*>(p);
            unsigned long long big = static_cast<unsigned long long>(n);
            s[threadIdx.x] = p[threadIdx.x];
            __syncthreads();
            p[0].x = first(s, v[0]) + w[1] + __ldg(&p[1].x) + big;
        }""", "k")  # fmt: skip
    text = print_kernel(source, Target.OPENCL)
    assert "typedef struct P P;" in text
    assert "enum { N = 4 };" in text
    assert "__constant float w[N] = {1, 2, 3, 4};" in text
    assert "overloadable)) float first(const __local P* p, float4 q) { const __local P* r = p + 1;" in text
    assert "fmax((float)(r->x), (float)(0)) + ((float)(1))" in text
    assert "const __global float4* v = ((const __global float4*)(p));" in text
    assert "ulong big = ((ulong)(n));" in text
    assert "__kernel void k(__global P* p, long n)" in text
    assert "(*(&p[1].x))" in text


def test_constants_of_the_standard_headers_need_no_header_in_cuda() -> None:
    source = kernel(Assign(at("y", AT), Const("FLT_MAX")), prelude="__device__ float top() { return INFINITY; }")
    text = print_kernel(source, Target.CUDA)
    assert "#define FLT_MAX 3.402823466e+38f" in text
    assert "#define INFINITY" in text
    assert "#define" not in print_kernel(source, Target.OPENCL)


def test_launch_bounds_macros_and_qualifiers() -> None:
    source = kernel(launch_bounds="64", macros=(("TILE", "8"),))
    text = print_kernel(source, Target.CUDA)
    assert '#ifndef TILE\n#define TILE 8\n#endif\nextern "C" __global__ void __launch_bounds__(64) k(' in text
    assert "(const float* __restrict__ x, float* y, int n)" in text
    assert "(__global const float* restrict x, __global float* y, int n)" in print_kernel(source, Target.OPENCL)


def test_entry_named_like_a_word_of_opencl() -> None:
    source = replace(kernel(), name="kernel")
    assert entry_name(source, Target.CUDA) == "kernel"
    assert entry_name(source, Target.OPENCL) == "kernel_"
    assert print_kernel(source, Target.OPENCL).startswith("#define kernel kernel_\n")
    assert entry_name(kernel(), Target.OPENCL) == "k"


def test_types_that_opencl_lacks_or_lays_out_otherwise() -> None:
    for ctype in ("half2", "__half2", "__nv_bfloat162", "nv_bfloat162", "float3"):
        with pytest.raises(PrintError):
            print_kernel(replace(kernel(), params=(Param("x", ctype, True),)), Target.OPENCL)
