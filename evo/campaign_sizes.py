"""Check sizes made from the tuned ones: sizes that no genome was tuned on, where tails and wrong strides show."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from genome.sizes import SizeExpr
from genome.spec import ArgSpec, Assumptions, ProblemSize

MAX_ELEMENTS = 1 << 21
"""Elements of all arrays at a check size: the float64 oracle has to stay quick."""


_REACH = 64
"""The largest count that may say how far a kernel reaches into an array, as a radius does."""

_BACK = (1, 4, 0, 8, 1, 4)
"""A count of n is n - 1 in the first of the check sizes, n - n // 4 in the second, ..."""


def generate_check_sizes(
    sizes: Sequence[ProblemSize],
    args: Sequence[ArgSpec],
    assumptions: Assumptions,
    extents: Sequence[SizeExpr] = (),
    held: Iterable[str] = (),
) -> tuple[ProblemSize, ...]:
    """Primes near the tuned sizes, round non-square sizes (so that guarded paths run), a tail, and tiny ones.

    Deterministic. Sizes obey ``divisible`` and ``ranges`` of scalar parameters that are sizes. Tuned ones are left
    out, and those at which an array or one of ``extents`` (the launch's) would not be positive: their sizes grow
    towards the tuned ones until they are. A size that is no extent of an array or of the launch is a count (of turns,
    taps, a radius): it stays a little below what is tuned, and arrays stay large enough for such a reach.

    Args:
        sizes: The tuned ones; the first is what the others are made from.
        args: For the arrays' shapes.
        assumptions: For promises on sizes.
        extents: Of the launch.
        held: Sizes that are the same everywhere, since the block follows them.
    """
    used = {name for extent in (*extents, *(side for arg in args for side in arg.shape)) for name in extent.names}
    env, fixed = sizes[0].env, set(held)
    free = [name for name in env if name in used and name not in fixed]
    counts = [name for name in env if name not in used and name not in fixed]
    steps, bounds = _constraints(args, assumptions)
    base = _shrunk(env, args, free)
    least = 1 + 2 * max((env[name] for name in counts if env[name] <= _REACH), default=0)
    found: dict[tuple[tuple[str, int], ...], None] = {}
    tuned = {tuple(sorted(size.values)) for size in sizes}
    for number, candidate in enumerate(_candidates({name: base[name] for name in free})):
        chosen = {name: max(value, min(base[name], least)) for name, value in candidate.items()}
        chosen |= {name: max(1, env[name] - _back(env[name], _BACK[number])) for name in counts}
        fitted = {name: _fit(chosen.get(name, env[name]), steps.get(name, 1), bounds.get(name)) for name in env}
        fitted = _grown(fitted, base, free, args, extents) | {name: env[name] for name in fixed if name in env}
        values = tuple((name, fitted[name]) for name in env)
        if tuple(sorted(values)) not in tuned and _legal(fitted, args, extents):
            found.setdefault(values)
    return tuple(ProblemSize(values) for values in found)


def _candidates(base: Mapping[str, int]) -> list[dict[str, int]]:
    names = list(base)
    return [
        _primes(base),
        {name: _round_up(max(16, base[name] * (3 + 2 * axis) // (8 + axis)), 32) for axis, name in enumerate(names)},
        {name: _round_up(max(16, base[names[-1 - axis]] // 4), 64) + 64 * axis for axis, name in enumerate(names)},
        {name: max(2, _round_down(base[name], 16) - 15 + 2 * axis) for axis, name in enumerate(names)},
        {name: 3 + 4 * axis for axis, name in enumerate(names)},
        {name: 1 for name in names},
    ]


def _back(value: int, part: int) -> int:
    return 0 if not part else 1 if part == 1 else value // part


def _grown(
    env: Mapping[str, int],
    base: Mapping[str, int],
    free: Sequence[str],
    args: Sequence[ArgSpec],
    extents: Sequence[SizeExpr],
) -> dict[str, int]:
    """The sizes, those of arrays doubled up to the tuned ones until every array and the launch have elements."""
    current = dict(env)
    while not _legal(current, args, extents) and any(current[name] < base[name] for name in free):
        current |= {name: min(2 * current[name], max(base[name], current[name])) for name in free}
    return current


def elements(args: Sequence[ArgSpec], env: Mapping[str, int]) -> int:
    """Elements of all array arguments at these sizes."""
    return sum(math.prod(arg.extent(env)) for arg in args if not arg.is_scalar)


def _shrunk(env: Mapping[str, int], args: Sequence[ArgSpec], free: Sequence[str]) -> dict[str, int]:
    """The sizes, the largest of those that are free halved until the arrays are small."""
    current = dict(env)
    while elements(args, current) > MAX_ELEMENTS and max((current[name] for name in free), default=0) > 16:
        largest = max(free, key=lambda name: current[name])
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
