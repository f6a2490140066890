"""The form in which indices are printed: the thread's first index by name, and what varies fastest added last.

Transforms keep the digits of an axis apart (``c_block + c_thread * 4 + c_inner``), since footprints and races are read
from them. Compilers do better with another association: only when the innermost instance is added last is the rest one
address, and the instance an immediate offset of it (or one lane of a vector)::

    B[k * N + (c_block + c_inner + c_thread * 4)]   ->   const int c_first = c_block + c_thread * 4;
                                                         B[c_first + k * N + c_inner]

On PoCL this alone decides whether neighbouring instances become vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from genome.ir.expr import Binary, Cast, Const, Expr, Index, Unary, Var, accesses, names, rewrite
from genome.ir.kernel import Kernel
from genome.ir.node import Node
from genome.ir.print_source import name_types
from genome.ir.rewrite_stmt import map_exprs, map_stmts, with_fields
from genome.ir.stmt import Body, Decl, If, Loop, LoopRole, Repeat, Stmt, flatten
from genome.ir.types import INTEGER_TYPES, canonical, infer, join

_LONG = frozenset({"long", "unsigned long", "size_t", "long long", "unsigned long long"})
_NARROW = frozenset({"bool", "char", "signed char", "unsigned char", "short", "unsigned short", "int"})


class _Term(NamedTuple):
    """One summand: ``sign * value``."""

    sign: int
    value: Expr


def settle_indices(kernel: Kernel) -> Kernel:
    """The kernel with its indices in printing form; the last rewrite before printing."""
    types = name_types(kernel) | {decl.name: canonical(decl.ctype) for decl in kernel.firsts}
    form = _Form(tuple(found for decl in kernel.firsts if (found := _first(decl)) is not None), types)
    body = form.body(kernel.body, {}, 0)
    tail = None if kernel.tail is None else form.body(kernel.tail, {}, 0)
    settled = replace(kernel, body=body, tail=tail)
    used = settled.used_names
    firsts = tuple(decl for decl in kernel.firsts if decl.name in used)
    late = {decl.name for decl in firsts if decl.init is not None and set(names(decl.init)) & _bases(kernel)}
    settled = replace(settled, body=map_stmts(settled.body, lambda stmt: _with_firsts(stmt, firsts, late)))
    return replace(settled, prologue=kernel.prologue + tuple(decl for decl in firsts if decl.name not in late))


def _bases(kernel: Kernel) -> set[str]:
    """Names that loops over blocks of the grid declare."""
    loops = (stmt for stmt in flatten(kernel.body) if isinstance(stmt, Loop) and stmt.role is LoopRole.GRID)
    return {stmt.name for loop in loops for stmt in loop.body if isinstance(stmt, Decl)}


def _with_firsts(stmt: Stmt, firsts: tuple[Decl, ...], late: set[str]) -> Body:
    """A loop over blocks of the grid declares the thread's first index behind the block's."""
    if not isinstance(stmt, Loop) or stmt.role is not LoopRole.GRID:
        return (stmt,)
    own = {inner.name for inner in stmt.body if isinstance(inner, Decl)}
    mine = tuple(d for d in firsts if d.name in late and d.init is not None and own & set(names(d.init)))
    first, *rest = stmt.body
    return (replace(stmt, body=(first, *mine, *rest)),)


@dataclass(frozen=True, eq=False)
class _First(Node):
    """A thread's first index, ``name = base + digit ...``, and the names without which no sum holds it."""

    name: str
    base: Var
    digit: Expr
    needs: frozenset[str]


def _first(decl: Decl) -> _First | None:
    assert decl.init is not None
    base, *digits = (term.value for term in _terms(decl.init))
    if not digits or not isinstance(base, Var):
        return None
    return _First(decl.name, base, digits[0], frozenset((base.name, *names(digits[0]))))


_Facts = tuple[tuple[str, str, int], ...]
"""What the form of an expression asks of each name in it: (name, its type, how deep the loop is that sets it)."""


@dataclass(frozen=True)
class _Form:
    firsts: tuple[_First, ...]
    types: Mapping[str, str]

    def body(self, body: Body, depths: Mapping[str, int], depth: int) -> Body:
        scope = dict(depths)
        result: list[Stmt] = []
        for stmt in body:
            result.append(self._stmt(stmt, scope, depth))
            if isinstance(stmt, Decl):
                scope[stmt.name] = depth
        return tuple(result)

    def _stmt(self, stmt: Stmt, depths: Mapping[str, int], depth: int) -> Stmt:
        if isinstance(stmt, Loop):
            inside = {**depths, stmt.var: depth + 1}
            lower, upper = self._expr(stmt.lower, depths), self._expr(stmt.upper, depths)
            return with_fields(stmt, lower=lower, upper=upper, body=self.body(stmt.body, inside, depth + 1))
        if isinstance(stmt, Repeat):
            return with_fields(stmt, body=self.body(stmt.body, depths, depth + 1))
        if isinstance(stmt, If):
            then, orelse = self.body(stmt.then, depths, depth), self.body(stmt.orelse, depths, depth)
            return with_fields(stmt, condition=self._expr(stmt.condition, depths), then=then, orelse=orelse)
        stmt = map_exprs(stmt, lambda expr: self._expr(expr, depths))
        if isinstance(stmt, Decl) and stmt.init is not None and self.types.get(stmt.name) in INTEGER_TYPES:
            return with_fields(stmt, init=_ordered(stmt.init, self._facts(stmt.init, depths)))
        return stmt

    def _expr(self, expr: Expr, depths: Mapping[str, int]) -> Expr:
        return expr if _is_settled(expr, self.firsts) else _settled(expr, self.firsts, self._facts(expr, depths))

    def _facts(self, expr: Expr, depths: Mapping[str, int]) -> _Facts:
        known = (*names(expr), *[first.name for first in self.firsts])
        return tuple([(name, self.types.get(name, ""), depths.get(name, 0)) for name in known])


def _is_settled(expr: Expr, firsts: Sequence[_First]) -> bool:
    """True if the expression is in printing form as it is: it has neither an index nor a sum that holds a first one."""
    if accesses(expr):
        return False
    return not any(first.needs.issubset(names(expr)) for first in firsts)


@lru_cache(maxsize=8192)
def _settled(expr: Expr, firsts: tuple[_First, ...], facts: _Facts) -> Expr:
    """The expression in printing form; the same few addresses stand in most variants of a kernel."""

    def visit(node: Expr) -> Expr:
        if isinstance(node, Binary) and node.op in ("+", "-"):
            return _named(node, firsts)
        if isinstance(node, Index):
            return Index(node.array, tuple([_ordered(part, facts) for part in node.subscripts]))
        return node

    return rewrite(expr, visit, lambda node: _is_settled(node, firsts))


def _named(node: Expr, firsts: Sequence[_First]) -> Expr:
    """``m * base + m * thread * inner`` in a sum becomes ``m * first``."""
    for first in firsts:
        if first.needs.issubset(names(node)):
            found = _pair(_terms(node), first.base, first.digit, Var(first.name))
            node = node if found is None else _sum(found)
    return node


def _ordered(expr: Expr, facts: _Facts) -> Expr:
    """A sum with what varies in the innermost loop last, literals behind it; other expressions as they are."""
    terms = _terms(expr)
    if len(terms) < 2:
        return expr
    types = {name: ctype for name, ctype, _ in facts}
    depths = {name: depth for name, _, depth in facts}
    kinds = {infer(term.value, types) for term in terms}
    whole = infer(expr, types)
    if whole not in INTEGER_TYPES or not kinds <= INTEGER_TYPES:
        return expr
    if "unsigned int" in kinds and join(whole, "unsigned int") != "unsigned int":
        return expr  # a difference that wraps at 32 bits would be widened before it wraps
    ordered = sorted(terms, key=lambda term: (isinstance(term.value, Const), _depth(term.value, depths), -term.sign))
    first = ordered[0]
    if first.sign < 0:
        return expr
    kind = infer(first.value, types)
    if kind != whole and not (kind in _NARROW and whole == "int"):
        ordered[0] = _Term(1, Cast(whole, first.value))  # every later addition then happens in the whole's type
    return _sum(ordered)


def _terms(expr: Expr, sign: int = 1) -> list[_Term]:
    match expr:
        case Binary("+", left, right):
            return _terms(left, sign) + _terms(right, sign)
        case Binary("-", left, right):
            return _terms(left, sign) + _terms(right, -sign)
        case Unary("-", operand):
            return _terms(operand, -sign)
    return [_Term(sign, expr)]


def _sum(terms: list[_Term]) -> Expr:
    result: Expr | None = None
    for term in terms:
        if result is None:
            result = term.value if term.sign > 0 else Unary("-", term.value)
        else:
            result = Binary("+" if term.sign > 0 else "-", result, term.value)
    assert result is not None
    return result


def _pair(terms: list[_Term], base: Expr, digit: Expr, first: Expr) -> list[_Term] | None:
    """The terms with one ``m * base`` and its ``m * digit`` merged into ``m * first``; None without such a pair."""
    for index, term in enumerate(terms):
        multiplier = _quotient(term.value, base)
        if multiplier is None:
            continue
        for other, candidate in enumerate(terms):
            if other != index and candidate.sign == term.sign and _quotient(candidate.value, digit) == multiplier:
                merged = _Term(term.sign, _product(first, multiplier))
                return [merged if i == index else t for i, t in enumerate(terms) if i != other]
    return None


_Factors = tuple[str, int, tuple[Expr, ...]]


@lru_cache(maxsize=4096)
def _factors(expr: Expr) -> _Factors:
    """(64-bit cast of one factor, product of literals, other factors in a fixed order)."""
    cast, number, rest = "", 1, []
    stack = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, Binary) and node.op == "*":
            stack += [node.right, node.left]
        elif isinstance(node, Cast) and not cast and not node.rounds and canonical(node.ctype) in _LONG:
            cast = node.ctype
            stack.append(node.operand)
        elif isinstance(node, Const) and node.value is not None:
            number *= node.value
        else:
            rest.append(node)
    return cast, number, tuple(sorted(rest, key=repr))


def _quotient(expr: Expr, by: Expr) -> _Factors | None:
    """What the product ``expr`` is beside the factors of ``by``; None if it does not hold them."""
    cast, number, factors = _factors(expr)
    _, divisor, wanted = _factors(by)
    left = list(factors)
    for factor in wanted:
        if factor not in left:
            return None
        left.remove(factor)
    return (cast, number // divisor, tuple(left)) if divisor and number % divisor == 0 else None


def _product(first: Expr, multiplier: _Factors) -> Expr:
    cast, number, factors = multiplier
    result: Expr = Cast(cast, first) if cast else first
    for factor in factors:
        result = Binary("*", result, factor)
    return result if number == 1 else Binary("*", result, Const(str(number)))


def _depth(expr: Expr, depths: Mapping[str, int]) -> int:
    return max((depths.get(name, 0) for name in names(expr)), default=0)
