"""Two accesses of one block tried on all threads and iterations, where all of them have known numbers.

A trial finds the two threads that meet; where nothing had to be guessed, it also shows that no two do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from genome.analysis.access import Access, Guard
from genome.analysis.count import evaluate
from genome.analysis.meeting import Relation, Side
from genome.analysis.scope import Block, Scope
from genome.ir.expr import Binary, Expr, conjuncts
from genome.ir.stmt import Opaque, flatten
from genome.ir.types import infer, join

_MOST = 12_000  # executions of an access that are tried

_Values = Mapping[str, int]
_Key = tuple[int, ...]


@dataclass(frozen=True)
class Trial:
    """What a trial showed.

    Attributes:
        met: Names two threads that touch one element; empty where none do.
        sure: True if both certainly execute the accesses; else ``met`` is a possibility.
    """

    met: str
    sure: bool


def trial(pair: tuple[Access, Access], sides: tuple[Side, Side], relation: Relation, scope: Scope) -> Trial | None:
    """Tries all threads of a block; None where an index or a bound has no known number, or there are too many.

    Args:
        pair: The accesses.
        sides: The same with indices by threads.
        relation: Which loops count alike.
        scope: The names; the block must be known.
    """
    if scope.block is None or not all(access.subscripts for access in pair):
        return None
    shifts = _shifts(sides)
    alike = relation.same & set(pair[0].loops)
    ahead = dict(relation.later)
    runs = [_Runs(access, side, scope, shift) for access, side, shift in zip(pair, sides, shifts, strict=True)]
    try:
        ones = list(runs[0].executions([(name, 0) for name in (*sorted(alike), *ahead)]))
        others = list(runs[1].executions([(name, ahead.get(name, 0)) for name in (*sorted(alike), *ahead)]))
    except _Unknown:
        return None
    sure = not any(run.guessed for run in runs) and not any(
        isinstance(stmt, Opaque) for stmt in flatten(scope.kernel.whole)
    )
    return Trial(_meeting(ones, others, scope), sure)


def _meeting(ones: Sequence[tuple[_Key, Block]], others: Sequence[tuple[_Key, Block]], scope: Scope) -> str:
    by_key: dict[_Key, set[Block]] = {}
    for key, thread in ones:
        by_key.setdefault(key, set()).add(thread)
    for key, thread in others:
        met = by_key.get(key, set()) - {thread}
        if met:
            one, other = sorted((min(met), thread))
            return f"threads {_shown(one, scope)} and {_shown(other, scope)} of a block touch one element"
    return ""


def _shifts(sides: tuple[Side, Side]) -> tuple[tuple[int, ...] | None, tuple[int, ...] | None]:
    """How far each access's digits lie from what their variables give, sizes that are in both left out."""
    first, second = sides[0].place, sides[1].place
    if isinstance(first, str) or isinstance(second, str) or first.strides != second.strides:
        return None, None
    pairs = list(zip(first.digits, second.digits, strict=True))
    apart = [(one.constant - other.constant).constant for one, other in pairs]
    if None in apart or any(_of_block(one.factors) != _of_block(other.factors) for one, other in pairs):
        return None, None
    return tuple(shift or 0 for shift in apart), (0,) * len(apart)


def _of_block(factors: Mapping[str, int]) -> dict[str, int]:
    """The part of a digit that is the same for all threads of a block."""
    return {name: factor for name, factor in factors.items() if name.startswith("block")}


class _Unknown(Exception):
    """A bound or an index has no known value, or there are too many to try."""


class _Runs:
    """The executions of one access in a block; ``guessed`` once a condition of unknown value was taken to hold."""

    def __init__(self, access: Access, side: Side, scope: Scope, shift: tuple[int, ...] | None) -> None:
        self.access, self.side, self.scope, self.shift = access, side, scope, shift
        self.guards = [(guard, tuple(scope.resolve(term) for term in conjuncts(guard.condition)))
                       for guard in access.guards]  # fmt: skip
        self.subscripts = [scope.resolve(part) for part in access.subscripts]
        self.guessed = False

    def executions(self, tied: Sequence[tuple[str, int]]) -> Iterator[tuple[_Key, Block]]:
        """(element and tied iterations, thread) of every execution."""
        block = self.scope.block
        assert block is not None
        fixed = {f"blockDim.{dim}": extent for dim, extent in zip("xyz", block, strict=True)}
        loops = [self._iterations(name, fixed) for name in self.access.loops]
        if prod(block) * prod(len(values) for values in loops) > _MOST:
            raise _Unknown
        for z, y, x in product(*(range(extent) for extent in reversed(block))):
            fixed |= {"threadIdx.x": x, "threadIdx.y": y, "threadIdx.z": z}
            for numbers in product(*loops):
                values = {**fixed, **dict(zip(self.access.loops, numbers, strict=True))}
                if all(self._holds(guard, terms, values) for guard, terms in self.guards):
                    yield (*self._element(values), *(values[name] - ahead for name, ahead in tied)), (x, y, z)

    def _iterations(self, name: str, fixed: _Values) -> range:
        loop = self.scope.loops[name]
        low, high = evaluate(loop.lower, fixed), evaluate(loop.upper, fixed)
        if low is None or high is None:
            raise _Unknown
        return range(low, high, loop.step)

    def _element(self, values: _Values) -> tuple[int, ...]:
        place = self.side.place
        if self.shift is not None and not isinstance(place, str):
            numbers = [_sum(digit.factors, values) for digit in place.digits]
            return tuple(number + shift for number, shift in zip(numbers, self.shift, strict=True))
        found = [evaluate(part, values) for part in self.subscripts]
        if any(number is None for number in found):
            raise _Unknown
        return tuple(number or 0 for number in found)

    def _holds(self, guard: Guard, terms: Sequence[Expr], values: _Values) -> bool:
        found = [self._truth(term, values) for term in terms]
        if guard.holds:
            known = [truth for truth in found if truth is not None]
            self.guessed |= len(known) < len(found)
            return all(known)
        if any(truth is False for truth in found):
            return True
        self.guessed |= None in found
        return None in found

    def _truth(self, term: Expr, values: _Values) -> bool | None:
        """Whether a condition holds; unsigned comparisons of negative numbers are not followed."""
        value = evaluate(term, values)
        if value is not None and isinstance(term, Binary):
            sides = [evaluate(side, values) for side in (term.left, term.right)]
            kind = join(*(infer(side, self.scope.types) for side in (term.left, term.right)))
            if kind.startswith(("unsigned", "size_t")) and any(side is None or side < 0 for side in sides):
                return None
        return None if value is None else bool(value)


def _sum(factors: Mapping[str, int], values: _Values) -> int:
    """The running part of a digit; what is the same in the whole block counts as zero.

    Raises:
        _Unknown: If another variable stands in it.
    """
    total = 0
    for name, factor in factors.items():
        if name in values:
            total += factor * values[name]
        elif name not in _of_block(factors):
            raise _Unknown
    return total


def _shown(thread: Block, scope: Scope) -> str:
    assert scope.block is not None
    used = 1 + max((number for number, extent in enumerate(scope.block) if extent > 1), default=0)
    return f"({', '.join(str(number) for number in thread[:used])})"
