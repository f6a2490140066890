"""The CUDA text of kernels whose threads cooperate, executed on system threads: shuffles and barriers are real there.

PoCL runs the threads of a block one after the other between barriers, and takes another branch of the same genes (no
shuffles). Here each CUDA thread is a system thread; sanitizers report what two of them touch unordered, and vectors
off their alignment.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from genome.genes import Gene, Genome, Site
from genome.lower import lower
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from tests.property.test_transforms_execute import CASES, LIMITS, Case, baseline, inputs_of, size_of, spec_of

HEADER = Path(__file__).parents[1] / "data" / "cuda_on_threads.h"
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to run CUDA text with")
TYPES = {"float32": "float", "int32": "int", "uint32": "unsigned int", "uint8": "unsigned char"}


def gene(name: str, label: str, **params: int) -> Gene:
    return Gene.of(name, Site(label, label), **params)


ROW = gene("cooperate", "r", threads=64, inner=4)
WARP = gene("cooperate", "r", threads=32, inner=1)
TILED = (gene("coarsen_blocked", "i", factor=4), gene("register_tile", "instances"))
GENOMES = {
    "softmax: a row a block, wide": ("softmax", ROW, gene("vectorise", "x", width=4)),
    "softmax: a row a warp": ("softmax", WARP, gene("block_shape", "r", threads=2)),
    "layernorm: a row a block": ("layernorm", ROW, gene("unroll", "j_outer", factor=2)),
    "softmax_in_place: striding": (
        "softmax_in_place", gene("cooperate", "row", threads=64, inner=1), gene("grid_stride", "row", blocks=1)),
    "statistics: two warps a row": ("statistics", ROW),
    "batched: rows in a loop": ("batched", ROW),
    "gemv: four rows a block": ("gemv", WARP, gene("block_shape", "r", threads=4), gene("restrict", "arguments")),
    "sum: cascade": ("sum", *TILED, gene("cascade", "total"), gene("vectorise", "x", width=4)),
    "sum: cascade, striding": ("sum", gene("grid_stride", "i", blocks=1), gene("cascade", "total")),
    "sum: cascade of an odd block": ("sum", gene("block_shape", "i", threads=16), gene("cascade", "total")),
    "transpose: through a tile": (
        "transpose", gene("coarsen_strided", "y", factor=2), gene("transpose_tile", "out", pad=1, width=1)),
    "transpose: wide both ways": (
        "transpose", gene("coarsen_blocked", "x", factor=4), gene("coarsen_strided", "y", factor=4),
        gene("transpose_tile", "out", pad=1, width=4), gene("vectorise", "out", width=4),
        gene("vectorise", "in", width=4)),
    "hist: bytes by sixteen": (
        "hist", gene("grid_stride", "i", blocks=1), gene("coarsen_blocked", "i", factor=16),
        gene("register_tile", "instances"), gene("privatise", "bins", copies=1), gene("vectorise", "data", width=16)),
    "hist: private copies": ("hist", gene("grid_stride", "i", blocks=1), *TILED, gene("privatise", "bins", copies=2)),
}  # fmt: skip
FEW = replace(LIMITS, units=2)


def program(variant: Variant, case: Case, sizes: dict[str, int]) -> str:
    """A program that reads the arrays from one file, runs the launch and writes them to another."""
    spec, launch = spec_of(case), variant.launches[0]
    lines, names = [], []
    for arg in spec.args:
        names.append(f"arg_{arg.name}")
        ctype = TYPES.get(arg.dtype, "long")
        if arg.is_scalar:
            value = arg.value if isinstance(arg.value, float) else arg.value.evaluate(sizes)  # type: ignore[union-attr]
            lines.append(f"  {ctype} {names[-1]} = {value};")
        else:
            count = int(np.prod(arg.extent(sizes)))
            lines.append(f"  alignas(16) static {ctype} {names[-1]}[{count} + 64];")
            lines.append(f"  if (fread({names[-1]}, sizeof({ctype}), {count}, in) != {count}) return 2;")
    grid = ", ".join(str(axis.blocks(sizes)) + "u" for axis in launch.grid)
    block = ", ".join(f"{n}u" for n in launch.block)
    lines.append(f"  launch({{{grid}}}, {{{block}}}, [&] {{ {launch.entry}({', '.join(names)}); }});")
    for arg in spec.args:
        if not arg.is_scalar:
            count = int(np.prod(arg.extent(sizes)))
            lines.append(f"  fwrite(arg_{arg.name}, sizeof(arg_{arg.name}[0]), {count}, out);")
    body = "\n".join(lines)
    return (
        f'#include "{HEADER}"\n{variant.source}\nint main(int, char** files) {{\n  FILE* in = fopen(files[1], "rb");\n'
        f'  FILE* out = fopen(files[2], "wb");\n{body}\n  fclose(out);\n  return 0;\n}}\n'
    )


def execute(
    variant: Variant, case: Case, sizes: dict[str, int], inputs: dict[str, np.ndarray], folder: Path
) -> tuple[dict[str, np.ndarray], str]:
    """(arrays after the run, what the sanitizer says)."""
    spec = spec_of(case)
    source, binary = folder / "kernel.cpp", folder / "kernel"
    source.write_text(program(variant, case, sizes))
    options = ["-std=c++20", "-O1", "-w", "-fsanitize=thread,alignment", "-pthread"]
    subprocess.run(["g++", *options, source, "-o", binary], check=True)
    arrays = [arg for arg in spec.args if not arg.is_scalar]
    with (folder / "in").open("wb") as file:
        for arg in arrays:
            given = inputs.get(arg.name, np.full(arg.extent(sizes), 77))
            file.write(given.astype(arg.dtype).tobytes())
    done = subprocess.run([binary, folder / "in", folder / "out"], capture_output=True, text=True, timeout=300)
    assert "misaligned" not in done.stderr, done.stderr  # where a GPU stops, these processors go on
    raw, results, at = (folder / "out").read_bytes(), {}, 0
    for arg in arrays:
        shape, dtype = arg.extent(sizes), np.dtype(arg.dtype)
        count = int(np.prod(shape))
        results[arg.name] = np.frombuffer(raw, dtype, count, at).reshape(shape)
        at += count * dtype.itemsize
    return results, done.stderr


def lowered(name: str) -> tuple[Case, Variant]:
    entry, *genes = GENOMES[name]
    case = next(case for case in CASES if case.name == entry)
    variant = lower(spec_of(case), Genome(tuple(genes)), BUILTIN, Target.CUDA, FEW)  # type: ignore[arg-type]
    assert isinstance(variant, Variant), variant
    assert not variant.skipped
    return case, variant


@pytest.mark.parametrize("name", GENOMES)
def test_cuda_text_computes_the_same_without_a_race(name: str, opencl_run, tmp_path: Path) -> None:
    case, variant = lowered(name)
    fitting = [size for size in case.sizes if variant.guard.holds(size_of(size).env)]
    size = max(fitting, key=lambda text: max(size_of(text).env.values()))
    sizes = size_of(size).env
    inputs, expected = baseline(case, size, opencl_run)
    got, complaint = execute(variant, case, sizes, inputs, tmp_path)
    assert "data race" not in complaint, complaint
    for arg in spec_of(case).args:
        if not arg.is_scalar and arg.role != "in":
            np.testing.assert_allclose(got[arg.name], expected[arg.name], rtol=2e-4, atol=2e-4, err_msg=variant.source)


def test_a_dropped_barrier_is_seen(tmp_path: Path) -> None:
    case, variant = lowered("hist: private copies")
    sizes = size_of(case.sizes[0]).env
    broken = replace(variant, source=variant.source.replace("    __syncthreads();\n", "", 1))
    _, complaint = execute(broken, case, sizes, inputs_of(spec_of(case), sizes, 7), tmp_path)
    assert "data race" in complaint
