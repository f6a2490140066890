"""What an inspection says of a kernel: sectors counted address by address, and sentences that a person needs."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import pytest

from evo.campaign import load_campaign
from evo.inspection.inspect import inspect_kernel
from evo.inspection.order import orders
from evo.inspection.record import FindingKind, Inspection
from evo.kernel_guess import file_kernel
from genome.source.frontend import entries
from genome.transforms.builtin import BUILTIN
from genome.variant import Target

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "tests" / "data" / "kernels"
CASES = [(path, entry) for path in sorted(KERNELS.glob("*.cu")) for entry in entries(path.read_text(), path.name)]
IDIOMS = {
    "conv3x3": "stencil", "gelu": "map", "gemv": "contraction", "histogram": "histogram", "layernorm": "row reduction",
    "matmul": "contraction", "nbody": "all pairs", "softmax": "row reduction", "stencil": "stencil",
    "sum": "full reduction", "transpose": "permutation", "vector_add": "map",
}  # fmt: skip


@lru_cache(maxsize=32)
def example(name: str) -> Inspection:
    return inspect_kernel(load_campaign(ROOT / "examples" / name / "campaign.yaml").spec, BUILTIN, Target.CUDA)


def bare(path: Path, entry: str | None = None) -> Inspection:
    found = file_kernel(path, entry)
    return inspect_kernel(found.spec, BUILTIN, Target.CUDA, guesses=found.guesses)


def written(tmp_path: Path, text: str) -> Inspection:
    (tmp_path / "kernel.cu").write_text(text)
    return bare(tmp_path / "kernel.cu")


def check(seen: Inspection) -> None:
    """What holds of every inspection."""
    first, last = seen.kernel.line, seen.kernel.last_line
    lines = [access.line for access in seen.accesses] + [loop.line for loop in seen.loops]
    lines += [branch.line for branch in seen.branches] + [axis.line for axis in seen.axes if axis.line]
    lines += [at.line for group in seen.refusals for at in group.moves if at.line]
    lines += [site.line for offer in (*seen.offers, *seen.later) for site in offer.sites if site.line]
    lines += [line for finding in seen.findings for line in finding.lines]
    assert all(first <= line <= last for line in lines), sorted(set(lines))
    kinds = [list(FindingKind).index(finding.kind) for finding in seen.findings]
    assert kinds == sorted(kinds) and all(finding.text.endswith(".") for finding in seen.findings)
    assert len(seen.summary) >= 1 and all(sentence.endswith(".") for sentence in seen.summary)
    data = json.loads(json.dumps(seen.to_json()))
    assert data["format"] == 1 and "source" not in data


@pytest.mark.parametrize("name", sorted(IDIOMS))
def test_every_example_is_understood(name: str) -> None:
    seen = example(name)
    check(seen)
    assert IDIOMS[name] in {idiom.name for idiom in seen.idioms}
    assert seen.axes and not seen.opaque and not seen.kernel.geometry
    assert all(argument.use != "not touched" for argument in seen.arguments)
    assert seen.work.at and seen.work.at[0].bytes > 0


@pytest.mark.parametrize(("path", "entry"), CASES, ids=[entry for _, entry in CASES])
def test_every_kernel_can_be_inspected_without_a_campaign(path: Path, entry: str) -> None:
    seen = bare(path, entry)
    check(seen)
    assert seen.guesses and "evo-tune init" in seen.guesses[-1]
    names = {argument.name for argument in seen.arguments if argument.array}
    assert {access.array for access in seen.accesses if access.space == "global"} <= names


Address = Callable[[int, int, int, int], int]
WARPS: list[tuple[str, str, str, Address]] = [
    # example, array, mode, element that a thread (x, y) touches in iteration k of a matrix of width n
    ("matmul", "A", "read", lambda x, y, k, n: y * n + k),
    ("matmul", "B", "read", lambda x, y, k, n: k * n + x),
    ("matmul", "C", "write", lambda x, y, k, n: y * n + x),
    ("gemv", "A", "read", lambda x, y, k, n: x * n + k),
    ("gemv", "x", "read", lambda x, y, k, n: k),
    ("gemv", "y", "write", lambda x, y, k, n: x),
    ("transpose", "in", "read", lambda x, y, k, n: y * n + x),
    ("transpose", "out", "write", lambda x, y, k, n: x * n + y),
    ("layernorm", "x", "read", lambda x, y, k, n: x * n + k),
    ("layernorm", "gamma", "read", lambda x, y, k, n: k),
]


@pytest.mark.parametrize(("name", "array", "mode", "address"), WARPS, ids=[f"{w[0]}-{w[1]}" for w in WARPS])
def test_sectors_are_those_that_a_warp_touches(name: str, array: str, mode: str, address: Address) -> None:
    seen = example(name)
    wide, deep, _ = seen.kernel.block
    width = {"matmul": 512, "gemv": 2048, "transpose": 2048, "layernorm": 1024}[name]
    lanes = [(lane % wide, lane // wide % deep) for lane in range(32)]
    elements = {address(x, y, 0, width) for x, y in lanes}
    sectors = {4 * element // 32 for element in elements}
    found = [access for access in seen.accesses if access.array == array and access.mode == mode]
    assert found and {access.sectors for access in found} == {len(sectors)}
    assert {access.ideal_sectors for access in found} == {-(-4 * len(elements) // 32)}


def test_bytes_are_not_words() -> None:
    data = next(access for access in example("histogram").accesses if access.array == "data")
    assert (data.sectors, data.ideal_sectors) == (1, 1)


def test_a_naive_product_is_read_as_one() -> None:
    seen = example("matmul")
    ways = {access.array: access.coalescing for access in seen.accesses}
    assert ways == {"A": "broadcast", "B": "contiguous", "C": "contiguous"}
    contraction = next(idiom for idiom in seen.idioms if idiom.name == "contraction")
    assert contraction.arrays[0] == "C" and set(contraction.arrays) == {"A", "B", "C"}
    loop = seen.loops[0]
    assert (loop.site, loop.role, loop.trips, dict(loop.trips_at)) == (
        "k", "reduction[0]", "K", {"M=512,N=512,K=512": 512, "M=500,N=500,K=500": 500},
    )  # fmt: skip
    assert loop.reductions == ("sum",) and loop.independent.holds
    assert (seen.work.at[0].bytes, seen.work.at[0].flops) == (8 * 512 + 4, 2 * 512)
    assert [(axis.name, axis.dimension, axis.extent, axis.threads) for axis in seen.axes] == [
        ("c", "x", "N", 16), ("r", "y", "M", 16),
    ]  # fmt: skip


def test_a_stride_is_named_with_what_would_mend_it() -> None:
    finding = next(f for f in example("gemv").findings if f.kind is FindingKind.MEMORY)
    assert "elements of A N apart" in finding.text and "32 sectors of 32 bytes instead of 4" in finding.text
    assert "cooperate@r" in finding.suggests and finding.lines == (7,)
    turned = next(f for f in example("transpose").findings if f.kind is FindingKind.MEMORY)
    assert "write elements of out H apart" in turned.text and "transpose_tile@out" in turned.suggests


def test_well_placed_accesses_come_last_and_atomics_queue() -> None:
    seen = example("sum")
    atomic = next(f for f in seen.findings if f.kind is FindingKind.ATOMIC)
    assert "Every thread updates the same element of total" in atomic.text and atomic.suggests == ("cascade@total",)
    good = next(f for f in seen.findings if f.kind is FindingKind.GOOD)
    assert seen.findings.index(good) > seen.findings.index(atomic)


def test_a_possible_overlap_names_the_assumption_that_excludes_it(tmp_path: Path) -> None:
    seen = written(tmp_path, """
        __global__ void accumulate(const float* A, const float* x, float* y, int M, int N) {
          int c = blockIdx.x * blockDim.x + threadIdx.x;
          if (c < N) {
            for (int r = 0; r < M; r++) y[c] += A[r * N + c] * x[r];
          }
        }""")  # fmt: skip
    finding = next(f for f in seen.findings if f.kind is FindingKind.GRANT)
    assert finding.grant == "assume.no_alias" and "promote@y" in finding.text and "{no_alias: true}" in finding.text
    assert seen.findings[0] == finding
    group = next(group for group in seen.refusals if any(at.transform == "promote" for at in group.moves))
    assert group.grant == "assume.no_alias" and "overlap" in group.reason


OUTSIDE = {
    "a texture": ("float v = tex2D(image, i, 0); y[i] = v;", "texture", "texture<float, 2> image;\n"),
    "inline assembly": ('asm volatile("membar.gl;"); y[i] = x[i];', "inline assembly", ""),
    "cooperative groups": (
        "auto block = cooperative_groups::this_thread_block(); block.sync(); y[i] = x[i];", "cooperative groups",
        "#include <cooperative_groups.h>\n",
    ),
    "another kernel": ("if (i == 0) child<<<1, 32>>>(y); y[i] = x[i];", "launches another kernel",
                       "__global__ void child(float* y) { y[threadIdx.x] = 0.0f; }\n"),
    "a layout library": ("auto layout = make_layout(make_shape(n, n)); y[i] = x[layout(i, 0)];", "layout library", ""),
}  # fmt: skip


@pytest.mark.parametrize("what", sorted(OUTSIDE))
def test_what_is_not_looked_into_is_named_with_its_line(what: str, tmp_path: Path) -> None:
    line, why, above = OUTSIDE[what]
    head = "__global__ void f(const float* x, float* y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    text = f"{above}{head}  if (i < n) {{\n    {line}\n  }}\n}}\n"
    (tmp_path / "kernel.cu").write_text(text)
    seen = bare(tmp_path / "kernel.cu", "f")
    check(seen)
    number = text[: text.index(line)].count("\n") + 1
    assert {region.line for region in seen.opaque if why in region.why} == {number}
    said = [finding for finding in seen.findings if finding.kind is FindingKind.OPAQUE and why in finding.text]
    assert [finding.lines for finding in said] == [(number,)]


def test_a_kernel_that_nothing_rewrites_says_what_is_left(tmp_path: Path) -> None:
    seen = written(tmp_path, """
        __global__ void lanes(const float* x, float* y, int n) {
          int i = blockIdx.x * blockDim.x + threadIdx.x;
          if (i < n) {
            unsigned lane;
            asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
            y[i] = x[i] * lane;
          }
        }""")  # fmt: skip
    assert not any(offer.structural for offer in seen.offers)
    first = seen.findings[0]
    assert first.kind is FindingKind.BLOCKED and "Nothing that rewrites the body applies" in first.text
    assert "`tunables:`" in first.text and "The main reason" in first.text


def test_a_grid_of_blocks_is_why_the_launch_stays(tmp_path: Path) -> None:
    seen = written(tmp_path, """
        __global__ void rows(const float* x, float* y, int rows, int cols) {
          float s = 0.0f;
          for (int j = threadIdx.x; j < cols; j += blockDim.x) s += x[blockIdx.x * cols + j];
          atomicAdd(&y[blockIdx.x], s);
        }""")  # fmt: skip
    assert not seen.axes and "grid of blocks" in seen.kernel.geometry
    assert any(seen.kernel.geometry in finding.text for finding in seen.findings)


def test_a_reason_against_many_transforms_is_told_first() -> None:
    seen = bare(KERNELS / "untidy.cu", "flip")  # and it is not known whether its 256 threads race for 64 elements
    first = seen.findings[0]
    assert any(finding.kind is FindingKind.DOUBT and "race on s" in finding.text for finding in seen.findings)
    assert first.kind is FindingKind.BLOCKED and "the threads of a block work together" in first.text
    group = next(group for group in seen.refusals if "work together" in group.reason)
    assert len(group.moves) >= 3


def test_reuse_of_a_block_is_counted_and_told_once() -> None:
    seen = example("matmul")
    found = [finding for finding in seen.findings if finding.kind is FindingKind.REUSE]
    assert len(found) == 1 and "each element of A and B 16 times" in found[0].text
    assert {"shared_tile@A (after strip)", "shared_tile@B (after strip)"} <= set(found[0].suggests)


RACE = """
__global__ void reverse(const float* x, float* y, int n) {
  __shared__ float s[256];
  int i = blockIdx.x * 256 + threadIdx.x;
  s[threadIdx.x] = x[i];
  %s
  y[i] = s[255 - threadIdx.x];
}
"""


@pytest.mark.parametrize(
    ("between", "kind", "said"),
    [
        ("", FindingKind.CORRECTNESS, "Threads race on s (lines 5 and 7)"),
        ("__syncthreads();", None, ""),
        ("if (threadIdx.x < 7) __syncthreads();", FindingKind.DOUBT, "reach the barrier on line 6 is not known"),
    ],
)
def test_mistakes_come_first_and_doubts_are_told_as_such(
    between: str, kind: FindingKind | None, said: str, tmp_path: Path
) -> None:
    seen = written(tmp_path, RACE % between)
    check(seen)
    wrong = [finding for finding in seen.findings if finding.kind in (FindingKind.CORRECTNESS, FindingKind.DOUBT)]
    assert bool(wrong) == bool(said) and (not said or any(f.kind is kind and said in f.text for f in wrong))


def test_an_order_is_told_once_for_a_loop_and_an_array(tmp_path: Path) -> None:
    text = "__global__ void add(const float* x, float* y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    text += "  if (i < n) for (int k = 0; k < n; k++) y[i] += x[k];\n}\n"
    seen = written(tmp_path, text)
    told = [order for order in orders(seen) if order.name == "y"]
    assert len(told) == 1 and told[0].between == "iterations of k" and told[0].sure and told[0].lines == (3,)
    assert len([item for item in seen.dependences if item.name == "y"]) == 3
    assert {alias.arrays for alias in seen.aliases} == {("x", "y")}
    assert seen.aliases[0].proof.grant == "assume.no_alias" and not seen.aliases[0].proof.holds
