"""Host launchers: guards, extra sizes, scratch, differing helpers; what nvcc says to them."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from evo.launcher import cuda_program
from evo.launcher_opencl import opencl_program
from genome.ir.kernel import Param
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, KernelSpec, LaunchSpec, ProblemSize, Role
from genome.variant import GridAxis, Guard, Launch, Memset, Scratch, Target, Variant

ARGS = ("x", "stream", "ld")
ONE = GridAxis(SizeExpr("1"))
PARAMS = (Param("x", "float", pointer=True, const=True), Param("stream", "float", pointer=True), Param("ld", "int"))
SPEC = KernelSpec(
    "f", "", "f",
    (ArgSpec("x", "float32", Role.IN, (SizeExpr("n"),)), ArgSpec("stream", "float32", Role.OUT, (SizeExpr("n"),)),
     ArgSpec("ld", "int32", Role.IN, (), SizeExpr("2 * n"))),
    LaunchSpec((32, 1, 1), (SizeExpr("n"),)),
    (ProblemSize((("n", 64),)),),
)  # fmt: skip


def kernel(helper: str, body: str, params: str = "const float* x, float* stream, int ld") -> str:
    return f'{helper}\nextern "C" __global__ void f({params})\n{{\n{body}\n}}\n'


BASELINE = Variant("f", Target.CUDA, kernel("#define STEP 1\n__device__ float g(float v) { return v + STEP; }\n",
                                            "    int i = threadIdx.x;\n    if (i < ld / 2) stream[i] = g(x[i]);"),
                   (Launch("f", (GridAxis(SizeExpr("n"), 32), ONE, ONE), (32, 1, 1), ARGS),))  # fmt: skip
EVOLVED = replace(
    BASELINE,
    source=kernel("#define STEP 2\n__device__ float g(float v) { return v + STEP; }\n",
                  "    int i = threadIdx.x;\n    if (i < ld / 2) stream[i] = g(x[i]) + sums[0];",
                  "const float* x, float* stream, int ld, float* sums"),
    steps=(Memset("sums"), Launch("f", (GridAxis(SizeExpr("n"), 64), ONE, ONE), (64, 1, 1),
                                  ("x", "stream", "ld", "sums"), SizeExpr("n * 4"))),
    scratch=(Scratch("sums", "float32", SizeExpr("n // 2 + 1")),),
    guard=Guard((SizeExpr("n % 4 == 0"),), (("x", 16),)),
)  # fmt: skip


def test_the_launcher_guards_allocates_and_falls_back() -> None:
    text = cuda_program(SPEC, EVOLVED, BASELINE, PARAMS, ["head"])
    assert text.startswith("// head\n")
    assert "cudaError_t launch_f(const float* x, float* stream, int ld, long long n, cudaStream_t stream_)" in text
    launcher = text[text.index("cudaError_t launch_f(") :]
    assert "((size_n % 4) == 0)" in launcher and "reinterpret_cast<size_t>(x) % 16 == 0" in launcher
    assert "ld == (2 * size_n)" in launcher
    assert "return launch_f_baseline(x, stream, ld, n, stream_);" in launcher
    order = [launcher.index(word) for word in ("cudaMallocAsync", "cudaMemsetAsync", "f<<<", "cudaFreeAsync")]
    assert order == sorted(order)


def test_without_a_guard_there_is_no_fallback() -> None:
    plain = replace(BASELINE, guard=Guard())
    launcher = cuda_program(SPEC, plain, BASELINE, PARAMS, [])
    assert "fits" not in launcher and "launch_f_baseline" in launcher


def test_helpers_that_both_kernels_share_stand_there_once() -> None:
    assert cuda_program(SPEC, BASELINE, BASELINE, PARAMS, []).count("float g(float v)") == 1


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="nvcc is not on PATH")
def test_nvcc_takes_helpers_that_differ(tmp_path: Path) -> None:
    (tmp_path / "best.cu").write_text(cuda_program(SPEC, EVOLVED, BASELINE, PARAMS, ["head"]))
    command = ["nvcc", "-arch=sm_80", "-c", str(tmp_path / "best.cu"), "-o", str(tmp_path / "best.o")]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert outcome.returncode == 0, outcome.stderr


def test_the_opencl_file_says_how_to_launch() -> None:
    text = opencl_program(EVOLVED, BASELINE, ["head"])
    assert "// head" in text and "global size (ceil((n) / 64) * 64" in text
    assert "n % 4 == 0" in text and "x is a multiple of 16 bytes" in text
    assert "fill sums with bytes of 0" in text
