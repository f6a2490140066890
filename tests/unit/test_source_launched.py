"""Kernels that are compiled for their block: the constant is known for what it is, under that launch only."""

from __future__ import annotations

from pathlib import Path

import pytest

from genome.genes import Genome
from genome.limits import DeviceLimits
from genome.moves import moves
from genome.sizes import SizeExpr
from genome.source.frontend import parse_kernel
from genome.source.launched import Launched
from genome.spec import ArgSpec, KernelSpec, LaunchSpec, ProblemSize, Role
from genome.transforms.builtin import BUILTIN
from genome.variant import Target

SOURCE = (Path(__file__).parents[1] / "data" / "kernels" / "fixed_block.cu").read_text()


def spec(block: tuple[int, int, int], source: str, entry: str) -> KernelSpec:
    size = SizeExpr("n")
    arguments = (ArgSpec("y", "float32", Role.OUT, (size,)), ArgSpec("n", "int32", value=size))
    return KernelSpec(entry, source, entry, arguments, LaunchSpec(block, (size,)), (ProblemSize((("n", 64),)),))


def test_the_constant_is_the_block_under_its_own_launch() -> None:
    kernel = parse_kernel(SOURCE, "batched_scale", launched=Launched((16, 4, 1)))
    assert [(axis.name, axis.dim) for axis in kernel.axes] == [("c", "x"), ("r", "y"), ("image", "z")]


@pytest.mark.parametrize("block", [None, (32, 4, 1), (16, 8, 1), (16, 4, 2)])
def test_under_another_launch_it_is_not(block: tuple[int, int, int] | None) -> None:
    launched = None if block is None else Launched(block)
    assert parse_kernel(SOURCE, "batched_scale", launched=launched).axes == ()


@pytest.mark.parametrize(
    ("body", "shapes"),
    [
        ("y[blockIdx.x * 32 + threadIdx.x] = 1.0f; asm(\"\");", set()),
        ("y[blockIdx.x * 64 + threadIdx.x] = 1.0f; y[blockIdx.x + gridDim.x] = 0.0f;", set()),
        ("int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = blockDim.x > 7u ? 1.0f : 2.0f;", {"block.x"}),
        ("int i = blockIdx.x * 64 + threadIdx.x; y[i] = 1.0f;", {"i"}),
        ("int i = blockDim.x * (gridDim.x * blockIdx.y + blockIdx.x) + threadIdx.x; y[i] = 1.0f;", {"i"}),
        ("int i = threadIdx.z * 5 + blockIdx.x * blockDim.x * blockDim.y + threadIdx.x; y[i] = 1.0f;", {"i"}),
    ],
)  # fmt: skip
def test_a_block_that_is_written_into_the_kernel_stays(body: str, shapes: set[str]) -> None:
    source = f"__global__ void k(float* y, int n) {{ {body} }}"
    offered = moves(spec((64, 1, 1), source, "k"), Genome(), BUILTIN, Target.CUDA, DeviceLimits())
    assert {move.site.label for move in offered if move.transform.name == "block_shape"} == shapes


def test_a_header_alone_ties_no_threads_together() -> None:
    source = "#include <cooperative_groups.h>\n__global__ void k(float* y, int n) {\n" + (
        "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 1.0f; }"
    )
    offered = moves(spec((64, 1, 1), source, "k"), Genome(), BUILTIN, Target.CUDA, DeviceLimits())
    assert "block_shape" in {move.transform.name for move in offered}
