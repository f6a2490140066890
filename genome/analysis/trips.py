"""Numbers of iterations, and sums over them, as expressions of sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from genome.analysis.bounds import innermost, never_negative
from genome.analysis.count import Count, counted, unknown_trips, whole
from genome.analysis.scope import Scope
from genome.ir.expr import Binary, Var, integer, names
from genome.ir.kernel import AtLeast
from genome.ir.poly import Poly, constant, poly
from genome.ir.stmt import Loop, Repeat

_HIGHEST = 3  # powers of a loop variable that are summed in closed form


@dataclass(frozen=True)
class Trips:
    """How often a loop runs.

    Attributes:
        count: Iterations; an unknown where ``doubt`` says why.
        valid: Conditions on sizes under which the count is right.
        doubt: Empty where the count is exact under those conditions.
    """

    count: Count
    valid: tuple[AtLeast, ...] = ()
    doubt: str = ""


def trips_of(loop: Loop, scope: Scope) -> Trips:
    """Iterations of a loop each time it is reached, in terms of sizes, axes and the loops around it."""
    if loop.trip is not None:
        return Trips(whole(loop.trip))
    unknown = unknown_trips(loop.var)
    span = poly(scope.resolve(loop.upper)) - poly(scope.resolve(loop.lower))
    span = Poly(span.terms)
    for atom in span.atoms:
        running = isinstance(atom, Var) and atom.name in scope.kinds
        if not running and not scope.steady(atom):
            return Trips(unknown, doubt=f"the bounds of the loop over {loop.var} are not known before it runs")
    valid = never_negative(span, scope) if innermost(span, scope) is not None else _at_least_zero(span)
    if valid is None:
        return Trips(unknown, doubt=f"the loop over {loop.var} may have bounds that cross")
    if loop.step == 1:
        return Trips(counted(span), valid)
    rounded = Binary("/", (span + constant(loop.step - 1)).to_expr(), integer(loop.step))
    return Trips(counted(poly(rounded)), valid)


UNCOUNTED = "how often the loop turns is not known before it runs"


def unknown_turns(loop: Repeat) -> Count:
    """How often a loop that nothing counts turns: one unknown for each line."""
    return unknown_trips(f"while_{loop.line}")


def _at_least_zero(span: Poly) -> tuple[AtLeast, ...]:
    return () if span.constant is not None else (AtLeast(span.to_expr(), 0),)


def summed(count: Count, loop: Loop, scope: Scope) -> Count:
    """The sum of a count over the iterations of a loop; the loop's trips times it where it does not depend on them."""
    powers = _powers(count.numerator, loop.var)
    if powers is not None and set(powers) <= {0}:
        return count * trips_of(loop, scope).count
    if loop.step != 1 or trips_of(loop, scope).doubt:
        return unknown_trips(loop.var)
    lower, upper = (poly(scope.resolve(bound)) for bound in (loop.lower, loop.upper))
    total = summed_over(count, loop.var, lower, upper)
    return unknown_trips(loop.var) if total is None else total


def summed_over(count: Count, name: str, lower: Poly, upper: Poly) -> Count | None:
    """The sum of a count over ``lower <= name < upper``; None where no closed form is known."""
    powers = _powers(count.numerator, name)
    if powers is None or max(powers) > _HIGHEST:
        return None
    total = Count()
    for power, factor in powers.items():
        total += counted(factor) * (_power_sum(power, upper) + _power_sum(power, lower) * whole(-1))
    return total.over(count.denominator)


def total_over(count: Count, loops: Sequence[Loop | Repeat], scope: Scope) -> Count:
    """The sum over a nest of loops, outermost first."""
    for loop in reversed(loops):
        count = count * unknown_turns(loop) if isinstance(loop, Repeat) else summed(count, loop, scope)
    return count


def _powers(polynomial: Poly, name: str) -> dict[int, Poly] | None:
    """The factor of each power of the variable; None where it stands inside another atom."""
    found: dict[int, Poly] = {}
    for monomial, value in polynomial.terms:
        if any(name in names(atom) for atom in monomial if atom != Var(name)):
            return None
        rest = tuple(atom for atom in monomial if atom != Var(name))
        power = len(monomial) - len(rest)
        found[power] = found.get(power, Poly()) + Poly(((rest, value),))
    return found or {0: Poly()}


def _power_sum(power: int, end: Poly) -> Count:
    """``0**p + 1**p + ... + (end - 1)**p`` by Faulhaber's formula."""
    before = end - constant(1)
    match power:
        case 0:
            return counted(end)
        case 1:
            return counted(before * end).over(2)
        case 2:
            return counted(before * end * (end.scaled(2) - constant(1))).over(6)
    square = before * end
    return counted(square * square).over(4)
