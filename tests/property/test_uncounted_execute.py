"""Transformed kernels whose loops end by a condition, by break or with the kernel compute what their text does."""

from __future__ import annotations

import numpy as np
import pytest

from genome.genes import Gene, Genome, Site
from genome.ir.stmt import Break, If, Repeat, Stmt, flatten
from genome.lower import lower
from genome.moves import moves
from genome.replay import spec_kernel
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from tests.property.test_transforms_execute import LIMITS, Case, assert_same, random_genome, spec_of

FILE = "tests/data/kernels/uncounted.cu"
CASES = (
    Case(FILE, "bisect", ("knots:int32:in:n", "keys:int32:in:m", "found:int32:out:m", "n:int32=n", "m:int32=m"),
         ("m",), (64, 1, 1), ("n=131,m=1021", "n=1,m=3", "n=0,m=67", "n=1024,m=512")),
    Case(FILE, "newton", ("x:float32:in:n", "root:float32:out:n", "steps:int32:out:n", "n:int32=n"),
         ("n",), (64, 1, 1), ("n=1021", "n=3", "n=512")),
    Case(FILE, "sparse_row",
         ("start:int32:in:rows+1", "column:int32:in:256", "value:float32:in:256", "x:float32:in:256",
          "y:float32:out:rows", "rows:int32=rows"), ("rows",), (32, 1, 1), ("rows=1021", "rows=3", "rows=256")),
    Case(FILE, "mandelbrot", ("turns:int32:out:w*h", "width:int32=w", "height:int32=h", "limit:int32=limit"),
         ("w", "h"), (16, 4, 1), ("w=67,h=41,limit=50", "w=131,h=3,limit=9", "w=64,h=32,limit=0")),
    Case(FILE, "halving",
         ("x:float32:in:rows*cols", "most:int32:in:cols", "y:float32:out:rows", "rows:int32=rows", "cols:int32=cols"),
         ("rows",), (32, 1, 1), ("rows=67,cols=37", "rows=3,cols=129", "rows=128,cols=1")),
)  # fmt: skip


def test_each_transform_alone_keeps_the_result(opencl_run) -> None:
    case = CASES[-1]
    spec = spec_of(case)
    tried = set()
    for move in moves(spec, Genome(), BUILTIN, Target.OPENCL, LIMITS):
        params = {name: values[len(values) // 2] for name, values in move.domain.items()}
        variant = lower(
            spec, Genome((Gene.of(move.transform.name, move.site, **params),)), BUILTIN, Target.OPENCL, LIMITS
        )
        if isinstance(variant, Variant):
            assert len(variant.genome.genes) == 1, variant.skipped
            assert_same(case, variant, opencl_run)
            tried.add(move.transform.name)
    assert {"block_shape", "coarsen_blocked", "coarsen_strided", "grid_stride"} <= tried


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_random_compositions_keep_the_result(case: Case, opencl_run) -> None:
    spec = spec_of(case)
    rng = np.random.default_rng(sum(case.name.encode()))
    for _ in range(2):
        genome = random_genome(spec, rng, int(rng.integers(3, 8)))
        variant = lower(spec, genome, BUILTIN, Target.OPENCL, LIMITS)
        if isinstance(variant, Variant):
            assert_same(case, variant, opencl_run)


def gene(name: str, label: str, **params: int) -> Gene:
    return Gene.of(name, Site(label, label), **params)


@pytest.mark.parametrize("entry, axis", [("bisect", "i"), ("sparse_row", "r"), ("halving", "r")])
def test_instances_of_a_thread_each_run_their_own_loop(entry: str, axis: str, opencl_run) -> None:
    """Distributing the instances leaves each loop in one piece, inside the loop over the instances."""
    case = next(case for case in CASES if case.name == entry)
    genome = Genome((gene("coarsen_blocked", axis, factor=4), gene("register_tile", "instances")))
    variant = lower(spec_of(case), genome, BUILTIN, Target.OPENCL, LIMITS)
    assert isinstance(variant, Variant) and not variant.skipped
    assert_same(case, variant, opencl_run)


def misplaced(body: tuple[Stmt, ...], last: bool = False) -> list[Stmt]:
    """Breaks that are not the last statement on their way through the body of a loop that breaks end."""
    found: list[Stmt] = []
    for position, stmt in enumerate(body):
        ends = last and position == len(body) - 1
        if isinstance(stmt, Break):
            found += [] if ends else [stmt]
        elif isinstance(stmt, If):
            found += misplaced(stmt.then, ends) + misplaced(stmt.orelse, ends)
        else:
            found += misplaced(stmt.inside, isinstance(stmt, Repeat))
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_breaks_end_their_paths(case: Case) -> None:
    body = spec_kernel(spec_of(case)).body
    assert any(isinstance(stmt, Break) for stmt in flatten(body))
    assert not misplaced(body)
