"""More check sizes for a variant whose guard sends the given ones to the fallback. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from genome.sizes import ExpressionError, SizeExpr
from genome.spec import KernelSpec, ProblemSize
from genome.variant import Guard

WANTED = 3
"""Check sizes at which the evolved path must have run, where its guard allows so many."""

_ROUND = 32
_SHARES = ((1, 2), (1, 4), (3, 4))


def covering_sizes(spec: KernelSpec, guard: Guard, have: int) -> tuple[ProblemSize, ...]:
    """Sizes below the tuned ones at which the guard holds, as many as are missing; fewer if there are none.

    A guard of a vector or tile asks for multiples, which the tuned sizes are: shares of them, rounded to 32, often
    are as well, first along all axes and then along one.

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
        for values in _smaller(size.env):
            candidate = ProblemSize(tuple((name, values[name]) for name in size.env))
            if len(found) + have >= WANTED:
                return tuple(found.values())
            if candidate.label not in known and _granted(spec, values) and _holds(guard, values):
                found.setdefault(candidate.label, candidate)
    return tuple(found.values())


def _smaller(env: Mapping[str, int]) -> Iterator[dict[str, int]]:
    for top, bottom in _SHARES:
        yield {name: _share(value, top, bottom) for name, value in env.items()}
    for axis in env if len(env) > 1 else ():
        yield {name: _share(value, 1, 2) if name == axis else value for name, value in env.items()}


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
