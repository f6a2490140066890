"""Immutable, hashable C expressions.

Structural equality answers "same address, same value". Nodes are small dataclasses; what analyses ask of them all the
time (their children, nodes, names and accesses) is kept with them, see ``genome.ir.node``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

from genome.ir.node import Node, Shared, once
from genome.ir.print_functions import ATOMICS

T = TypeVar("T")


class Expr(Node, metaclass=Shared):
    """Base of all expressions. Two expressions are equal when they have the same shape and the same leaves."""

    @once
    def _children(self) -> tuple[Expr, ...]:
        match self:
            case Binary(left=left, right=right):
                return (left, right)
            case Index(subscripts=parts) | Call(args=parts):
                return parts
            case Unary(operand=operand) | Cast(operand=operand):
                return (operand,)
            case Select(condition=condition, then=then, other=other):
                return (condition, then, other)
            case Member(base=base):
                return (base,)
        return ()

    @once
    def _below(self) -> tuple[Expr, ...]:
        return tuple([node for child in self._children for node in (child, *child._below)])

    @once
    def _names(self) -> tuple[str, ...]:
        if isinstance(self, Var):
            return (self.name,)
        own = (self.array,) if isinstance(self, Index) else ()
        found = _joined([own, *[child._names for child in self._children]])
        return tuple(dict.fromkeys(found)) if len(found) > 1 else found

    @once
    def _accesses_below(self) -> tuple[Index, ...]:
        return _joined([accesses(child) for child in self._children])

    @once
    def _handed(self) -> tuple[Expr, ...]:
        below = _joined([child._handed for child in self._children])
        if not isinstance(self, Call) or self.function in ATOMICS:
            return below
        own = tuple([arg.operand for arg in self.args if isinstance(arg, Unary) and arg.op == "&"])
        return tuple(dict.fromkeys((*own, *below))) if own else below

    @once
    def _calls_below(self) -> tuple[Call, ...]:
        return _joined([calls(child) for child in self._children])


def _joined(parts: list[tuple[T, ...]]) -> tuple[T, ...]:
    """All items in order; the same tuple where only one has any."""
    parts = [part for part in parts if part]
    return parts[0] if len(parts) == 1 else tuple(chain.from_iterable(parts))


@dataclass(frozen=True, eq=False)
class Var(Expr):
    """A name: a local, a scalar parameter, or a builtin such as ``threadIdx.x``, ``blockDim.y``, ``gridDim.x``."""

    name: str


@dataclass(frozen=True, eq=False)
class Const(Expr):
    """A literal, kept as its C text (``16``, ``0.5f``, ``1e-6``, ``0x10u``)."""

    text: str

    @once
    def value(self) -> int | None:
        """Integer value of a plain decimal or hexadecimal literal, else None."""
        text = self.text.rstrip("uUlL")
        try:
            return int(text, 0) if not (len(text) > 1 and text[0] == "0" and text.isdigit()) else int(text, 8)
        except ValueError:
            return None


@dataclass(frozen=True, eq=False)
class Unary(Expr):
    """``op operand``; op is one of ``- + ! ~ & *``. Increments are statements, not expressions."""

    op: str
    operand: Expr


@dataclass(frozen=True, eq=False)
class Binary(Expr):
    """``left op right`` for C's side-effect-free binary operators."""

    op: str
    left: Expr
    right: Expr


@dataclass(frozen=True, eq=False)
class Index(Expr):
    """``array[subscripts[0]][subscripts[1]]...``: a memory, shared or private array element."""

    array: str
    subscripts: tuple[Expr, ...]


@dataclass(frozen=True, eq=False)
class Call(Expr):
    """``function(args)``. Whether it is pure is known for the functions of ``genome.analysis.effects`` only.

    Attributes:
        function: Its name, template list included.
        args: The arguments; a pointer into an array, or to a variable, is an ``&`` of the element or variable.
        references: Positions of the arguments that the function takes by a reference which it may write through: an
            ``&`` as well, which is not printed.
    """

    function: str
    args: tuple[Expr, ...]
    references: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Select(Expr):
    """``condition ? then : other``."""

    condition: Expr
    then: Expr
    other: Expr


@dataclass(frozen=True, eq=False)
class Cast(Expr):
    """``(ctype) operand``.

    Attributes:
        ctype: As it is printed.
        operand: What is converted.
        rounds: True unless the operand is known to be an integer: integer arithmetic must not look through the cast.
    """

    ctype: str
    operand: Expr
    rounds: bool = False


@dataclass(frozen=True, eq=False)
class Member(Expr):
    """``base.field`` of a struct or vector value."""

    base: Expr
    field: str


def integer(value: int) -> Expr:
    """The literal ``value``; negative ones as a unary minus, so that they print safely."""
    return Const(str(value)) if value >= 0 else Unary("-", Const(str(-value)))


def children(expr: Expr) -> tuple[Expr, ...]:
    """Direct sub-expressions, left to right."""
    return expr._children


def walk(expr: Expr) -> tuple[Expr, ...]:
    """Every node of the expression, parents first."""
    return (expr, *expr._below)


def names(expr: Expr) -> tuple[str, ...]:
    """Names of variables and arrays used, in order of first use."""
    return expr._names


def accesses(expr: Expr) -> tuple[Index, ...]:
    """Every array element that the expression reads, parents first."""
    return (expr, *expr._accesses_below) if isinstance(expr, Index) else expr._accesses_below


def calls(expr: Expr) -> tuple[Call, ...]:
    """Every call in the expression, parents first."""
    return (expr, *expr._calls_below) if isinstance(expr, Call) else expr._calls_below


def handed(expr: Expr) -> tuple[Expr, ...]:
    """Variables, elements and members whose address calls in the expression are given, the targets of atomics apart.

    Such a call may read and write the variable, and every element of the array.
    """
    return expr._handed


def rewrite(expr: Expr, function: Callable[[Expr], Expr], skip: Callable[[Expr], bool] | None = None) -> Expr:
    """Bottom-up rewrite: ``function`` sees each node after its children were rewritten. Unchanged nodes are shared.

    Nodes for which ``skip`` is true are left as they are, with all that is below them.
    """
    if skip is not None and skip(expr):
        return expr
    old = expr._children
    return function(_with_children(expr, [rewrite(child, function, skip) for child in old]) if old else expr)


def substitute(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """Replaces variables by expressions (array names are not variables). Unchanged nodes are shared."""
    if values.keys().isdisjoint(expr._names):
        return expr
    if isinstance(expr, Var):
        return values[expr.name]
    return _with_children(expr, [substitute(child, values) for child in expr._children])


def _with_children(expr: Expr, parts: Sequence[Expr]) -> Expr:
    """The expression with other children; the same object where they are the same."""
    if all(new is old for new, old in zip(parts, expr._children, strict=True)):
        return expr
    match expr:
        case Binary(op=op):
            return Binary(op, *parts)
        case Index(array=array):
            return Index(array, tuple(parts))
        case Call(function=function, references=references):
            return Call(function, tuple(parts), references)
        case Unary(op=op):
            return Unary(op, *parts)
        case Cast(ctype=ctype, rounds=rounds):
            return Cast(ctype, parts[0], rounds)
        case Select():
            return Select(*parts)
        case Member(field=field):
            return Member(parts[0], field)
    return expr


def base_name(target: Expr) -> str:
    """Name of the variable or array that a target writes to; ``?`` where it has none."""
    node = target
    while not isinstance(node, (Var, Index)):
        below = getattr(node, "base", None) or getattr(node, "operand", None)
        if below is None:
            return "?"
        node = below
    return node.name if isinstance(node, Var) else node.array


def conjunction(terms: list[Expr]) -> Expr | None:
    """``a && b && ...``; None for no terms."""
    result: Expr | None = None
    for term in terms:
        result = term if result is None else Binary("&&", result, term)
    return result


def conjuncts(expr: Expr) -> list[Expr]:
    """The terms of a conjunction, left to right."""
    if isinstance(expr, Binary) and expr.op == "&&":
        return conjuncts(expr.left) + conjuncts(expr.right)
    return [expr]
