"""Digest of a kernel up to the names in it: parameters, axes, locals and loop variables are numbered as they appear."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping

from genome.ir.expr import Binary, Call, Cast, Const, Expr, Index, Member, Select, Unary, Var
from genome.ir.kernel import Kernel
from genome.ir.stmt import Assign, Body, Decl, ExprStmt, If, Loop, Opaque, Repeat, Stmt, VectorLoad, VectorStore
from genome.spec import KernelSpec

_WORD = re.compile(r"[A-Za-z_]\w*")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)

Names = Mapping[str, str]


def kernel_digest(kernel: Kernel | None, spec: KernelSpec) -> str:
    """First 16 hex digits of a SHA-256 over the structure of the kernel.

    Where there is no IR it is over the source without comments and layout, the entry, the template arguments and the
    tunables' names; names matter then.
    """
    parts = _source_parts(spec) if kernel is None else list(_kernel_parts(kernel))
    return hashlib.sha256("\n".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def _source_parts(spec: KernelSpec) -> list[str]:
    source = " ".join(_COMMENT.sub(" ", spec.source).split())
    tunables = [spec.name, *(tunable.name for tunable in spec.tunables)] if not source else []
    return ["source", source, spec.entry, *spec.template_args, *tunables]


def _kernel_parts(kernel: Kernel) -> Iterator[str]:
    names: dict[str, str] = {}
    for param in kernel.params:
        names[param.name] = f"p{len(names)}"
        yield f"param {param.ctype} {'*' if param.pointer else ''}"
    for axis in kernel.axes:
        names[axis.name] = f"a{len(names)}"
        yield f"axis {axis.dim} {_bound(axis.lower, names)} {_bound(axis.upper, names)}"
    yield " ".join(_COMMENT.sub(" ", kernel.prelude).split())
    yield from (f"macro {name}" for name, _ in kernel.macros)
    for body in (kernel.prologue, kernel.shared, kernel.body, kernel.tail or ()):
        yield from _body(body, names)


def _bound(expr: Expr | None, names: Names) -> str:
    return "-" if expr is None else _expr(expr, names)


def _body(body: Body, names: dict[str, str]) -> Iterator[str]:
    """Lines of a body. ``names`` grows with its declarations; nested bodies get a copy, as C's scopes do."""
    for stmt in body:
        yield from _stmt(stmt, names)


def _stmt(stmt: Stmt, names: dict[str, str]) -> Iterator[str]:
    match stmt:
        case Loop():
            bounds = f"{_expr(stmt.lower, names)} {_expr(stmt.upper, names)} {stmt.step} {stmt.role.value}"
            yield f"loop {stmt.ctype} {bounds} {stmt.unroll}"
            yield from _body(stmt.body, {**names, stmt.var: f"v{len(names)}"})
            yield "end"
        case Repeat():
            yield "repeat"
            yield from _body(stmt.body, dict(names))
            yield "end"
        case If():
            yield f"if {_expr(stmt.condition, names)}"
            yield from _body(stmt.then, dict(names))
            yield "else"
            yield from _body(stmt.orelse, dict(names))
            yield "end"
        case Decl():
            init = _bound(stmt.init, names)
            _declare(names, stmt.name)
            yield f"decl {stmt.space.value} {stmt.ctype} {stmt.dims} {init}"
        case Opaque():
            for name in stmt.declares:
                _declare(names, name)
            text = _WORD.sub(lambda word: names.get(word.group(), word.group()), _COMMENT.sub(" ", stmt.text))
            yield "opaque " + " ".join(text.split())
        case Assign():
            yield f"{_expr(stmt.target, names)} {stmt.op} {_expr(stmt.value, names)}"
        case ExprStmt():
            yield _expr(stmt.value, names)
        case VectorLoad():
            yield f"load {_all(stmt.targets, names)} {_expr(stmt.source, names)}"
        case VectorStore():
            yield f"store {_expr(stmt.target, names)} {_all(stmt.values, names)}"
        case _:
            yield type(stmt).__name__


def _declare(names: dict[str, str], name: str) -> None:
    """A fresh number, also for a name that shadows another one."""
    names[name] = f"v{len(names)}" if name not in names else f"{names[name]}'"


def _all(exprs: tuple[Expr, ...], names: Names) -> str:
    return ",".join(_expr(expr, names) for expr in exprs)


def _expr(expr: Expr, names: Names) -> str:
    match expr:
        case Var(name):
            return names.get(name, name)
        case Const(text):
            return text
        case Unary(op, operand):
            return f"({op} {_expr(operand, names)})"
        case Binary(op, left, right):
            return f"({op} {_expr(left, names)} {_expr(right, names)})"
        case Index(array, subscripts):
            return f"{names.get(array, array)}[{_all(subscripts, names)}]"
        case Call(function, args):
            return f"{function}({_all(args, names)})"
        case Select(condition, then, other):
            return f"(? {_all((condition, then, other), names)})"
        case Cast(ctype, operand):
            return f"(cast {ctype} {_expr(operand, names)})"
        case Member(base, field):
            return f"{_expr(base, names)}.{field}"
    raise TypeError(f"{type(expr).__name__} is not an expression of the IR")
