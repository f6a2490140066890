"""Whether two accesses can touch one element, given which variables they share and which differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from genome.analysis.access import Access, Guard, VariableKind
from genome.analysis.integers import OPEN, Linear, Range, at_most_zero, may_vanish
from genome.analysis.places import Digit, Place, digit_of, place_of
from genome.analysis.scope import Scope
from genome.ir.expr import Binary, Expr, conjuncts
from genome.ir.poly import poly
from genome.ir.types import infer, join

_OPPOSITE = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}


@dataclass(frozen=True)
class Side:
    """One access of a pair.

    Attributes:
        place: Its digits, or why there are none.
        ranges: What its variables run over where it is made, guards counted in.
        pins: Differences that a guard holds at zero, by the guard.
    """

    place: Place | str
    ranges: Mapping[str, Range]
    pins: Mapping[Expr, Digit]


def side_of(access: Access, scope: Scope) -> Side:
    """The access with the ranges of its variables."""
    ranges = {name: _range_of(name, scope) for name in scope.kinds
              if scope.kinds[name] is not VariableKind.LOOP or name in access.loops}  # fmt: skip
    bounds: list[Linear] = []
    pins: dict[Expr, Digit] = {}
    for guard in access.guards:
        for op, left, right in _comparisons(guard):
            difference = digit_of(Binary("-", left, right), scope)
            if isinstance(difference, str) or (op != "==" and _wraps(left, right, ranges, scope)):
                continue
            if op == "==":
                pins[Binary("==", left, right)] = difference
            bounds += _bounds(op, difference)
    return Side(place_of(access, scope), at_most_zero(bounds, ranges), pins)


def _range_of(name: str, scope: Scope) -> Range:
    lower, upper = scope.bounds(name)
    low = poly(scope.resolve(lower)).constant
    high = None if upper is None else poly(scope.resolve(upper)).constant
    found = Range(low, None if high is None else high - 1)
    return found if scope.kinds[name] is VariableKind.LOOP else found.meet(Range(0, None))


def _comparisons(guard: Guard) -> list[tuple[str, Expr, Expr]]:
    """(operator, left, right) for each comparison that the guard makes hold."""
    terms = conjuncts(guard.condition) if guard.holds else [guard.condition]
    found = []
    for term in terms:
        if isinstance(term, Binary) and term.op in _OPPOSITE:
            found.append((term.op if guard.holds else _OPPOSITE[term.op], term.left, term.right))
    return found


def _wraps(left: Expr, right: Expr, ranges: Mapping[str, Range], scope: Scope) -> bool:
    """True for an unsigned comparison of what may lie below zero: it then compares other numbers."""
    if not join(infer(left, scope.types), infer(right, scope.types)).startswith(("unsigned", "size_t")):
        return False
    for side in (left, right):
        digit = digit_of(side, scope)
        number = None if isinstance(digit, str) else digit.constant.constant
        least = None if isinstance(digit, str) or number is None else Linear(number, digit.factors).least(ranges)
        if least is None or least < 0:
            return True
    return False


def _bounds(op: str, difference: Digit) -> list[Linear]:
    """Sums that are at most zero where ``difference op 0``; none where a size stands in it."""
    number = difference.constant.constant
    if number is None:
        return []
    form = Linear(number, difference.factors)
    match op:
        case "<":
            return [Linear(number + 1, difference.factors)]
        case "<=":
            return [form]
        case ">":
            return [Linear(1 - number, form.negated().factors)]
        case ">=":
            return [form.negated()]
        case "==":
            return [form, form.negated()]
    return []


@dataclass(frozen=True)
class Relation:
    """How the variables of two accesses hang together.

    Attributes:
        same: Variables that have one value in both.
        later: Variables that the second access has ahead of the first by this much.
        apart: A variable that differs: the second access has a larger one.
    """

    same: frozenset[str] = frozenset()
    later: tuple[tuple[str, int], ...] = ()
    apart: str = ""


def never_meet(first: Side, second: Side, relation: Relation) -> str:
    """Empty if the two never touch one element; else what stands in the way of a proof."""
    if isinstance(first.place, str) or isinstance(second.place, str):
        return first.place if isinstance(first.place, str) else str(second.place)
    if first.place.strides != second.place.strides:
        return "the two go through the array in different shapes"
    ranges, system = _variables(first, second, relation), _System(relation)
    doubts = [reason for one, other in zip(first.place.digits, second.place.digits, strict=True)
              if (reason := system.add(one, other))]  # fmt: skip
    for guard, pin in first.pins.items():
        if guard in second.pins:
            system.add(pin, second.pins[guard])
    if not may_vanish(system.equations, ranges):
        return ""
    return doubts[0] if doubts else "their indices may be the same"


def fixed_distance(first: Side, second: Side, relation: Relation) -> int | None:
    """How far the second access is ahead of the first wherever they meet; None where that may vary."""
    if isinstance(first.place, str) or isinstance(second.place, str) or first.place.strides != second.place.strides:
        return None
    found: set[int] = set()
    for one, other in zip(first.place.digits, second.place.digits, strict=True):
        rest, factor = (one.constant - other.constant).constant, one.factors.get(relation.apart, 0)
        if rest is None or one.factors != other.factors or not set(one.factors) <= relation.same | {relation.apart}:
            return None
        if factor:
            if rest % factor:
                return None
            found.add(rest // factor)
        elif rest:
            return None
    return found.pop() if len(found) == 1 else None


def meet_always(first: Side, second: Side, relation: Relation) -> bool:
    """True if the two touch one element whatever the variable is that sets them apart."""
    if isinstance(first.place, str) or isinstance(second.place, str) or first.place.strides != second.place.strides:
        return False
    return all(
        one.constant == other.constant and one.factors == other.factors and set(one.factors) <= relation.same
        for one, other in zip(first.place.digits, second.place.digits, strict=True)
    )


_FIRST, _SECOND, _AHEAD = "'", '"', "+"


def _variables(first: Side, second: Side, relation: Relation) -> dict[str, Range]:
    """Ranges of the unknowns of the pair: shared ones by name, others with a mark of their side."""
    shared = relation.same | {name for name, _ in relation.later}
    found: dict[str, Range] = {}
    for name in {*first.ranges, *second.ranges}:
        one, other = first.ranges.get(name, OPEN), second.ranges.get(name, OPEN)
        ahead = dict(relation.later).get(name, 0)
        if name in shared:
            moved = Range(*(None if end is None else end - ahead for end in (other.low, other.high)))
            found[name] = one.meet(moved)
            continue
        found |= {name + _FIRST: one, name + _SECOND: other}
        if name == relation.apart:
            least = None if other.low is None or one.high is None else other.low - one.high
            most = None if other.high is None or one.low is None else other.high - one.low
            found[name + _AHEAD] = Range(least, most).meet(Range(1, None))
    return found


class _System:
    """Equations between two accesses: each says that two digits are the same."""

    def __init__(self, relation: Relation) -> None:
        self.relation, self.later = relation, dict(relation.later)
        self.equations: list[Linear] = []

    def add(self, first: Digit, second: Digit) -> str:
        """Adds ``first - second = 0``; returns why it cannot where sizes are left in it."""
        rest = (first.constant - second.constant).constant
        if rest is None:
            return "they are a size apart"
        factors: dict[str, int] = {}
        for name in dict.fromkeys((*first.factors, *second.factors)):
            one, other = first.factors.get(name, 0), second.factors.get(name, 0)
            if name in self.relation.same or name in self.later:
                factors[name] = one - other
                rest -= other * self.later.get(name, 0)
            elif name == self.relation.apart and one == other:
                factors[name + _AHEAD] = -one
            else:
                factors |= {name + _FIRST: one, name + _SECOND: -other}
        self.equations.append(Linear(rest, {name: factor for name, factor in factors.items() if factor}))
        return ""
