"""Immutable, hashable C expressions.

Structural equality answers "same address, same value"; the hash is computed once per node, since transforms
use expressions as dictionary keys all the time. Nodes are small dataclasses without behaviour; the functions
below walk and rewrite them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Expr:
    """Base of all expressions. Two expressions are equal when they have the same shape and the same leaves."""

    def _key(self) -> tuple[Any, ...]:
        key = self.__dict__.get("_cached_key")
        if key is None:
            key = tuple(value for name, value in self.__dict__.items() if not name.startswith("_"))
            object.__setattr__(self, "_cached_key", key)
        return key

    def __hash__(self) -> int:
        value = self.__dict__.get("_cached_hash")
        if value is None:
            value = hash((type(self).__name__, self._key()))
            object.__setattr__(self, "_cached_hash", value)
        return value

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other) or hash(self) != hash(other):
            return False
        assert isinstance(other, Expr)
        return self._key() == other._key()


@dataclass(frozen=True, eq=False)
class Var(Expr):
    """A name: a local, a scalar parameter, or a builtin such as ``threadIdx.x``, ``blockDim.y``, ``gridDim.x``."""

    name: str


@dataclass(frozen=True, eq=False)
class Const(Expr):
    """A literal, kept as its C text (``16``, ``0.5f``, ``1e-6``, ``0x10u``)."""

    text: str

    @property
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
    """``function(args)``. Whether it is pure is known for the functions of ``genome.analysis.effects`` only."""

    function: str
    args: tuple[Expr, ...]


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
    found: tuple[Expr, ...] | None = expr.__dict__.get("_children")
    if found is None:
        found = _children(expr)
        object.__setattr__(expr, "_children", found)
    return found


def _children(expr: Expr) -> tuple[Expr, ...]:
    match expr:
        case Unary(operand=operand) | Cast(operand=operand):
            return (operand,)
        case Binary(left=left, right=right):
            return (left, right)
        case Index(subscripts=parts) | Call(args=parts):
            return parts
        case Select(condition=condition, then=then, other=other):
            return (condition, then, other)
        case Member(base=base):
            return (base,)
    return ()


def walk(expr: Expr) -> tuple[Expr, ...]:
    """Every node of the expression, parents first; kept with the node, since analyses ask for it all the time."""
    found: tuple[Expr, ...] | None = expr.__dict__.get("_nodes")
    if found is None:
        found = (expr, *(node for child in children(expr) for node in walk(child)))
        object.__setattr__(expr, "_nodes", found)
    return found


def rewrite(expr: Expr, function: Callable[[Expr], Expr]) -> Expr:
    """Bottom-up rewrite: ``function`` sees each node after its children were rewritten. Unchanged nodes are shared."""
    match expr:
        case Var() | Const():
            return function(expr)
        case Unary(op, operand):
            new = rewrite(operand, function)
            node: Expr = expr if new is operand else Unary(op, new)
        case Cast(ctype, operand, rounds):
            new = rewrite(operand, function)
            node = expr if new is operand else Cast(ctype, new, rounds)
        case Binary(op, left, right):
            a, b = rewrite(left, function), rewrite(right, function)
            node = expr if a is left and b is right else Binary(op, a, b)
        case Index(array, subscripts):
            parts = tuple(rewrite(part, function) for part in subscripts)
            node = expr if all(a is b for a, b in zip(parts, subscripts, strict=True)) else Index(array, parts)
        case Call(name, args):
            parts = tuple(rewrite(part, function) for part in args)
            node = expr if all(a is b for a, b in zip(parts, args, strict=True)) else Call(name, parts)
        case Select(condition, then, other):
            c, t, o = rewrite(condition, function), rewrite(then, function), rewrite(other, function)
            node = expr if c is condition and t is then and o is other else Select(c, t, o)
        case Member(base, name):
            new = rewrite(base, function)
            node = expr if new is base else Member(new, name)
        case _:
            node = expr
    return function(node)


def substitute(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """Replaces variables by expressions (array names are not variables)."""
    return rewrite(expr, lambda node: values.get(node.name, node) if isinstance(node, Var) else node)


def names(expr: Expr) -> tuple[str, ...]:
    """Names of variables and arrays used, in order of first use."""
    found: tuple[str, ...] | None = expr.__dict__.get("_names")
    if found is None:
        nodes = (node for node in walk(expr) if isinstance(node, Var | Index))
        found = tuple(dict.fromkeys(node.name if isinstance(node, Var) else node.array for node in nodes))
        object.__setattr__(expr, "_names", found)
    return found


def accesses(expr: Expr) -> tuple[Index, ...]:
    """Every array element that the expression reads, parents first."""
    found: tuple[Index, ...] | None = expr.__dict__.get("_accesses")
    if found is None:
        found = tuple(node for node in walk(expr) if isinstance(node, Index))
        object.__setattr__(expr, "_accesses", found)
    return found


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
