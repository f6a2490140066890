"""More check sizes for a variant whose guard sends the given ones to the fallback. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice

from genome.sizes import ExpressionError, SizeExpr
from genome.spec import KernelSpec, ProblemSize
from genome.variant import Guard

WANTED = 3
"""Check sizes at which the evolved path must have run, where its guard allows so many."""

_ROUND = 32
_SHARES = ((1, 2), (1, 4), (3, 4))
_MOST_HELD = 4096
"""Candidates with some axes held are looked at up to here: their number doubles with each axis."""


def covering_sizes(spec: KernelSpec, guard: Guard, have: int) -> tuple[ProblemSize, ...]:
    """Sizes at which the guard holds and that the campaign does not name, as many as are missing; fewer if none are.

    A guard of a vector or tile asks for multiples, which the tuned sizes are: shares of them, rounded to 32, often
    are as well. A kernel compiled for some sizes asks for those alone: they are held, and the others are taken from
    the check sizes. At last one axis is halved.

    Args:
        spec: The kernel; its tuned and check sizes are not repeated.
        guard: Of the variant.
        have: Check sizes at which it runs already.
    """
    if not spec.check_sizes:
        return ()  # compiled for its one size
    known = {size.label for size in (*spec.sizes, *spec.check_sizes)}
    found: dict[str, ProblemSize] = {}
    for size in spec.sizes:
        for values in _candidates(size.env, [check.env for check in spec.check_sizes]):
            candidate = ProblemSize(tuple((name, values[name]) for name in size.env))
            if len(found) + have >= WANTED:
                return tuple(found.values())
            if candidate.label not in known and _granted(spec, values) and _holds(guard, values):
                found.setdefault(candidate.label, candidate)
    return tuple(found.values())


def _candidates(tuned: Mapping[str, int], checks: Sequence[Mapping[str, int]]) -> Iterator[dict[str, int]]:
    for top, bottom in _SHARES:
        yield {name: _share(value, top, bottom) for name, value in tuned.items()}
    yield from islice(_held(tuned, checks), _MOST_HELD)
    for axis in tuned if len(tuned) > 1 else ():
        yield {name: _share(value, 1, 2) if name == axis else value for name, value in tuned.items()}


def _held(tuned: Mapping[str, int], checks: Sequence[Mapping[str, int]]) -> Iterator[dict[str, int]]:
    """A check size with some axes, few first, as in the tuned size."""
    for count in range(1, len(tuned)):
        for held in combinations(tuned, count):
            for check in checks:
                yield {name: tuned[name] if name in held else check[name] for name in tuned}


def _share(value: int, top: int, bottom: int) -> int:
    return max(_ROUND, value * top // bottom // _ROUND * _ROUND) if value > _ROUND else value


def _granted(spec: KernelSpec, values: Mapping[str, int]) -> bool:
    """True if arrays have elements there, and scalar arguments keep what the campaign says of them."""
    scalars: dict[str, float] = dict(values)
    try:
        for arg in spec.args:
            if arg.is_scalar and arg.value is not None:
                value = arg.value
                scalars[arg.name] = value.evaluate(values) if isinstance(value, SizeExpr) else value
        positive = all(extent > 0 for arg in spec.args for extent in arg.extent(values))
    except ExpressionError:
        return False
    assumptions = spec.assumptions
    divisible = all(scalars.get(name, 0) % by == 0 for name, by in assumptions.divisible)
    return (
        positive and divisible and all(low <= scalars.get(name, low) <= high for name, low, high in assumptions.ranges)
    )


def _holds(guard: Guard, values: Mapping[str, int]) -> bool:
    try:
        return guard.holds(values)
    except ExpressionError:
        return False
