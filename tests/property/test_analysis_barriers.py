"""Rewritten kernels have no race, and the static check misses none of those that a lost barrier makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from genome.analysis.effects import shared_arrays
from genome.analysis.races import race
from genome.genes import Genome
from genome.ir.kernel import Kernel
from genome.ir.rewrite_stmt import map_stmts
from genome.ir.stmt import Barrier, Body, Stmt
from genome.lower import lower
from genome.replay import spec_kernel
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from tests.interpret import conflicts
from tests.interpret.machine import run
from tests.property.test_analysis_interpreter import LIMITS, MAPPED, launch_of, mapped
from tests.property.test_transforms_execute import CASES, inputs_of, size_of, spec_of


def without_one(kernel: Kernel) -> Iterator[Kernel]:
    """The kernel without its first barrier, without its second, and so on."""
    total = 0

    def count(stmt: Stmt) -> Body:
        nonlocal total
        total += isinstance(stmt, Barrier)
        return (stmt,)

    map_stmts(kernel.body, count)
    for number in range(total):
        left = number

        def drop(stmt: Stmt) -> Body:
            nonlocal left
            if not isinstance(stmt, Barrier):
                return (stmt,)
            left -= 1
            return () if left == -1 else (stmt,)

        yield replace(kernel, body=map_stmts(kernel.body, drop))


@pytest.mark.parametrize("name", MAPPED)
def test_a_lost_barrier_is_missed_where_it_matters(name: str) -> None:
    entry, size, genes = MAPPED[name]
    spec = spec_of(next(case for case in CASES if case.entry == entry))
    variant = lower(spec, Genome(genes), BUILTIN, Target.OPENCL, LIMITS)
    assert isinstance(variant, Variant)
    sizes = size_of(size).env
    launch = launch_of(spec, variant, sizes, inputs_of(spec, sizes, 5))
    kernel, own = mapped(spec, genes), frozenset(shared_arrays(spec_kernel(spec)))
    assert race(kernel, own) is None
    assert not conflicts.side_by_side(run(kernel, launch))
    found = 0
    for broken in without_one(kernel):
        if conflicts.side_by_side(run(broken, launch)):
            found += 1
            assert race(broken, own) is not None
    assert found or name == "bins of a block"
