"""What runs in a kernel, as its guards and loops tell: positions with their bounds. Guesses for ``evo-tune init``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from evo.init_stretches import Stretch, resolver, stretches
from genome.ir.expr import Binary, Expr, Var, integer, names, walk
from genome.ir.kernel import Kernel
from genome.ir.poly import poly
from genome.ir.stmt import Loop, expressions, flatten

_BUILTIN = re.compile(r"\b(?:blockIdx|threadIdx)\s*\.\s*([xyz])\b")


@dataclass(frozen=True)
class Positions:
    """The variables that run: axes, loops, and expressions of launch indices that a guard bounds.

    Attributes:
        bounds: Variable -> exclusive upper bound.
        names: Expressions that stand for a position, with the variable that replaces them.
        extents: Launch dimension -> bound of the position along it, where there is one.
        threads: Launch dimension -> positions of a block along it, where the index map says so.
        stretches: Launch dimension -> how a thread has several positions.
        dims: Number of launch dimensions in use.
    """

    bounds: Mapping[str, Expr]
    names: tuple[tuple[Expr, Var], ...] = ()
    extents: Mapping[str, Expr] = field(default_factory=dict)
    threads: Mapping[str, int] = field(default_factory=dict)
    dims: int = 1
    stretches: Mapping[str, Stretch] = field(default_factory=dict)


def launch_dims(text: str) -> int:
    """Launch dimensions whose indices a text uses."""
    return max(("xyz".index(dim) + 1 for dim in _BUILTIN.findall(text)), default=1)


def blocks_alone(kernel: Kernel, text: str) -> tuple[str, ...]:
    """Launch dimensions along which a block has a number of its own (a row a block), not a stretch of positions."""
    found = []
    for dim in "xyz"[: launch_dims(text)]:
        width = rf"\(?\s*(?:blockDim\s*\.\s*{dim}|[A-Z0-9_]+)\b"
        stretch = rf"blockIdx\s*\.\s*{dim}\s*\*\s*{width}|{width}\s*\)?\s*\*\s*blockIdx\s*\.\s*{dim}"
        used = re.search(rf"\bblockIdx\s*\.\s*{dim}\b", text) is not None
        if used and not any(axis.dim == dim for axis in kernel.axes) and not re.search(stretch, text):
            found.append(dim)
    return tuple(found)


def positions(kernel: Kernel, text: str) -> Positions:
    """What runs in a kernel. ``text`` is its source, for dimensions that only an unread part of it uses."""
    bounds: dict[str, Expr] = {axis.name: axis.upper for axis in kernel.axes if axis.upper is not None}
    extents = {axis.dim: axis.upper for axis in kernel.axes if axis.upper is not None}
    threads: dict[str, int] = {}
    found: list[tuple[Expr, Var]] = []
    resolve, stretched = resolver(kernel), stretches(kernel)
    several = {axis.name: axis.dim for axis in kernel.axes if axis.dim in stretched}
    for left, right in _comparisons(kernel):
        meaning = resolve(left)
        for atom in poly(meaning).atoms if names(right) else ():
            if isinstance(atom, Var) and atom.name in several:
                extents.setdefault(several[atom.name], right)
        used = {name[-1] for name in names(meaning) if name.startswith(("blockIdx.", "threadIdx."))}
        if len(used) != 1 or any("." in name for name in names(right)):
            continue
        name = left if isinstance(left, Var) else Var(f"position_{len(found)}")
        if name is not left:
            found.append((left, name))
        dim = used.pop()
        bounds.setdefault(name.name, right)
        if f"blockIdx.{dim}" not in names(meaning):
            continue
        extents.setdefault(dim, right)
        split = poly(meaning).coefficient(f"blockIdx.{dim}")
        width = split[0].constant if split else None
        if width is not None and width > 1:
            threads.setdefault(dim, width)
    for stmt in flatten(kernel.body):
        if isinstance(stmt, Loop):
            bounds.setdefault(stmt.var, stmt.upper)
    dims = max([launch_dims(text), *("xyz".index(axis.dim) + 1 for axis in kernel.axes)])
    return Positions(bounds, tuple(found), extents, threads, dims, stretched)


def _comparisons(kernel: Kernel) -> Iterator[tuple[Expr, Expr]]:
    """(position, exclusive bound) of every comparison; ``i >= n`` guards a return, so it bounds as ``i < n`` does."""
    for expr in whole(kernel):
        for node in walk(expr):
            if not isinstance(node, Binary):
                continue
            if node.op in ("<", ">="):
                yield node.left, node.right
            elif node.op == "<=":
                yield node.left, Binary("+", node.right, integer(1))
            elif node.op == ">":
                yield node.right, node.left


def whole(kernel: Kernel) -> Iterator[Expr]:
    """Every expression of the body."""
    for stmt in flatten(kernel.body):
        yield from expressions(stmt)
