"""A transform refuses every value of a parameter that makes no sense: it neither takes it nor breaks on it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genome.genes import Genome
from genome.moves import moves
from genome.replay import replay
from genome.spec import Reading
from genome.transforms.base import Context, Refusal
from genome.transforms.builtin import BUILTIN
from genome.transforms.specialise import Specialise
from genome.variant import Target
from tests.property.test_transforms_execute import CASES, LIMITS, spec_of
from tests.property.test_transforms_execute import gene as gene_of

SENSELESS = (-1, 10**9, "many", "", "-3", "1.5")
NEUTRAL = {"strip": {"factor": (0, 1)}, "unroll": {"factor": (1,)}, "coarsen_blocked": {"factor": (0, 1)},
           "coarsen_strided": {"factor": (0, 1)}, "grid_stride": {"blocks": (0,)}}  # fmt: skip
BEFORE = {"matmul": (gene_of("strip", "k", factor=8),)}


@pytest.mark.parametrize("name", ["matmul", "transpose", "softmax", "sum", "hist", "gelu"])
def test_senseless_values_are_refused(name: str) -> None:
    spec = spec_of(next(case for case in CASES if case.entry == name))
    genome = Genome(BEFORE.get(name, ()))
    context = Context(spec, Target.OPENCL, LIMITS)
    kernels = dict(replay(spec, genome, BUILTIN, context).before)
    for move in moves(spec, genome, BUILTIN, Target.OPENCL, LIMITS):
        kernel = kernels[move.transform.phase]
        usual = {key: values[0] for key, values in move.domain.items()}
        assert move.transform.check(kernel, move.site, usual, context) is None
        for key in usual:
            for value in (*SENSELESS, *NEUTRAL.get(move.transform.name, {}).get(key, ())):
                said = move.transform.check(kernel, move.site, {**usual, key: value}, context)
                assert isinstance(said, Refusal), f"{move.transform.name}@{move.site.label}: {key} = {value!r}"


def test_a_kernel_that_stays_text_is_not_specialised() -> None:
    spec = replace(spec_of(CASES[0]), reading=Reading.TEXT)
    kernel = dict(replay(spec, Genome(), BUILTIN, Context(spec, Target.CUDA, LIMITS)).before)
    (first, *_) = kernel.values()
    assert first.verbatim and not first.body
    assert Specialise().sites(first) == ()
    assert all(move.transform.name != "specialise" for move in moves(spec, Genome(), BUILTIN, Target.CUDA, LIMITS))
