"""What a statement does to arrays, in the order in which it does it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from genome.analysis.access import AccessMode, Guard, MemorySpace
from genome.analysis.effects import adjacent
from genome.analysis.scope import Scope
from genome.ir.expr import Binary, Call, Const, Expr, Index, Member, Select, Unary, Var, children
from genome.ir.print_functions import ATOMICS, PURE
from genome.ir.stmt import Assign, Opaque, Stmt, VectorLoad, VectorStore, expressions

_ESCAPES = "its address is used as a value"
_ONLY = (Const("0"),)  # the element of what has one
_UNSEEN = "it stands in text that is not looked into"


@dataclass(frozen=True)
class Touch:
    """One access of a statement, before its index is looked at.

    Attributes:
        array: Its array.
        subscripts: As in the IR; empty where only the array is known.
        mode: Read, write or atomic.
        guards: Conditions inside the statement under which it is evaluated.
        part: The field of a vector or struct element that it touches; empty for the whole element.
        width: Adjacent elements that the access moves at once.
        lane: Which of these it is.
        doubt: Why its place is not known; empty where the subscripts say it.
    """

    array: str
    subscripts: tuple[Expr, ...]
    mode: AccessMode = AccessMode.READ
    guards: tuple[Guard, ...] = ()
    part: str = ""
    width: int = 1
    lane: int = 0
    doubt: str = ""


def touches_of(stmt: Stmt, scope: Scope) -> tuple[Touch, ...]:
    """Accesses of the statement itself, not of nested statements; reads before writes.

    A bare pointer and an address that is handed to an unknown function are reads and writes of unknown place.
    """
    return tuple(_Reader(scope, stmt.line).statement(stmt))


class _Reader:
    def __init__(self, scope: Scope, line: int) -> None:
        self.scope, self.line = scope, line

    def statement(self, stmt: Stmt) -> Iterator[Touch]:
        match stmt:
            case Assign(target=target, value=value, op=op):
                yield from self._reads(value)
                yield from self._target(target, op != "=")
            case VectorLoad(targets=targets, source=source):
                for subscript in source.subscripts:
                    yield from self._reads(subscript)
                yield from _wide(source, len(targets), AccessMode.READ)
                for target in targets:
                    yield from self._target(target, False)
            case VectorStore(target=target, values=values):
                for value in values:
                    yield from self._reads(value)
                for subscript in target.subscripts:
                    yield from self._reads(subscript)
                yield from _wide(target, len(values), AccessMode.WRITE)
            case Opaque(reads=read, writes=written):
                yield from (Touch(name, (), doubt=_UNSEEN) for name in read if self._is_array(name))
                yield from (
                    Touch(name, (), AccessMode.WRITE, doubt=_UNSEEN) for name in written if self._is_array(name)
                )
            case _:
                for expr in expressions(stmt):
                    yield from self._reads(expr)

    def _target(self, target: Expr, compound: bool) -> Iterator[Touch]:
        place, part = (target.base, target.field) if isinstance(target, Member) else (target, "")
        if isinstance(place, Var) and self._is_cell(place.name):
            place = Index(place.name, _ONLY)
        if not isinstance(place, Index):
            return
        for subscript in place.subscripts:
            yield from self._reads(subscript)
        if compound:
            yield Touch(place.array, place.subscripts, part=part)
        yield Touch(place.array, place.subscripts, AccessMode.WRITE, part=part)

    def _reads(self, expr: Expr, guards: tuple[Guard, ...] = ()) -> Iterator[Touch]:
        match expr:
            case Index(array, subscripts):
                for subscript in subscripts:
                    yield from self._reads(subscript, guards)
                yield Touch(array, subscripts, guards=guards)
            case Member(Index(array, subscripts), field):
                for subscript in subscripts:
                    yield from self._reads(subscript, guards)
                yield Touch(array, subscripts, guards=guards, part=field)
            case Select(condition, then, other):
                yield from self._reads(condition, guards)
                yield from self._reads(then, (*guards, Guard(condition, True, self.line)))
                yield from self._reads(other, (*guards, Guard(condition, False, self.line)))
            case Binary("&&" | "||" as op, left, right):
                yield from self._reads(left, guards)
                yield from self._reads(right, (*guards, Guard(left, op == "&&", self.line)))
            case Call(function, args) if function in ATOMICS and args:
                for arg in args[1:]:
                    yield from self._reads(arg, guards)
                yield from self._updated(args[0], guards)
            case Call(function, args) if function not in PURE:
                for arg in args:
                    for touch in self._reads(arg, guards):
                        yield replace(touch, doubt=f"{function} is not looked into") if touch.doubt else touch
            case Unary("&", Index(array, subscripts) | Member(Index(array, subscripts), _)):
                for subscript in subscripts:
                    yield from self._reads(subscript, guards)
                yield from self._anywhere(array, guards)
            case Unary("&", Var(name)) if self._is_cell(name):
                yield from self._anywhere(name, guards)
            case Var(name) if self._is_cell(name):
                yield Touch(name, _ONLY, guards=guards)
            case Var(name) if self._is_array(name):
                yield from self._anywhere(name, guards)
            case _:
                for child in children(expr):
                    yield from self._reads(child, guards)

    def _updated(self, pointer: Expr, guards: tuple[Guard, ...]) -> Iterator[Touch]:
        """The element behind the pointer that an atomic is given."""
        match pointer:
            case Unary("&", Index(array, subscripts)):
                pass
            case Unary("&", Var(array)) if self._is_cell(array):
                subscripts = _ONLY
            case Binary("+", Var(array), offset):
                subscripts = (offset,)
            case Var(array):
                subscripts = (Const("0"),)
            case _:
                yield from self._reads(pointer, guards)
                return
        for subscript in subscripts:
            yield from self._reads(subscript, guards)
        yield Touch(array, subscripts, AccessMode.ATOMIC, guards)

    def _anywhere(self, array: str, guards: tuple[Guard, ...]) -> Iterator[Touch]:
        """An address that leaves the engine's sight: what is done with it may touch every element."""
        param = self.scope.kernel.param(array)
        yield Touch(array, (), AccessMode.READ, guards, doubt=_ESCAPES)
        if param is None or not param.const:
            yield Touch(array, (), AccessMode.WRITE, guards, doubt=_ESCAPES)

    def _is_cell(self, name: str) -> bool:
        """True for a shared scalar: the threads of a block have one together, as they have elements."""
        return self.scope.spaces.get(name) is MemorySpace.SHARED and not self.scope.dims.get(name)

    def _is_array(self, name: str) -> bool:
        space = self.scope.spaces.get(name)
        return space in (MemorySpace.GLOBAL, MemorySpace.UNKNOWN) or bool(self.scope.dims.get(name))


def _wide(first: Index, width: int, mode: AccessMode) -> Iterator[Touch]:
    """The elements of a wide access."""
    for lane, element in enumerate(adjacent(first, width)):
        yield Touch(element.array, element.subscripts, mode, width=width, lane=lane)
