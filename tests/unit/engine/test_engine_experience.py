"""Which genomes of earlier campaigns are worth another look."""

from __future__ import annotations

import pytest

from evo.experience import remembered
from genome.genes import Gene, Genome, Site
from knowledge.records import TrainingRow

LARGE, SMALL, OTHER = (9.0, 1.0), (8.0, 0.0), (5.0, 0.5)


def genome(factor: int) -> Genome:
    return Genome((Gene.of("unroll", Site("k"), factor=factor),))


def row(
    factor: int, size: tuple[float, ...], gain: float | None, kernel: bool = True, device: bool = True
) -> TrainingRow:
    return TrainingRow(genome(factor), (), (), size, gain, gain is None, kernel, device)


def test_the_best_over_all_sizes_comes_first_even_if_it_is_best_at_none() -> None:
    rows = [row(2, LARGE, 5.0), row(2, SMALL, 0.5), row(4, LARGE, 0.5), row(4, SMALL, 5.0), row(8, LARGE, 4.0),
            row(8, SMALL, 4.0)]  # fmt: skip
    found = remembered(rows, (LARGE, SMALL), (1.0, 1.0))
    assert found[0].genome == genome(8)
    assert found[0].log2_speedup == pytest.approx(4.0)
    assert all(item.exact for item in found)
    assert remembered(rows, (LARGE, SMALL), (3.0, 1.0))[0].genome == genome(8)
    assert remembered(rows, (LARGE, SMALL), (30.0, 1.0))[0].genome == genome(2)


def test_failures_other_kernels_and_losses_are_left_out_and_other_sizes_come_last() -> None:
    rows = [row(2, LARGE, 5.0), row(2, SMALL, None), row(4, OTHER, 6.0), row(8, LARGE, 1.0), row(8, SMALL, 1.0),
            row(16, LARGE, 9.0, kernel=False), row(32, LARGE, 9.0, device=False), row(64, LARGE, -1.0)]  # fmt: skip
    found = remembered(rows, (LARGE, SMALL), (1.0, 1.0))
    assert [item.genome for item in found] == [genome(8), genome(4)]
    assert [item.exact for item in found] == [True, False]


def test_vectors_that_lost_precision_in_the_base_are_still_the_same_size() -> None:
    blurred = tuple(value * (1 + 1e-6) for value in LARGE)
    assert remembered([row(2, blurred, 1.0)], (LARGE,), (1.0,))[0].exact
