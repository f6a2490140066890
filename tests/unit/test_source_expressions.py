"""Expressions with effects, addresses and other types: what they become, and what every analysis sees of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from genome.analysis.analyse import analyse
from genome.analysis.divergence import divergent_barrier
from genome.analysis.effects import effects, holds_barrier
from genome.analysis.facts import Uniformity
from genome.analysis.races import race
from genome.analysis.scope import make_scope
from genome.analysis.touches import touches
from genome.analysis.uniformity import Levels
from genome.genes import Gene, Genome, Site
from genome.ir.expr import Var
from genome.ir.kernel import Kernel
from genome.ir.print_errors import PrintError
from genome.ir.print_source import print_kernel
from genome.ir.stmt import Opaque, VectorLoad, VectorStore, flatten, written_names
from genome.limits import DeviceLimits
from genome.moves import survey
from genome.replay import replay
from genome.sizes import SizeExpr
from genome.source.frontend import parse_kernel
from genome.source.opening import open_kernel
from genome.source.round_trip import round_trip
from genome.spec import ArgSpec, KernelSpec, LaunchSpec, ProblemSize, Role
from genome.transforms.base import Context
from genome.transforms.builtin import BUILTIN
from genome.variant import Target
from tests.unit.test_source_ptx import ptx

EXPRESSIONS = Path(__file__).parents[1] / "data" / "expressions"

HEAD = "__global__ void k(const float* x, float* y, int* h, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; "
HELPERS = """__device__ int next(int& seed) { goto end; end: return seed = seed * 5 + 1; }
__device__ float out(float v, float* place, const float* from) { goto end; end: *place = v; return from[1]; }
struct Node { float* data; int count; };
__device__ void keep(Node* node, float* p) { goto end; end: node->data = p; }
"""


def read(body: str, helpers: str = HELPERS) -> Kernel:
    return parse_kernel(f"{helpers}{HEAD}{body} }}", "k")


def text(body: str, target: Target = Target.CUDA) -> str:
    return print_kernel(read(body), target)


def understood(kernel: Kernel) -> bool:
    return not any(isinstance(stmt, Opaque) for stmt in flatten(kernel.body))


@pytest.mark.parametrize("body, expected", [
    ("int q = 3; y[q++] = 1.0f;", ["y[3] = 1.0f;"]),
    ("int q = i; int r = (q /= 2) % 3; y[r] = q;", ["y[i / 2 % 3] = i / 2;"]),
    ("int q = 3; if (n) q = i; y[q++] = 1.0f; y[q] = 2.0f;", ["const int q_before = q;", "y[q_before] = 1.0f;"]),
    ("float v = y[i] = x[i]; y[0] = v;", ["const float y_value = x[i];", "y[i] = y_value;", "float v = y_value;"]),
    ("y[i] = (h[i] = n, n + 1);", ["h[i] = n;", "y[i] = n + 1;"]),
    ("int at = atomicAdd(&h[0], 1); y[at] = x[i];", ["int at = atomicAdd(&h[0], 1);", "y[at] = x[i];"]),
    ("if (atomicCAS(h, 0, i) == 0) y[i] = 1;", ["if (atomicCAS(&h[0], 0, i) == 0) {"]),
    ("atomicAdd((unsigned*)&h[i], 1u);", ["atomicAdd(&h[i], 1u);"]),
    ("float v = x[i]; v += __shfl_down_sync(~0u, v, 16); y[i] = v;", ["v += __shfl_down_sync(~0u, v, 16);"]),
    ("__syncwarp(); y[i] = __ballot_sync(0xffffffff, i > 2);", ["__syncwarp();"]),
    ("int s = i; y[i] = next(s);", ["y[i] = next(s);"]),
    ("float v; y[i] = out(x[i], &v, x + i) + v;", ["float v;", "y[i] = out(x[i], &v, &x[i]) + v;"]),
    ("y[i] = __ldcs(&x[i]) + __ldg(x + 2);", ["y[i] = x[i] + x[2];"]),
    ("int b = *(const int*)&x[i]; *(int*)(y + i) = b;", ["int b = __float_as_int(x[i]);", "y[i] = __int_as_float(b);"]),
    ("((unsigned*)h)[i] = 7u;", ["h[i] = (int)7u;"]),
    ("y[i] = ((const float4*)x)[n].z;", ["y[i] = x[(long long)n * 4 + 2];"]),
    ("const float2* p = (const float2*)(x + 2); y[i] = p[3].y;", ["y[i] = x[2 + 6 + 1];"]),
    ("const float* p = x; for (; p < x + n; p += 3) y[i] += *p;", ["while (p_at < n) {", "y[i] += x[p_at];"]),
])  # fmt: skip
def test_what_an_expression_becomes(body: str, expected: list[str]) -> None:
    kernel = read(body)
    assert understood(kernel)
    lines = [line.strip() for line in print_kernel(kernel, Target.CUDA).splitlines()]
    assert [line for line in lines if line in expected] == expected


def test_wide_accesses_are_those_of_the_array() -> None:
    kernel = read("float4 v = ((const float4*)x)[i]; *(float4*)&y[4 * i] = v; ((int4*)y)[n] = make_int4(1, 2, 3, 4);")
    load, *stores = (stmt for stmt in flatten(kernel.body) if isinstance(stmt, VectorLoad | VectorStore))
    assert isinstance(load, VectorLoad)
    assert load.source.array == "x"
    assert [len(store.values) for store in stores if isinstance(store, VectorStore)] == [4, 4]
    assert {access.array for access in effects(kernel.body).stores} == {"y"}
    assert len(effects(kernel.body).reads) == 4
    assert "= make_float4(__int_as_float(1)" in print_kernel(kernel, Target.CUDA)
    assert "vload4(0, &x[" in print_kernel(kernel, Target.OPENCL)


def test_wide_loads_hand_nothing_from_turn_to_turn_but_what_they_touch() -> None:
    loop = "for (int j = 0; j < n; j++) { float2 v = ((float2*)y)[j]; y[2 * j + 3] = v.y; }"
    found = analyse(read(loop)).dependences
    assert {dependence.name for dependence in found} == {"y"}
    assert {dependence.hazard.value for dependence in found} >= {"flow"}


@pytest.mark.parametrize("body", [
    "int q = 1; y[q++] = q;",  # C leaves open which value is stored
    "unsigned char* b = (unsigned char*)y; b[i] = 1;",  # parts of elements
    "double d = ((const double*)x)[i]; y[i] = d;",  # several elements in one number
    "float* p = i ? y : (float*)x; *p = 1;",
    "float* p = y; if (n > 2) p = (float*)h; *p = 1;",  # two arrays
    "Node node; keep(&node, y); y[i] = 1;",  # what is kept there leads to memory
    "y[i] = unknown(i, y);",  # nothing is known of it
    "atomicMax((unsigned*)&h[i], 1u);",  # another order of the same bits
    "__shared__ long long s[4]; atomicAdd((unsigned long long*)&s[h[i]], 1ull);",  # there is none for the other sign
    "y[i] = __syncthreads_or(i);",
])  # fmt: skip
def test_what_is_not_followed_stays_text(body: str) -> None:
    kernel = read(body)
    opaque = [stmt for stmt in flatten(kernel.body) if isinstance(stmt, Opaque)]
    assert opaque
    assert {"x", "y", "h"} & {name for stmt in opaque for name in (*stmt.reads, *stmt.writes)}


def test_rows_that_a_helper_sees_as_one_array_stay_with_the_helper() -> None:
    helper = "__device__ void clear(float rows[4][8], int n) { float* all = (float*)rows; all[n] = 0; }"
    kernel = read("__shared__ float rows[4][8]; clear(rows, n); y[i] = rows[1][2];", helper)
    assert "clear(&rows[0], n);" in print_kernel(kernel, Target.CUDA)
    assert {"rows"} <= set(written_names(kernel.body))


def test_what_a_call_is_given_may_be_written() -> None:
    kernel = read("int s = 1; float v = 0; y[next(s)] = out(x[i], &v, x); if (s > 3) y[i] = v;")
    assert understood(kernel)
    assert {"s", "v", "x", "y"} <= set(written_names(kernel.body))
    levels = Levels(make_scope(kernel))
    assert levels.of(Var("s")) is Uniformity.DIVERGENT
    assert levels.of(Var("v")) is Uniformity.DIVERGENT
    assert touches(kernel.body, frozenset({"x", "y"})).written == {"x", "y"}
    accesses = analyse(kernel).accesses
    assert all(access.form is None for access in accesses if access.array == "x" and access.mode.value == "write")


def test_a_value_that_a_call_changes_is_not_put_into_uses() -> None:
    lines = text("int s = i; int t = s + 1; next(s); y[s] = t;").splitlines()
    assert "    y[s] = t;" in lines or "    y[s] = s + 1;" not in lines
    assert "    next(s);" in lines


def test_the_old_value_of_an_atomic_differs_between_threads() -> None:
    kernel = read("int at = atomicAdd(&h[0], 1); if (at == 0) { __syncthreads(); } y[at] = 1;")
    assert Levels(make_scope(kernel)).of(Var("at")) is Uniformity.DIVERGENT
    assert divergent_barrier(kernel) is not None
    store = next(access for access in analyse(kernel).accesses if access.array == "y")
    assert store.form is None


@pytest.mark.parametrize("body, racing", [
    ("int at = atomicAdd(&c[0], 1); y[at] = c[1];", True),
    ("int at = atomicAdd(&c[0], 1); __syncthreads(); y[at] = c[1];", False),
    ("c[threadIdx.x] = 1; y[i] = out(1, &y[0], f); f[0] = 2;", True),
    ("c[threadIdx.x] = 1; y[i] = out(1, &y[0], x); __syncthreads(); f[threadIdx.x] = 2;", False),
    ("y[i] = c[0] + atomicAdd(&c[0], 1);", True),
])  # fmt: skip
def test_shared_arrays_that_calls_and_atomics_touch(body: str, racing: bool) -> None:
    found = race(read(f"__shared__ int c[64]; __shared__ float f[64]; {body}"))
    assert (found is not None) == racing


def test_threads_of_a_warp_meet() -> None:
    assert holds_barrier(read("__syncwarp(); y[i] = 1;").body)
    assert not holds_barrier(read("y[i] = __shfl_sync(~0u, i, 0);").body)


@pytest.mark.parametrize("body, why", [
    ("int s = i; y[i] = next(s);", "reference"),
    ("y[i] = __shfl_xor_sync(~0u, x[i], 1);", "__shfl_xor_sync has no counterpart"),
    ("__syncwarp(); y[i] = 1;", "__syncwarp has no counterpart"),
    ("auto block = cooperative_groups::this_thread_block(); y[i] = block.size();", "thread_block has no counterpart"),
])  # fmt: skip
def test_what_opencl_does_not_have(body: str, why: str) -> None:
    with pytest.raises(PrintError, match=why):
        text(body, Target.OPENCL)


def test_groups_are_ranks_and_shuffles() -> None:
    kernel = read("""namespace cg = cooperative_groups; auto block = cg::this_thread_block();
        auto warp = cg::tiled_partition<32>(block); auto four = cg::tiled_partition<4>(block);
        y[block.thread_rank()] = warp.shfl_down(x[i], 4); warp.sync(); h[four.meta_group_rank()] = warp.any(i > 2);
        h[i] = block.thread_index().y + warp.size();""")  # fmt: skip
    assert understood(kernel)
    printed = print_kernel(kernel, Target.CUDA)
    rank = "(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x"
    assert f"y[{rank}] = __shfl_down_sync(0xffffffffu, x[i], 4);" in printed
    assert f"h[({rank}) / 4u] = __any_sync(0xffffffffu, i > 2);" in printed
    assert "threadIdx.y + 32u" in printed
    assert not understood(
        read("auto t = cooperative_groups::tiled_partition<4>(this_block()); y[i] = t.shfl(x[i], 0);")
    )


def spec(body: str) -> KernelSpec:
    arrays = (("x", "float32", Role.IN), ("y", "float32", Role.OUT), ("h", "int32", Role.INOUT))
    args = tuple(ArgSpec(name, dtype, role, (SizeExpr("4*n"),)) for name, dtype, role in arrays)
    args += (ArgSpec("n", "int32", value=SizeExpr("n")),)
    launch = LaunchSpec((64, 1, 1), (SizeExpr("n"),))
    return KernelSpec("k", f"{HELPERS}{HEAD}{body} }}", "k", args, launch, (ProblemSize((("n", 256),)),))


WIDE_LOOP = (
    "if (i < n) { float s = 0; for (int j = 0; j < n; j++) { float4 v = ((const float4*)x)[j]; s += v.x; } y[i] = s; }"
)


def test_rewrites_do_not_take_wide_accesses_apart() -> None:
    given = spec(WIDE_LOOP)
    found, refused = survey(given, Genome(), BUILTIN, Target.CUDA, DeviceLimits())
    assert not [move for move in found if move.site.label == "x" and move.transform.name == "shared_tile"]
    why = next(move.reason for move in refused if move.site.label == "x" and move.transform.name == "shared_tile")
    assert "several elements of it at once" in why
    gene = Gene.of("shared_tile", Site("x", "read.reused[0]"), pad=0, transpose=0)
    done = replay(given, Genome((gene,)), BUILTIN, Context(given, Target.CUDA, DeviceLimits()))
    assert not done.applied
    assert "take apart" in done.skipped[0].reason


@pytest.mark.parametrize("body", [
    "if (i < n) y[i] = __shfl_xor_sync(~0u, x[i], 1);",
    "if (i < n) { __syncwarp(); y[i] = x[i]; }",
])  # fmt: skip
def test_the_thread_map_stays_where_threads_of_a_warp_meet(body: str) -> None:
    found, refused = survey(spec(body), Genome(), BUILTIN, Target.CUDA, DeviceLimits())
    mapping = {"coarsen_blocked", "coarsen_strided", "block_shape", "cooperate"}
    assert not mapping & {move.transform.name for move in found}
    assert mapping & {move.transform.name for move in refused}


@pytest.mark.parametrize("name", ["mixed:lanes", "mixed:slots", "mixed:split", "mixed:walks", "cuda_only:votes"])
def test_the_compiler_sees_the_same_kernel(name: str) -> None:
    file, entry = name.split(":")
    path = EXPRESSIONS / f"{file}.cu"
    written = path.read_text()
    kernel = parse_kernel(written, entry, path=str(path))
    assert understood(kernel)
    back = round_trip(open_kernel(written, entry, str(path), (), (), ()), str(path))
    theirs, ours = ptx(written, entry), ptx(print_kernel(kernel, Target.CUDA), entry)
    assert theirs == ptx(print_kernel(back, Target.CUDA), entry)
    for kind in ("atom.", "shfl.", "vote.", "bar.warp", "ld.global.v4", "st.global.v4"):
        assert sum(kind in line for line in theirs) == sum(kind in line for line in ours), kind
