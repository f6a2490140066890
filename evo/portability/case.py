"""What a study looks at: one kernel at one size, the variants that are known of it, and their times on each device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evaluator.backend import Peaks
from evaluator.messages import Work

ABSENT = ""
"""Value of a parameter that a variant does not name, and of a gene that it does not have."""


@dataclass(frozen=True)
class Place:
    """A device of a study.

    Attributes:
        name: As tables show it.
        peaks: Bandwidth and arithmetic ceilings; zeros where they are not known.
        units: Multiprocessors or cores; 0 unknown.
        shared_bytes: Shared memory of a block, in bytes; 0 unknown.
    """

    name: str
    peaks: Peaks = field(default_factory=Peaks)
    units: int = 0
    shared_bytes: int = 0


@dataclass(frozen=True)
class Repair:
    """What stands in for a variant where it cannot run.

    Attributes:
        how: What was changed, in words.
        time_ms: Its time there.
    """

    how: str
    time_ms: float


@dataclass(frozen=True)
class Effect:
    """What a gene is worth on a device.

    Attributes:
        gene: Index into the case's ``names``, and its value.
        place: Index into the case's ``places``.
        factor: Time without the gene over time with it; above 1 it helps.
        low, high: 95% interval of the factor; None where it cannot be told.
        contexts: Settings of the other genes in which both were timed.
        reach: Application efficiency of the best variant with the gene there; None where not all of them are known.
    """

    gene: tuple[int, str]
    place: int
    factor: float
    low: float | None
    high: float | None
    contexts: int
    reach: float | None = None


@dataclass(frozen=True, eq=False)
class Case:
    """One kernel at one size.

    Attributes:
        kernel, size: Names.
        places: The devices, in the order of the study.
        names: Parameters (recorded spaces) or genes (``transform@site``).
        domains: Values of each, in ascending order where they are numbers.
        table: Index of each variant's value, shape (variants, names).
        times_ms: Milliseconds, shape (variants, places); NaN where there is none.
        champions: For each place the variant that was found there; None where none is known.
        reasons: Why (variant, place) has no time, for those that somebody asks for.
        repairs: What stands in for (variant, place).
        waiting: (variant, place) that nobody has tried yet: unlike a gap, nothing is known of it.
        work: Operations and compulsory bytes of a call; None unknown.
        complete: True if the table holds every variant there is, as a recorded space does.
        baseline: Variant of the kernel as it is; None unknown.
        effects: Measured effects of genes, where they do not follow from the table.
        notes: Remarks for a person.
        shared_bytes: Shared memory that a block of each champion takes, by place; None where nobody told.
    """

    kernel: str
    size: str
    places: tuple[Place, ...]
    names: tuple[str, ...]
    domains: tuple[tuple[str, ...], ...]
    table: NDArray[np.int32]
    times_ms: NDArray[np.float64]
    champions: tuple[int | None, ...]
    reasons: Mapping[tuple[int, int], str] = field(default_factory=dict)
    repairs: Mapping[tuple[int, int], Repair] = field(default_factory=dict)
    waiting: frozenset[tuple[int, int]] = frozenset()
    work: Work | None = None
    complete: bool = True
    baseline: int | None = None
    effects: tuple[Effect, ...] = ()
    notes: tuple[str, ...] = ()
    shared_bytes: tuple[int | None, ...] = ()

    @cached_property
    def measured(self) -> tuple[int, ...]:
        """Places that anything has a time on: the device set of every performance portability."""
        return tuple(int(place) for place in np.flatnonzero(~np.isnan(self.times_ms).all(axis=0)))

    @property
    def label(self) -> str:
        """Kernel and size, for a person."""
        return f"{self.kernel} at {self.size}"

    def configuration(self, variant: int) -> dict[str, str]:
        """Values of a variant by name, absent ones left out."""
        values = {name: self.domains[k][self.table[variant, k]] for k, name in enumerate(self.names)}
        return {name: value for name, value in values.items() if value != ABSENT}


def ordered_values(values: Sequence[str]) -> tuple[str, ...]:
    """Distinct values: absent first, then numbers by size; in the given order if one of them is no number."""
    distinct = list(dict.fromkeys(values))
    present = [value for value in distinct if value != ABSENT]
    numbers = {value: number for value in present if (number := _number(value)) is not None}
    if len(numbers) == len(present):
        present.sort(key=numbers.__getitem__)
    return (*([ABSENT] if ABSENT in distinct else []), *present)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def coded(
    names: Sequence[str], rows: Sequence[Sequence[str]]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], NDArray[np.int32]]:
    """(names that vary, their values, index of each row's values) of rows of text."""
    columns = [[row[k] for row in rows] for k in range(len(names))]
    domains = [ordered_values(column) for column in columns]
    kept = [k for k, domain in enumerate(domains) if len(domain) > 1]
    table = np.zeros((len(rows), len(kept)), dtype=np.int32)
    for place, k in enumerate(kept):
        index = {value: number for number, value in enumerate(domains[k])}
        table[:, place] = [index[value] for value in columns[k]]
    return tuple(names[k] for k in kept), tuple(domains[k] for k in kept), table
