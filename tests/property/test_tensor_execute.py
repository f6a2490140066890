"""Products by warps, executed on system threads by the figures of the PTX manual.

The product's own inline PTX is left out there; that it compiles, and for which architectures, is another test's matter.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from evaluator.cuda.compile import compile_variant
from evaluator.cuda.nvrtc import Nvrtc, NvrtcMissing
from genome.genes import Gene, Genome, Site
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, Assumptions, KernelSpec, LaunchSpec, ProblemSize, Role
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant

ROOT = Path(__file__).parents[2]
HEADER = ROOT / "tests" / "data" / "tensor_on_threads.h"
KERNELS = ROOT / "tests" / "data" / "kernels"
LARGE = DeviceLimits(shared_bytes=232448)


@dataclass(frozen=True)
class Product:
    """A matrix product in half precision: arrays as "name:dtype:role:shape", scalars as "name:dtype=value"."""

    entry: str
    args: tuple[str, ...]
    sizes: tuple[str, str, str]
    axes: tuple[str, str, str]
    arrays: tuple[str, str, str]
    sums: str
    file: str = "half_gemm.cu"

    def spec(self, **grants: bool) -> KernelSpec:
        args = []
        for text in self.args:
            head, _, value = text.partition("=")
            parts = head.split(":")
            if value:
                args.append(ArgSpec(*parts, value=float(value) if "." in value else SizeExpr(value)))  # type: ignore[misc]
            else:
                args.append(ArgSpec(parts[0], parts[1], Role(parts[2]), (SizeExpr(parts[3]),)))
        granted = {"no_alias": True, "reassociation": True, "tf32": True, **grants}
        rows, columns, _ = self.sizes
        return KernelSpec(
            name=self.entry, entry=self.entry, source=(KERNELS / self.file).read_text(), path=self.file,
            args=tuple(args),
            launch=LaunchSpec((16, 16, 1), (SizeExpr(columns), SizeExpr(rows))), sizes=(self.size(256, 256, 256),),
            assumptions=Assumptions(alignment=64, **granted),
        )  # fmt: skip

    def size(self, *values: int) -> ProblemSize:
        return ProblemSize(tuple(zip(self.sizes, values, strict=True)))


PRODUCTS = {
    "row-major": Product(
        "half_gemm", ("A:float16:in:M*K", "B:float16:in:K*N", "C:float32:inout:M*N", "M:int32=M", "N:int32=N",
                      "K:int32=K"), ("M", "N", "K"), ("r", "c", "k"), ("A", "B", "C"), "sum"),
    "right factor transposed, with an epilogue": Product(
        "scaled_nt", ("rows:int32=m", "cols:int32=n", "depth:int32=k", "alpha:float32=0.25", "out:float16:inout:m*n",
                      "right:float16:in:n*k", "left:float16:in:m*k"),
        ("m", "n", "k"), ("i", "j", "d"), ("left", "right", "out"), "acc"),
    "left factor transposed, added to": Product(
        "bfloat_tn", ("X:bfloat16:in:k*m", "Y:bfloat16:in:k*n", "Z:float32:inout:m*n", "m:int32=m", "n:int32=n",
                      "k:int32=k"), ("m", "n", "k"), ("row", "col", "p"), ("X", "Y", "Z"), "total"),
    "single precision": Product(
        "single_gemm", ("A:float32:in:M*K", "B:float32:in:K*N", "C:float32:inout:M*N", "M:int32=M", "N:int32=N",
                        "K:int32=K"), ("M", "N", "K"), ("r", "c", "k"), ("A", "B", "C"), "sum", "single_gemm.cu"),
    "single precision, right factor transposed": Product(
        "single_nt", ("A:float32:in:M*K", "B:float32:in:N*K", "C:float32:inout:M*N", "M:int32=M", "N:int32=N",
                      "K:int32=K"), ("M", "N", "K"), ("r", "c", "k"), ("A", "B", "C"), "sum", "single_gemm.cu"),
}  # fmt: skip


def gene(name: str, label: str, **params: int) -> Gene:
    return Gene.of(name, Site(label, label), **params)


def tiled(product: Product, down: int, across: int, depth: int, *more: Gene) -> tuple[Gene, ...]:
    """A block of 8 x 8 threads with that many rows and pairs of columns each, staged in strips."""
    (row, column, k), (left, right, _) = product.axes, product.arrays
    strided = (gene("coarsen_strided", column, factor=across),) if across > 1 else ()
    return (
        gene("block_shape", column, threads=8), gene("block_shape", row, threads=8),
        gene("coarsen_strided", row, factor=down), *strided, gene("coarsen_blocked", column, factor=2),
        gene("warp_tile", "warp", width=4), gene("register_tile", "instances"), gene("strip", k, factor=depth),
        gene("shared_tile", left, pad=8, transpose=0, width=1), gene("shared_tile", right, pad=8, transpose=0, width=1),
        *more,
    )  # fmt: skip


def by_warps(product: Product, buffers: int, ahead: str = "pipeline") -> tuple[Gene, ...]:
    """Tiles loaded ahead, by registers or by asynchronous copies (then buffers are stages), and products of warps."""
    key = "buffers" if ahead == "pipeline" else "stages"
    return gene(ahead, f"{product.axes[2]}_outer", **{key: buffers}), gene("tensor_core", product.sums)


def lowered(product: Product, *genes: Gene, **grants: bool) -> Variant:
    variant = lower(product.spec(**grants), Genome(genes), BUILTIN, Target.CUDA, LARGE)
    assert isinstance(variant, Variant), variant
    return variant


def bfloat(values: np.ndarray) -> np.ndarray:
    """The upper halves of single-precision numbers."""
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def execute(product: Product, variant: Variant, sizes: dict[str, int], folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """(the result's array, what float64 makes of the same inputs), the result of the run without a data race."""
    rng = np.random.default_rng(3)
    (m, n, k), spec, launch = (sizes[name] for name in product.sizes), product.spec(), variant.launches[0]
    values = {arg.name: rng.integers(-8, 9, arg.extent(sizes)) / 8 for arg in spec.args if not arg.is_scalar}
    types = {"float16": "half", "bfloat16": "__nv_bfloat16", "float32": "float"}
    lines, names = [], []
    for arg in spec.args:
        names.append(f"arg_{arg.name}")
        if arg.is_scalar:
            value = arg.value if isinstance(arg.value, float) else arg.value.evaluate(sizes)  # type: ignore[union-attr]
            lines.append(f"  {'float' if isinstance(value, float) else 'int'} {names[-1]} = {value};")
        else:
            count = values[arg.name].size
            lines.append(f"  alignas(16) static {types[arg.dtype]} {names[-1]}[{count} + 64];")
            lines.append(f"  if (fread({names[-1]}, sizeof({names[-1]}[0]), {count}, in) != {count}) return 2;")
    result = next(arg for arg in spec.args if arg.name == product.arrays[2])
    grid, block = ", ".join(f"{a.blocks(sizes)}u" for a in launch.grid), ", ".join(f"{b}u" for b in launch.block)
    lines.append(f"  launch({{{grid}}}, {{{block}}}, [&] {{ {launch.entry}({', '.join(names)}); }});")
    lines.append(f"  fwrite(arg_{result.name}, sizeof(arg_{result.name}[0]), {m * n}, out);")
    text = without_ptx(variant.source[variant.source.index('extern "C" __global__') :])
    main = 'int main(int, char** f) {\n  FILE *in = fopen(f[1], "rb"), *out = fopen(f[2], "wb");\n'
    (folder / "k.cpp").write_text(f'#include "{HEADER}"\n{text}\n{main}' + "\n".join(lines) + "\n  fclose(out);\n}\n")
    options = ["-std=c++20", "-O0", "-w", "-fsanitize=thread", "-pthread"]
    subprocess.run(["g++", *options, folder / "k.cpp", "-o", folder / "k"], check=True)
    with (folder / "in").open("wb") as file:
        for arg in spec.args:
            if not arg.is_scalar:
                given = values[arg.name]
                file.write((bfloat(given) if arg.dtype == "bfloat16" else given.astype(arg.dtype)).tobytes())
    done = subprocess.run([folder / "k", folder / "in", folder / "out"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "data race" not in done.stderr, done.stderr[-2000:]
    left, right, old = (values[name] for name in product.arrays)
    left = left.reshape(k, m).T if product.entry == "bfloat_tn" else left.reshape(m, k)
    right = right.reshape(n, k).T if product.entry.endswith("_nt") else right.reshape(k, n)
    wanted = {
        "half_gemm": left @ right,
        "single_gemm": left @ right,
        "single_nt": left @ right,
        "scaled_nt": 0.25 * (left @ right),
        "bfloat_tn": old.reshape(m, n) + left @ right,
    }
    return np.frombuffer((folder / "out").read_bytes(), result.dtype).reshape(m, n), wanted[product.entry]


def without_ptx(text: str) -> str:
    """The kernel with its asynchronous copies as calls, and with room of its own for arrays that a launch sizes."""
    text = re.sub(r"extern __shared__ (.*)\[\]", rf"__shared__ \1[{LARGE.shared_bytes}]", text)
    place = r'"r"\(\(unsigned int\)__cvta_generic_to_shared\((.*)\)\), "l"\((.*)\)'
    text = re.sub(
        rf'asm volatile\("cp\.async\.c[ag]\.[^,]*, \[%1\], (\d+);" :: {place} : "memory"\)',
        r"copy_async(\1, \2, \3)",
        text,
    )
    text = text.replace('asm volatile("cp.async.commit_group;" ::: "memory")', "copies_begun()")
    return re.sub(r'asm volatile\("cp\.async\.wait_group (\d+);" ::: "memory"\)', r"copies_done(\1)", text)


SHAPES = {
    "two steps, odd groups": (2, 3, 32, "async_copy", 3),
    "two groups at once": (4, 2, 16, "pipeline", 1),
    "one group": (2, 1, 16, "pipeline", 2),
    "deep tiles in one array": (4, 4, 64, "async_copy", 4),
    "one step of eight": (2, 2, 8, "pipeline", 1),
    "three steps of eight, odd groups": (4, 3, 24, "async_copy", 2),
}
"""Rows and pairs of columns a thread, depth of the strips, how tiles come ahead, and in how many buffers."""
CASES = (*list(PRODUCTS)[:3], "row-major", *list(PRODUCTS)[3:])


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++ to run CUDA text with")
@pytest.mark.parametrize(("name", "shape"), list(zip(CASES, SHAPES, strict=True)))
def test_products_of_a_warp_are_those_of_its_threads(name: str, shape: str, tmp_path: Path) -> None:
    product, (down, across, depth, ahead, buffers) = PRODUCTS[name], SHAPES[shape]
    tiles = tiled(product, down, across, depth)
    if ahead == "async_copy":
        tiles = tuple(replace_width(one) for one in tiles)
    variant = lowered(product, *tiles, *by_warps(product, buffers, ahead))
    assert not variant.skipped, variant.skipped
    sizes = product.size(8 * down + 5, 16 * across + 8, 5 * depth + 8).env
    assert variant.guard.holds(sizes)
    got, wanted = execute(product, variant, sizes, tmp_path)
    np.testing.assert_allclose(got, wanted, rtol=2e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("name", "architecture"), zip(PRODUCTS, ["sm_80", "sm_90", "sm_80", "sm_80", "sm_90"], strict=True)
)
def test_it_compiles(name: str, architecture: str) -> None:
    try:
        compiler = Nvrtc()
    except NvrtcMissing as missing:
        pytest.skip(str(missing))
    product = PRODUCTS[name]
    variant = lowered(product, *tiled(product, 4, 4, 32, *by_warps(product, 2)))
    binary = compile_variant(compiler, architecture, variant, [], "", lambda stage: None)
    assert not binary.resources.spills_bytes


@pytest.mark.parametrize("name", list(PRODUCTS)[:3])
def test_wide_copies_of_halves_go_with_it(name: str) -> None:
    """Tiles are filled eight elements at a time on both sides, and the host sees to the alignment."""
    product = PRODUCTS[name]
    left, right, _ = product.arrays
    wide = [replace_width(one) for one in tiled(product, 4, 4, 16)]
    vectors = (gene("vectorise", array, width=8) for array in (left, right, f"{left}_tile", f"{right}_tile"))
    variant = lowered(product, *wide, *by_warps(product, 2), *vectors)
    assert not variant.skipped, variant.skipped
    assert {(left, 16), (right, 16)} <= set(variant.guard.alignments)


def replace_width(one: Gene) -> Gene:
    return Gene.of(one.transform, one.site, **{**one.values, "width": 8}) if one.transform == "shared_tile" else one


REFUSED = {
    "threads in another order": ("warp_tile", "does not cover"),
    "no staged factors": ("shared_tile", "no site"),
    "single columns": ("coarsen_blocked", "neither along"),
    "rows that are not padded by groups": ("pad", "groups of 8"),
    "a depth of eight": ("depth", "multiple of 16"),
    "an odd number of rows": ("rows", "even number"),
    "sums in order": ("grant", "assume.reassociation"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_near_misses_stay_with_the_threads(name: str) -> None:
    part, words = REFUSED[name]
    product = PRODUCTS["row-major"]
    genes = tiled(product, 3 if part == "rows" else 4, 2, 8 if part == "depth" else 16)
    if part == "pad":
        genes = tuple(Gene.of(g.transform, g.site, **{**g.values, "pad": 1}) if "pad" in g.values else g for g in genes)
    genes = tuple(one for one in genes if one.transform != part)
    last = gene("tensor_core", "sum")
    variant = lowered(product, *genes, last, **({"reassociation": False} if part == "grant" else {}))
    reasons = {item.gene: item.reason for item in variant.skipped}
    assert words in reasons[last]


def test_floats_are_rounded_where_the_campaign_grants_it_alone() -> None:
    product = PRODUCTS["single precision"]
    last = gene("tensor_core", "sum")
    genes = (*tiled(product, 4, 2, 16), last)
    assert not lowered(product, *genes).skipped
    refused = lowered(product, *genes, tf32=False).skipped
    assert [(item.gene, "11 bits" in item.reason) for item in refused] == [(last, True)]
