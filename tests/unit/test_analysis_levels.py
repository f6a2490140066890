"""Which threads agree, how lanes touch memory, and who reaches barriers: single cases and what must be said of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genome.analysis.analyse import analyse
from genome.analysis.casts import mark_rounding
from genome.analysis.facts import BranchKind, KernelFacts, Uniformity
from genome.analysis.proof import Standing
from genome.ir.kernel import Kernel
from genome.source.frontend import parse_kernel
from genome.source.verbatim import verbatim_kernel
from genome.spec import Assumptions

PARAMETERS = "const float* x, const int* start, float* y, int n, int m"


def kernel_of(body: str, parameters: str = PARAMETERS) -> Kernel:
    return mark_rounding(parse_kernel(f"__global__ void f({parameters}) {{ {body} }}", "f"))


def facts_of(body: str, block: tuple[int, int, int] = (64, 1, 1)) -> KernelFacts:
    return analyse(kernel_of(body), Assumptions(no_alias=True), block)


LEVELS: list[tuple[str, tuple[int, int, int], Uniformity]] = [
    ("if (n > 3) y[threadIdx.x] = 0.0f;", (64, 1, 1), Uniformity.GRID),
    ("int k = n * blockDim.x; if (k > m) y[threadIdx.x] = 0.0f;", (64, 1, 1), Uniformity.GRID),
    ("if (start[m] > 3) y[threadIdx.x] = 0.0f;", (64, 1, 1), Uniformity.GRID),
    ("if (blockIdx.x == 0) y[threadIdx.x] = 0.0f;", (64, 1, 1), Uniformity.BLOCK),
    ("if (start[blockIdx.x] > 3) y[threadIdx.x] = 0.0f;", (64, 1, 1), Uniformity.BLOCK),
    ("__shared__ int s[64]; s[threadIdx.x] = 1; __syncthreads(); if (s[0] > 3) y[threadIdx.x] = 0.0f;", (64, 1, 1),
     Uniformity.BLOCK),
    ("if (threadIdx.x / 32 == 1) y[threadIdx.x] = 0.0f;", (64, 1, 1), Uniformity.WARP),
    ("int w = threadIdx.x >> 5; if (w < n) y[threadIdx.x] = 0.0f;", (64, 2, 1), Uniformity.WARP),
    ("if (threadIdx.x < 32) y[threadIdx.x] = 0.0f;", (64, 1, 1), Uniformity.WARP),
    ("if (threadIdx.y == 1) y[threadIdx.x] = 0.0f;", (32, 4, 1), Uniformity.WARP),
    ("if (threadIdx.y == 0) y[threadIdx.x] = 0.0f;", (64, 1, 1), Uniformity.GRID),
    ("int r = blockIdx.y * blockDim.y + threadIdx.y; if (start[r] > 2) y[threadIdx.x] = 0.0f;", (64, 1, 1),
     Uniformity.BLOCK),
    # near misses
    ("if (threadIdx.x < 40) y[threadIdx.x] = 0.0f;", (64, 1, 1), Uniformity.DIVERGENT),
    ("if (threadIdx.x / 16 == 1) y[threadIdx.x] = 0.0f;", (64, 1, 1), Uniformity.DIVERGENT),
    ("if (threadIdx.x / 32 == 1) y[threadIdx.x] = 0.0f;", (48, 2, 1), Uniformity.DIVERGENT),
    ("if (threadIdx.y == 1) y[threadIdx.x] = 0.0f;", (16, 4, 1), Uniformity.DIVERGENT),
    ("if (y[0] > 3.0f) y[threadIdx.x] = 0.0f;", (64, 1, 1), Uniformity.DIVERGENT),  # another thread may have written
    ("int k = 0; if (n > 2) k = threadIdx.x; if (k > m) y[threadIdx.x] = 0.0f;", (64, 1, 1), Uniformity.DIVERGENT),
    ("int k = 0; for (int q = 0; q < threadIdx.x; q++) k += 1; if (k > m) y[threadIdx.x] = 0.0f;", (64, 1, 1),
     Uniformity.DIVERGENT),
    ("int k = atomicAdd(&y[0], 1.0f) > 2.0f; if (k > m) y[threadIdx.x] = 0.0f;", (64, 1, 1), Uniformity.DIVERGENT),
    ("float a[4]; *(float4*)a = make_float4(n, threadIdx.x, 0, 0); if (a[1] > m) y[threadIdx.x] = 0.0f;", (64, 1, 1),
     Uniformity.DIVERGENT),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(LEVELS)))
def test_the_widest_group_that_agrees(number: int) -> None:
    body, block, level = LEVELS[number]
    branch = [branch for branch in facts_of(body, block).branches if branch.kind is BranchKind.IF][-1]
    assert branch.uniformity is level
    assert branch.proof.holds == (level is not Uniformity.DIVERGENT) and branch.proof.reason


LANES: list[tuple[str, tuple[int, int, int], str, str]] = [
    ("for (int k = threadIdx.x; k < n; k += 64) y[0] += x[blockIdx.x * n + k];", (64, 1, 1), "contiguous", "1"),
    ("y[0] += x[start[blockIdx.x] + threadIdx.x];", (64, 1, 1), "contiguous", "1"),
    ("y[0] += x[start[blockIdx.x] * n - threadIdx.x];", (64, 1, 1), "contiguous", "-1"),
    ("y[0] += x[threadIdx.y * n + threadIdx.x * 3];", (16, 16, 1), "strided", "3"),
    ("y[0] += x[threadIdx.x * n + threadIdx.y];", (1, 64, 1), "contiguous", "1"),
    ("y[0] += x[start[blockIdx.x] + blockIdx.y / 3];", (64, 1, 1), "broadcast", "0"),
    ("y[0] += x[start[threadIdx.x]];", (64, 1, 1), "indirect", ""),
    ("int c = 0; for (int k = 0; k < n; k++) { c = start[k + threadIdx.x]; y[0] += x[c + 1]; }", (64, 1, 1),
     "indirect", ""),
    ("y[0] += x[threadIdx.x % 8];", (64, 1, 1), "irregular", ""),
    ("y[0] += x[threadIdx.x * threadIdx.x];", (64, 1, 1), "irregular", ""),
    ("int c = 0; for (int k = 0; k < n; k++) { c = c * 2 + m; y[0] += x[c]; }", (64, 1, 1), "broadcast", "0"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(LANES)))
def test_how_a_warp_touches_memory(number: int) -> None:
    body, block, kind, stride = LANES[number]
    access = [access for access in facts_of(body, block).accesses if access.array == "x"][-1]
    assert access.coalescing is not None and access.coalescing.kind.value == kind
    found = access.coalescing.stride
    assert (str(found.constant) if found is not None else "") == stride
    assert access.coalescing.proof.holds == bool(stride)


GUARDED = """
  __shared__ float s[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    s[threadIdx.x % 64] = x[i];
    __syncthreads();
    y[i] = s[0];
  }
"""


def reached(body: str, multiples: tuple[tuple[str, int], ...] = ()) -> Standing:
    barriers = analyse(replace(kernel_of(body), multiples=multiples), block=(64, 1, 1)).barriers
    return barriers[-1].reached.standing


def test_barriers_are_reached_by_all_or_say_why_not() -> None:
    open_axis = GUARDED.replace("s[threadIdx.x % 64]", "s[i % 64]")
    guard = analyse(kernel_of(open_axis), block=(64, 1, 1)).barriers[0].reached
    assert guard.standing is Standing.DOUBTED and guard.grant == "assume.divisible"
    assert reached(open_axis, (("n", 128),)) is Standing.ASSUMED
    assert reached(open_axis, (("n", 32),)) is Standing.DOUBTED
    assert reached(open_axis.replace("i < n", "i < 640")) is Standing.PROVEN
    assert reached(GUARDED) is Standing.DOUBTED
    assert reached("__syncthreads();") is Standing.PROVEN
    assert reached("for (int k = 0; k < n; k++) __syncthreads();") is Standing.PROVEN
    assert reached("if (threadIdx.x < 32) __syncthreads();") is Standing.DOUBTED
    assert reached("while (m > start[threadIdx.x]) { if (n) return; m--; } __syncthreads();") is Standing.DOUBTED


def test_a_text_that_may_wait_is_a_barrier_in_doubt() -> None:
    (barrier,) = facts_of('if (threadIdx.x < 4) { asm("bar.sync 0;"); }').barriers
    assert barrier.reached.standing is Standing.DOUBTED


def test_agreement_on_loaded_values_rests_on_pointers_that_do_not_overlap() -> None:
    kernel = kernel_of("if (start[blockIdx.x] > 3) { y[threadIdx.x] = 0.0f; __syncthreads(); }")
    for given, standing in ((False, Standing.DOUBTED), (True, Standing.ASSUMED)):
        facts = analyse(kernel, Assumptions(no_alias=given), (64, 1, 1))
        proofs = [facts.branches[-1].proof, facts.barriers[-1].reached]
        assert [(proof.standing, proof.grant) for proof in proofs] == [(standing, "assume.no_alias")] * 2
    alone = kernel_of(
        "if (start[blockIdx.x] > 3) { y[threadIdx.x] = 0.0f; }", PARAMETERS.replace("* start", "* __restrict__ start")
    )
    assert analyse(alone, block=(64, 1, 1)).branches[-1].proof.standing is Standing.PROVEN
    silent = kernel_of("if (start[blockIdx.x] > 3) __syncthreads();")
    assert analyse(silent, block=(64, 1, 1)).barriers[-1].reached.standing is Standing.PROVEN


def test_who_left_in_an_iteration_before_does_not_come_by_again() -> None:
    body = "for (int k = 0; k < n; k++) { __syncthreads(); while (m > start[threadIdx.x]) { if (k) return; m--; } }"
    assert reached(body) is Standing.DOUBTED


def test_a_kernel_that_stays_text_says_so() -> None:
    kernel = verbatim_kernel('__global__ void f(float* y) { asm("exit;"); }', "f")
    facts = analyse(kernel)
    assert len(facts.opaque) == 1 and facts.opaque[0].barrier
    assert not facts.work.proof.holds and not facts.idioms
