"""Two accesses of one block tried on all threads and iterations, where all of them have known numbers.

A trial finds the two threads that meet; where nothing had to be guessed, it also shows that no two do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from genome.analysis.access import Access, Guard
from genome.analysis.formulas import Formula, Unknown, Values, formula
from genome.analysis.meeting import Relation, Side
from genome.analysis.scope import Block, Scope
from genome.ir.expr import Binary, Expr, conjuncts
from genome.ir.stmt import Opaque, flatten
from genome.ir.types import infer, join

_MOST = 12_000  # executions of an access that are tried

_Key = tuple[int, ...]
_Truth = Callable[[Values], bool | None]


@dataclass(frozen=True)
class Trial:
    """What a trial showed.

    Attributes:
        met: Names two threads that touch one element; empty where none do.
        sure: True if both certainly execute the accesses; else ``met`` is a possibility.
        executions: How many were compared.
    """

    met: str
    sure: bool
    executions: int


def trial(first: Runs, second: Runs, relation: Relation) -> Trial | None:
    """Tries all threads of a block; None where an index or a bound has no known number, or there are too many.

    Args:
        first: One access.
        second: The other.
        relation: Which loops count alike.
    """
    shift = _shift(first.side, second.side)
    ones, others = first.executions(shift is not None), second.executions(shift is not None)
    if ones is None or others is None:
        return None
    ahead = dict(relation.later)
    tied = (*sorted(relation.same & set(first.access.loops)), *ahead)
    start, moved = shift or (0,) * len(first.access.subscripts), [ahead.get(name, 0) for name in tied]
    met = _meeting(_keyed(first, ones, start, tied, [0] * len(tied)),
                   _keyed(second, others, (0,) * len(start), tied, moved))  # fmt: skip
    sure = not first.guessed and not second.guessed and not first.opaque
    return Trial(first.named(*met) if met else "", sure, len(ones) + len(others))


_Element = tuple[int, ...]
_Execution = tuple[_Element, tuple[int, ...], Block]
"""(digits or subscripts, values of the loops around the access, thread)."""


def _keyed(
    runs: Runs, executions: Sequence[_Execution], shift: _Element, tied: Sequence[str], ahead: Sequence[int]
) -> list[tuple[_Key, Block]]:
    """(element and tied iterations, thread) of each execution."""
    at = [runs.access.loops.index(name) for name in tied]
    return [
        (
            (*(digit + by for digit, by in zip(element, shift, strict=True)),
             *(turns[position] - by for position, by in zip(at, ahead, strict=True))),
            thread,
        )
        for element, turns, thread in executions
    ]  # fmt: skip


def _meeting(ones: Sequence[tuple[_Key, Block]], others: Sequence[tuple[_Key, Block]]) -> tuple[Block, Block] | None:
    by_key: dict[_Key, set[Block]] = {}
    for key, thread in ones:
        by_key.setdefault(key, set()).add(thread)
    for key, thread in others:
        met = by_key.get(key, set()) - {thread}
        if met:
            return min(min(met), thread), max(min(met), thread)
    return None


def _shift(first: Side, second: Side) -> _Element | None:
    """How far the first access's digits lie ahead of the second's, beside what their variables give; None if unknown.

    Sizes that are in both are left out, and so is what is the same for all threads of a block.
    """
    if isinstance(first.place, str) or isinstance(second.place, str) or first.place.strides != second.place.strides:
        return None
    pairs = list(zip(first.place.digits, second.place.digits, strict=True))
    apart = [(one.constant - other.constant).constant for one, other in pairs]
    if None in apart or any(_of_block(one.factors) != _of_block(other.factors) for one, other in pairs):
        return None
    return tuple(shift or 0 for shift in apart)


def _of_block(factors: Mapping[str, int]) -> dict[str, int]:
    """The part of a digit that is the same for all threads of a block."""
    return {name: factor for name, factor in factors.items() if name.startswith("block")}


class Runs:
    """The executions of one access in a block, listed once.

    Attributes:
        access: The access.
        side: The same with its index by threads.
        guessed: True once a condition of unknown value was taken to hold.
        opaque: True if the kernel holds text that is not looked into.
    """

    def __init__(self, access: Access, side: Side, scope: Scope) -> None:
        self.access, self.side, self.scope = access, side, scope
        self.guards = [(guard, tuple(self._truth(term) for term in conjuncts(guard.condition)))
                       for guard in access.guards]  # fmt: skip
        self.subscripts = [formula(scope.resolve(part)) for part in access.subscripts]
        self.guessed = False
        self.opaque = any(isinstance(stmt, Opaque) for stmt in flatten(scope.kernel.whole))
        self._listed: dict[bool, list[_Execution] | None] = {}

    def executions(self, by_digits: bool) -> list[_Execution] | None:
        """Every execution, the element by digits or by subscripts; None where some number is unknown."""
        if by_digits not in self._listed:
            try:
                self._listed[by_digits] = list(self._list(by_digits))
            except Unknown:
                self._listed[by_digits] = None
        return self._listed[by_digits]

    def named(self, one: Block, other: Block) -> str:
        """Says that two threads meet."""
        assert self.scope.block is not None
        return (f"threads {_shown(one, self.scope.block)} and {_shown(other, self.scope.block)} of a block"
                " touch one element")  # fmt: skip

    def _list(self, by_digits: bool) -> Iterator[_Execution]:
        block = self.scope.block
        if block is None or not self.access.subscripts:
            raise Unknown
        fixed = {f"blockDim.{dim}": extent for dim, extent in zip("xyz", block, strict=True)}
        loops = [self._iterations(name, fixed) for name in self.access.loops]
        if prod(block) * prod(len(values) for values in loops) > _MOST:
            raise Unknown
        for z, y, x in product(*(range(extent) for extent in reversed(block))):
            fixed |= {"threadIdx.x": x, "threadIdx.y": y, "threadIdx.z": z}
            for turns in product(*loops):
                values = {**fixed, **dict(zip(self.access.loops, turns, strict=True))}
                if all(self._holds(guard, terms, values) for guard, terms in self.guards):
                    yield self._element(values, by_digits), turns, (x, y, z)

    def _iterations(self, name: str, fixed: Values) -> range:
        loop = self.scope.loops[name]
        return range(formula(loop.lower)(fixed), formula(loop.upper)(fixed), loop.step)

    def _element(self, values: Values, by_digits: bool) -> _Element:
        place = self.side.place
        if by_digits and not isinstance(place, str):
            return tuple(_sum(digit.factors, values) for digit in place.digits)
        return tuple(subscript(values) for subscript in self.subscripts)

    def _holds(self, guard: Guard, terms: Sequence[_Truth], values: Values) -> bool:
        found = [term(values) for term in terms]
        if guard.holds:
            known = [truth for truth in found if truth is not None]
            self.guessed |= len(known) < len(found)
            return all(known)
        if any(truth is False for truth in found):
            return True
        self.guessed |= None in found
        return None in found

    def _truth(self, term: Expr) -> _Truth:
        """Whether a condition holds; unsigned comparisons of negative numbers are not followed."""
        resolved = self.scope.resolve(term)
        value = formula(resolved)
        sides: tuple[Formula, ...] = ()
        if isinstance(resolved, Binary):
            parts = (resolved.left, resolved.right)
            kind = join(*(infer(side, self.scope.types) for side in parts))
            if kind.startswith(("unsigned", "size_t")):
                sides = tuple(formula(side) for side in parts)

        def truth(values: Values) -> bool | None:
            try:
                return None if any(side(values) < 0 for side in sides) else bool(value(values))
            except Unknown:
                return None

        return truth


def _sum(factors: Mapping[str, int], values: Values) -> int:
    """The running part of a digit; what is the same in the whole block counts as zero.

    Raises:
        Unknown: If another variable stands in it.
    """
    total = 0
    for name, factor in factors.items():
        if name in values:
            total += factor * values[name]
        elif name not in _of_block(factors):
            raise Unknown
    return total


def _shown(thread: Block, block: Block) -> str:
    used = 1 + max((number for number, extent in enumerate(block) if extent > 1), default=0)
    return f"({', '.join(str(number) for number in thread[:used])})"
