"""Outputs that a kernel never writes: a finding of an inspection, and roles that a first campaign guesses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from evo.inspection.inspect import inspect_kernel
from evo.inspection.record import FindingKind
from evo.kernel_guess import file_kernel
from genome.spec import ArgSpec, Role
from genome.transforms.builtin import BUILTIN
from genome.variant import Target

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"


def mistakes(folder: Path, body: str, campaign: bool) -> tuple[str, ...]:
    """What is wrong with ``k(x, y, z, n)`` where y and z are outputs of a campaign, or where nothing is said."""
    path = folder / "k.cu"
    path.write_text(
        "__device__ void put(float* to, int at) { *(char*)(to + at) = 1; }\n"
        f"__global__ void k(const float* x, float* y, float* z, int n) {{\n{INDEX}\nif (i >= n) return;\n{body}\n}}\n"
    )
    found = file_kernel(path, "k")
    spec = replace(found.spec, args=tuple(_output(arg) for arg in found.spec.args))
    seen = inspect_kernel(spec if campaign else found.spec, BUILTIN, Target.CUDA,
                          guesses=() if campaign else found.guesses)  # fmt: skip
    return tuple(item.text for item in seen.findings if item.kind is FindingKind.CORRECTNESS)


def _output(arg: ArgSpec) -> ArgSpec:
    return replace(arg, role=Role.OUT) if arg.name in "yz" else arg


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("y[i] = x[i];", "z"),
        ("y[i] = x[i] + z[i];", "z"),
        ("z[i] = y[i];", "y"),
        ("float* p = y + n; p[i] = 1.0f;", "z"),
        ("atomicAdd(&y[0], x[i]);", "z"),
    ],
)
def test_an_output_that_nothing_writes_is_a_mistake(tmp_path: Path, body: str, named: str) -> None:
    (text,) = mistakes(tmp_path, body, campaign=True)
    assert text.startswith(f"{named} is an output of the campaign (`role: out`), and no statement")
    assert mistakes(tmp_path, body, campaign=False) == ()


@pytest.mark.parametrize(
    "body", ["y[i] = x[i]; z[i] = 1.0f;", "y[i] = x[i]; put(z, i);", "y[i] = 0.0f; atomicMax((int*)z, i);"]
)
def test_what_is_written_or_may_be_is_none(tmp_path: Path, body: str) -> None:
    assert mistakes(tmp_path, body, campaign=True) == ()


def test_a_kernel_without_any_result_is_told_without_a_campaign(tmp_path: Path) -> None:
    (text,) = mistakes(tmp_path, "float v = x[i] + y[i];", campaign=False)
    assert text == "The kernel writes none of its arrays (x, y and z): it has no result."


@pytest.mark.parametrize(
    ("body", "roles"),
    [
        ("y[i] = x[i] + z[i];", ["in", "out", "in"]),
        ("y[i] += z[i];", ["in", "inout", "in"]),
        ("put(y, i); z[i] = 1.0f;", ["in", "inout", "inout"]),
        ("float v = x[i];", ["in", "out", "out"]),
    ],
)
def test_an_array_that_is_never_written_is_guessed_to_be_an_input(tmp_path: Path, body: str, roles: list[str]) -> None:
    mistakes(tmp_path, body, campaign=False)
    args = file_kernel(tmp_path / "k.cu", "k").spec.args
    assert [arg.role.value for arg in args if not arg.is_scalar] == roles
