"""Check sizes made from the tuned ones: sizes that no genome was tuned on, where tails and wrong strides show."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from genome.sizes import SizeExpr
from genome.spec import ArgSpec, Assumptions, ProblemSize

MAX_ELEMENTS = 1 << 21
"""Elements of all arrays at a check size: the float64 oracle has to stay quick."""


def generate_check_sizes(
    sizes: Sequence[ProblemSize],
    args: Sequence[ArgSpec],
    assumptions: Assumptions,
    extents: Sequence[SizeExpr] = (),
) -> tuple[ProblemSize, ...]:
    """Primes near the tuned sizes, round non-square sizes (so that guarded paths run), a tail, and tiny ones.

    Deterministic. Sizes obey ``divisible`` and ``ranges`` of scalar parameters that are sizes. Tuned ones are left
    out, and those at which an array or one of ``extents`` (the launch's) would not be positive.
    """
    base = _shrunk(sizes[0].env, args)
    steps, bounds = _constraints(args, assumptions)
    names = list(base)
    candidates = [
        _primes(base),
        {name: _round_up(max(16, base[name] * (3 + 2 * axis) // (8 + axis)), 32) for axis, name in enumerate(names)},
        {name: _round_up(max(16, base[names[-1 - axis]] // 4), 64) + 64 * axis for axis, name in enumerate(names)},
        {name: max(2, _round_down(base[name], 16) - 15 + 2 * axis) for axis, name in enumerate(names)},
        {name: 3 + 4 * axis for axis, name in enumerate(names)},
        {name: 1 for name in names},
    ]
    found: dict[tuple[tuple[str, int], ...], None] = {}
    tuned = {tuple(sorted(size.values)) for size in sizes}
    for candidate in candidates:
        fitted = {name: _fit(value, steps.get(name, 1), bounds.get(name)) for name, value in candidate.items()}
        values = tuple(fitted.items())
        if tuple(sorted(values)) not in tuned and _legal(fitted, args, extents):
            found.setdefault(values)
    return tuple(ProblemSize(values) for values in found)


def elements(args: Sequence[ArgSpec], env: Mapping[str, int]) -> int:
    """Elements of all array arguments at these sizes."""
    return sum(math.prod(arg.extent(env)) for arg in args if not arg.is_scalar)


def _shrunk(env: Mapping[str, int], args: Sequence[ArgSpec]) -> dict[str, int]:
    current = dict(env)
    while elements(args, current) > MAX_ELEMENTS and max(current.values()) > 16:
        largest = max(current, key=lambda name: current[name])
        current[largest] = max(16, current[largest] // 2)
    return current


def _constraints(
    args: Sequence[ArgSpec], assumptions: Assumptions
) -> tuple[dict[str, int], dict[str, tuple[int, int]]]:
    size_of = {arg.name: str(arg.value) for arg in args if arg.is_scalar and arg.value is not None}
    steps = {size_of.get(name, name): by for name, by in assumptions.divisible}
    bounds = {size_of.get(name, name): (low, high) for name, low, high in assumptions.ranges}
    return steps, bounds


def _fit(value: int, step: int, bounds: tuple[int, int] | None) -> int:
    if bounds:
        value = min(max(value, bounds[0]), bounds[1])
    fitted = max(step, _round_down(value, step))
    return _round_up(bounds[0], step) if bounds and fitted < bounds[0] else fitted


def _legal(env: Mapping[str, int], args: Sequence[ArgSpec], extents: Sequence[SizeExpr]) -> bool:
    shapes = [extent for arg in args for extent in arg.extent(env)]
    return all(extent > 0 for extent in (*shapes, *(extent.evaluate(env) for extent in extents)))


def _primes(base: Mapping[str, int]) -> dict[str, int]:
    chosen: dict[str, int] = {}
    for name, value in base.items():
        candidate = max(2, value - 1)
        while candidate > 2 and (not _is_prime(candidate) or candidate in chosen.values()):
            candidate -= 1
        chosen[name] = candidate
    return chosen


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


def _round_up(value: int, step: int) -> int:
    return -(-value // step) * step


def _round_down(value: int, step: int) -> int:
    return value // step * step
