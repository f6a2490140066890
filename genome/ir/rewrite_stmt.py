"""Rewrites of statements: they share what they do not change, and give back the same object where nothing changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from genome.ir.expr import Expr, Index, substitute
from genome.ir.stmt import Assign, Body, Decl, ExprStmt, If, Loop, Repeat, Stmt, VectorLoad, VectorStore

S = TypeVar("S", bound=Stmt)
T = TypeVar("T")


def with_bodies(stmt: S, function: Callable[[Body], Body]) -> S:
    """The statement with ``function`` applied to each body that it holds."""
    match stmt:
        case Loop(body=body) | Repeat(body=body):
            return with_fields(stmt, body=function(body))
        case If(then=then, orelse=orelse):
            return with_fields(stmt, then=function(then), orelse=function(orelse))
    return stmt


def head(stmt: S) -> S:
    """The statement without those inside of it: the bounds of a loop, a condition."""
    return with_bodies(stmt, lambda body: ())


def map_exprs(stmt: Stmt, function: Callable[[Expr], Expr]) -> Stmt:
    """The statement with ``function`` applied to each whole expression of it and of nested statements."""
    stmt = with_bodies(stmt, lambda body: map_body(body, function))
    match stmt:
        case Assign(target, value):
            return with_fields(stmt, target=function(target), value=function(value))
        case Loop(lower=lower, upper=upper):
            return with_fields(stmt, lower=function(lower), upper=function(upper))
        case Decl(init=Expr() as init):
            return with_fields(stmt, init=function(init))
        case If(condition):
            return with_fields(stmt, condition=function(condition))
        case VectorLoad(targets, source):
            return with_fields(stmt, targets=_shared(targets, map(function, targets)), source=_index(function(source)))
        case VectorStore(target, values):
            return with_fields(stmt, target=_index(function(target)), values=_shared(values, map(function, values)))
        case ExprStmt(value):
            return with_fields(stmt, value=function(value))
    return stmt


def map_body(body: Body, function: Callable[[Expr], Expr]) -> Body:
    """``map_exprs`` over a body."""
    return _shared(body, [map_exprs(stmt, function) for stmt in body])


def map_stmts(body: Body, function: Callable[[Stmt], Body]) -> Body:
    """Bottom-up rewrite: ``function`` sees each statement after its nested ones, and may return several."""
    result: list[Stmt] = []
    for stmt in body:
        result.extend(function(with_bodies(stmt, lambda body: map_stmts(body, function))))
    return _shared(body, result)


def substitute_body(body: Body, values: Mapping[str, Expr]) -> Body:
    """Replaces variables by expressions in every expression of the body."""
    return map_body(body, lambda expr: substitute(expr, values))


def with_fields(stmt: S, **fields: object) -> S:
    """``dataclasses.replace`` that gives back the same statement where its fields hold these very objects."""
    if all(getattr(stmt, name) is value for name, value in fields.items()):
        return stmt
    return replace(stmt, **fields)  # type: ignore[arg-type]


def _shared(old: tuple[T, ...], new: Iterable[T]) -> tuple[T, ...]:
    """The new items; the old tuple where they are the same objects."""
    items = tuple(new)
    return old if len(items) == len(old) and all(a is b for a, b in zip(items, old, strict=True)) else items


def _index(expr: Expr) -> Index:
    if not isinstance(expr, Index):
        raise TypeError(f"a wide access must stay an array element, not {type(expr).__name__}")
    return expr
