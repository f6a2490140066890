"""The self-test of a kernel that a campaign begins with: a compiler's code of the text and of what was parsed."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.cache import DiskCache
from evaluator.cuda import ptx
from evo import self_test
from evo.self_test import misreading
from genome.ir.kernel import Kernel
from genome.sizes import SizeExpr
from genome.source.opening import Opened
from genome.source.round_trip import round_trip
from genome.spec import KernelSpec, LaunchSpec, ProblemSize, Tunable

SOURCE = """#include <cassert>
__global__ void k(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    assert(n > 0);
    #pragma unroll UNROLL
    for (int j = 0; j < n; j++) if (i < n) y[i] = y[i] * 0.5f + x[j];
}
"""


def spec(source: str = SOURCE) -> KernelSpec:
    launch = LaunchSpec((64, 1, 1), (SizeExpr("N"),))
    return KernelSpec("k", source, "k", (), launch, (ProblemSize((("N", 64),)),), tunables=(Tunable("UNROLL", ("4",)),))


@pytest.fixture
def cache(tmp_path: Path) -> DiskCache:
    return DiskCache(tmp_path, 1 << 20)


@pytest.fixture
def compiler() -> None:
    if ptx.ptx_compiler() is None:
        pytest.skip("neither NVRTC nor nvcc is installed")


@pytest.mark.usefixtures("compiler")
def test_a_kernel_that_is_read_right_passes_and_is_remembered(
    cache: DiskCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert misreading(spec(), cache) == ""

    def refuse(_: str) -> tuple[str, ...]:
        raise AssertionError("compiled again")

    version = ptx.ptx_compiler()[0]  # type: ignore[index]
    monkeypatch.setattr(self_test, "ptx_compiler", lambda: (version, refuse))
    assert misreading(spec(), cache) == ""


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize(
    "old, new, expected", [("0.5f", "0.25f", "is other code"), ("0.5f", "nothing", "does not compile")]
)
def test_a_mistake_in_reading_shows(cache: DiskCache, monkeypatch: pytest.MonkeyPatch, old: str, new: str,
                                    expected: str) -> None:  # fmt: skip
    def wrong(opened: Opened, path: str) -> Kernel:
        right = round_trip(opened, path)
        assert old in right.verbatim
        return replace(right, verbatim=right.verbatim.replace(old, new))

    monkeypatch.setattr(self_test, "round_trip", wrong)
    for _ in range(2):  # only what was found equal is remembered
        assert expected in misreading(spec(), cache)


def test_nothing_is_said_where_nothing_can_be_told(cache: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    assert misreading(spec(SOURCE.replace("0.5f", "undefined")), cache) == ""
    assert misreading(spec("__global__ void k(float* y) { y[0] = ; }"), cache) == ""
    monkeypatch.setattr(self_test, "ptx_compiler", lambda: None)
    assert misreading(spec(), cache) == ""


def test_nvcc_stands_in_for_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("nvcc") is None or ptx._nvrtc() is None:
        pytest.skip("needs both compilers")
    text = 'extern "C" __global__ void k(float* y) { y[threadIdx.x] = 1.5f; }'
    by_library = ptx.ptx_compiler()
    monkeypatch.setattr(ptx, "_nvrtc", lambda: None)
    by_nvcc = ptx.ptx_compiler()
    assert by_library is not None and by_nvcc is not None
    codes = [[line for line in compiled(text) if line.startswith("st.")] for _, compiled in (by_library, by_nvcc)]
    assert codes[0] == codes[1] != []
    assert by_nvcc[1]("does not compile") == ()
