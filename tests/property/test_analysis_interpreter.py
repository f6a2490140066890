"""The interpreter that judges the analyses computes what numpy and a device compute."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

from evo.campaign import load_campaign
from genome.genes import Gene, Genome, Site
from genome.ir.index_form import settle_indices
from genome.ir.kernel import Kernel
from genome.limits import DeviceLimits
from genome.lower import lower, seal
from genome.replay import replay
from genome.source.frontend import parse_kernel
from genome.spec import Reading
from genome.transforms.base import Context
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from tests.interpret.c_values import binary, convert, literal, type_of
from tests.interpret.machine import run
from tests.interpret.trace import Launch
from tests.property.test_transforms_execute import CASES, inputs_of, size_of, spec_of

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
LIMITS = DeviceLimits(max_threads=256, shared_bytes=64 * 1024, unrolled=512)


def gene(name: str, label: str, **params: int) -> Gene:
    return Gene.of(name, Site(label, label), **params)


def test_it_wraps_promotes_and_truncates_as_c_does() -> None:
    table = {
        ("int", -7, "/", "int", 2): -3, ("int", -7, "%", "int", 2): -1, ("unsigned int", 0, "-", "int", 1): 2**32 - 1,
        ("int", 2**31 - 1, "+", "int", 1): -(2**31), ("int", -1, "<", "unsigned int", 1): 0,
        ("int", -1, "<", "long long", 1): 1, ("unsigned char", 200, "+", "unsigned char", 100): 300,
        ("unsigned int", 2**31, "*", "long long", 4): 2**33, ("float", 1.0, "/", "int", 4): 0.25,
        ("unsigned int", 4, ">>", "long long", 1): 2, ("int", -8, ">>", "int", 1): -4,
    }  # fmt: skip
    for (a, x, op, b, y), expected in table.items():
        assert binary(op, type_of(a), type_of(b))[0](x, y) == expected, (a, x, op, b, y)
    assert convert(0.1, type_of("float")) == float(np.float32(0.1))
    assert literal("0xffffffff") == (2**32 - 1, type_of("unsigned int"))
    assert literal("4294967295") == (2**32 - 1, type_of("long"))
    assert literal("4294967296u") == (2**32, type_of("unsigned long"))


REFERENCES = {
    "matmul": {"M": 5, "N": 9, "K": 3}, "transpose": {"H": 6, "W": 11}, "stencil": {"H": 7, "W": 9},
    "gelu": {"n": 37}, "softmax": {"rows": 3, "cols": 7}, "layernorm": {"rows": 3, "cols": 5}, "gemv": {"M": 5, "N": 7},
    "sum": {"n": 50}, "nbody": {"n": 9}, "conv3x3": {"IC": 2, "OC": 3, "H": 4, "W": 5}, "histogram": {"n": 90},
    "vector_add": {"n": 33},
}  # fmt: skip


@pytest.mark.parametrize("name", REFERENCES)
def test_it_computes_what_the_reference_of_an_example_does(name: str) -> None:
    spec = load_campaign(EXAMPLES / name / "campaign.yaml").spec
    sizes = REFERENCES[name]
    kernel = parse_kernel(spec.source, spec.entry)
    rng = np.random.default_rng(3)
    arrays, scalars = {}, {}
    for arg in spec.args:
        if arg.is_scalar:
            scalars[arg.name] = arg.value if isinstance(arg.value, float) else arg.value.evaluate(sizes)
        else:
            filled = rng.uniform(0, 1, arg.extent(sizes)) if arg.dtype.startswith("f") else rng.integers(
                0, 200, arg.extent(sizes))  # fmt: skip
            arrays[arg.name] = (np.zeros_like(filled) if arg.role != "in" else filled).astype(arg.dtype)
    block = (4, 2, 1)[: len(spec.launch.domain)]
    grid = [-(-extent.evaluate(sizes) // width) for extent, width in zip(spec.launch.domain, block, strict=True)]
    trace = run(kernel, Launch(grid, block, arrays, scalars))
    given = {name: value.astype("float64") if value.dtype.kind == "f" else value for name, value in arrays.items()}
    reference = runpy.run_path(str(EXAMPLES / name / "reference.py"))[{"sum": "total"}.get(name, name)]
    for output, expected in reference(given | scalars, sizes).items():
        got = trace.arrays[output].reshape(expected.shape)
        inside = (slice(1, -1), slice(1, -1)) if name == "stencil" else ...
        np.testing.assert_allclose(got[inside], expected[inside], rtol=1e-4, atol=1e-4)


MAPPED = {
    "staged and tiled": ("gemm_tn", "M=9,N=20,K=3", (
        gene("coarsen_strided", "j", factor=2), gene("strip", "p", factor=2), gene("shared_tile", "right", pad=1),
        gene("register_tile", "instances"))),
    "rows by lanes": ("rowsum", "rows=3,cols=37", (gene("cooperate", "r", threads=32, inner=1),)),
    "bins of a block": ("hist", "n=200", (gene("privatise", "bins", copies=1), gene("grid_stride", "i", blocks=1))),
    "a cascade": ("sum", "n=150", (gene("coarsen_blocked", "i", factor=2), gene("cascade", "total"))),
    "a turned store": ("transpose", "W=37,H=19", (gene("transpose_tile", "out", pad=1, width=1),)),
    "shared memory of the user": ("tiled", "M=9,N=11,K=10", ()),
    "a halo": ("stencil", "W=35,H=34", (gene("shared_tile", "in", pad=0, transpose=0),)),
}  # fmt: skip


@pytest.mark.parametrize("name", MAPPED)
def test_it_computes_what_a_device_does_with_a_mapped_kernel(name: str, opencl_run) -> None:
    entry, size, genes = MAPPED[name]
    spec = spec_of(next(case for case in CASES if case.entry == entry))
    variant = lower(spec, Genome(genes), BUILTIN, Target.OPENCL, LIMITS)
    assert isinstance(variant, Variant) and not variant.skipped, variant
    sizes = size_of(size).env
    inputs = inputs_of(spec, sizes, 5)
    expected = opencl_run(spec, variant, sizes, inputs)
    trace = run(mapped(spec, genes), launch_of(spec, variant, sizes, inputs))
    assert not trace.diverged
    for arg in spec.args:
        if not arg.is_scalar:
            got, wanted = trace.arrays[arg.name].ravel(), expected[arg.name].ravel()
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-4, err_msg=arg.name)


def mapped(spec, genes: tuple[Gene, ...]) -> Kernel:
    """The kernel that is printed for these genes, in one body."""
    assert spec.reading is Reading.BOTH
    found = replay(spec, Genome(genes), BUILTIN, Context(spec, Target.OPENCL, LIMITS))
    return settle_indices(seal(found.kernel, closed=True))


def launch_of(spec, variant: Variant, sizes, inputs) -> Launch:
    """The variant's launch with poisoned outputs."""
    arrays, scalars = {}, {}
    for arg in spec.args:
        if arg.is_scalar:
            scalars[arg.name] = arg.value if isinstance(arg.value, float) else arg.value.evaluate(sizes)
        else:
            poison = np.frombuffer(b"\xa5" * 8 * int(np.prod(arg.extent(sizes))), np.dtype(arg.dtype))
            filled = inputs.get(arg.name)
            count = int(np.prod(arg.extent(sizes)))
            arrays[arg.name] = (poison[:count] if filled is None else filled.astype(arg.dtype)).ravel()
    (launch,) = variant.launches
    return Launch([axis.blocks(sizes) for axis in launch.grid], launch.block, arrays, scalars)
