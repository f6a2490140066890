"""Which calls have no effect, and what a body touches in memory."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

from genome.ir.expr import Binary, Call, Expr, Index, Var, accesses, calls, integer, walk
from genome.ir.kernel import Kernel
from genome.ir.print_functions import PURE
from genome.ir.stmt import (
    Assign,
    Barrier,
    Body,
    Decl,
    ExprStmt,
    Loop,
    Opaque,
    Space,
    Stmt,
    VectorLoad,
    expressions,
    flatten,
    writes,
)
from genome.ir.types import canonical


def is_pure(expr: Expr) -> bool:
    """True if evaluating it twice, or not at all, changes nothing."""
    return all(call.function in PURE for call in calls(expr))


@lru_cache(maxsize=8192)
def reads_of(stmt: Stmt) -> tuple[Index, ...]:
    """Array elements that the statement itself reads: those of its values, of subscripts, and of compound targets."""
    found: dict[Index, None] = {}
    targets = writes(stmt)
    compound = isinstance(stmt, Assign) and stmt.op != "="
    for expr in expressions(stmt):
        own = expr in targets and not compound
        for access in accesses(expr):
            if not (own and access == expr):
                found.setdefault(access)
    if isinstance(stmt, VectorLoad):
        found.update(dict.fromkeys(adjacent(stmt.source, len(stmt.targets))))
    if isinstance(stmt, Assign) and stmt.target in set(accesses(stmt.value)) and isinstance(stmt.target, Index):
        found.setdefault(stmt.target)
    return tuple(found)


def adjacent(first: Index, count: int) -> tuple[Index, ...]:
    """So many elements from the first one on."""
    *leading, last = first.subscripts
    later = (Index(first.array, (*leading, Binary("+", last, integer(lane)))) for lane in range(1, count))
    return (first, *later)


@dataclass(frozen=True)
class Effects:
    """What a body touches.

    Attributes:
        reads: Array elements that are read, in order, each once.
        stores: Array elements that are written by plain statements.
        opaque: True if it holds statements whose effects are not fully known.
        barriers: True if it holds (or may hold) a barrier.
        calls: True if it calls a function with an effect (atomics).
    """

    reads: tuple[Index, ...]
    stores: tuple[Index, ...]
    opaque: bool
    barriers: bool
    calls: bool


def effects(body: Body) -> Effects:
    """Effects of a body, nested statements included."""
    parts = [_effects_of(stmt) for stmt in body]
    return Effects(
        reads=tuple(dict.fromkeys(chain(*[part.reads for part in parts]))),
        stores=tuple(dict.fromkeys(chain(*[part.stores for part in parts]))),
        opaque=any(part.opaque for part in parts),
        barriers=any(part.barriers for part in parts),
        calls=any(part.calls for part in parts),
    )


def holds_barrier(body: Body) -> bool:
    """True if the body holds (or may hold) a barrier: ``effects(body).barriers`` alone."""
    return any(map(waits, flatten(body)))


def waits(stmt: Stmt) -> bool:
    """True if threads wait for others at the statement, or may: those of the block, or of the warp."""
    if isinstance(stmt, ExprStmt):
        return any(call.function == "__syncwarp" for call in calls(stmt.value))
    return isinstance(stmt, Barrier) or (isinstance(stmt, Opaque) and stmt.barrier)


def calls_out(body: Body) -> bool:
    """True if the body calls a function with an effect: ``effects(body).calls`` alone."""
    return any(isinstance(s, ExprStmt) or not all(is_pure(e) for e in expressions(s)) for s in flatten(body))


@lru_cache(maxsize=8192)
def _effects_of(stmt: Stmt) -> Effects:
    """Effects of one statement: a rewrite leaves most of a kernel as it is, and so their effects known."""
    stores = tuple(dict.fromkeys(target for target in writes(stmt) if isinstance(target, Index)))
    opaque = isinstance(stmt, Opaque)
    barrier = waits(stmt)
    calls = isinstance(stmt, ExprStmt) or not all(is_pure(expr) for expr in expressions(stmt))
    own = Effects(reads_of(stmt), stores, opaque, barrier, calls)
    if not stmt.inside:
        return own
    inner = effects(stmt.inside)
    return replace(inner, reads=tuple(dict.fromkeys(own.reads + inner.reads)), calls=own.calls or inner.calls)


def shared_arrays(kernel: Kernel) -> tuple[str, ...]:
    """Names of the shared arrays, those declared in the body included."""
    inside = (s.name for s in flatten(kernel.body) if isinstance(s, Decl) and s.space is Space.SHARED)
    return tuple(dict.fromkeys([*(decl.name for decl in kernel.shared), *inside]))


_TOGETHER = re.compile(r"__shared__|__sync|__shfl|__ballot|__any|__all|__activemask|__match|__reduce_|__threadfence"
                       r"|warpSize|cooperative_groups|\basm\b")  # fmt: skip
_PLACE = re.compile(r"\b(threadIdx|blockIdx|blockDim)\s*\.\s*([xyz])\b")
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b.*$", re.MULTILINE)
_INDICES = re.compile(r"\b(threadIdx|blockIdx|blockDim|gridDim)\b")


def cooperates(kernel: Kernel) -> bool:
    """True if the kernel as the user wrote it may rely on which threads form a block or a warp: they share memory,
    synchronise or exchange values, in the body or in a helper.
    """
    if shared_arrays(kernel) or holds_barrier(kernel.body):
        return True
    return _names_neighbours(kernel.prelude, kernel.verbatim, kernel.body)


@lru_cache(maxsize=64)
def _names_neighbours(prelude: str, verbatim: str, body: Body) -> bool:
    """True if anything in them stands for what threads do together: the same for every shape of the block."""
    return any(_TOGETHER.search(text) for text in _words(prelude, verbatim, body))


def hard_codes_block(kernel: Kernel, block: tuple[int, int, int]) -> bool:
    """True if the kernel as the user wrote it asks where in the launch it is, but along a dimension with several
    threads never how large a block is there (a constant then stands for it), or for its place in the block by itself:
    ``threadIdx.x % 4`` beside the global index is another number in another block.
    """
    texts = _words(kernel.prelude, kernel.verbatim, kernel.body)
    used = Counter(index for text in texts for index in _PLACE.findall(text))
    several = [dim for dim, threads in zip("xyz", block, strict=True) if threads > 1]
    asked = [dim for dim in several if any(named == dim for _, named in used)]
    return any(not used["blockDim", dim] or used["threadIdx", dim] > used["blockIdx", dim] for dim in asked)


def _own_text(prelude: str) -> str:
    """The prelude without its ``#include`` lines: a header that is named is not yet used."""
    return _INCLUDE.sub("", prelude)


def _words(prelude: str, verbatim: str, body: Body) -> Iterator[str]:
    """Texts, functions and variables of the kernel, helpers included."""
    yield from (_own_text(prelude), verbatim)
    for stmt in flatten(body):
        if isinstance(stmt, Opaque):
            yield stmt.text
        for expr in expressions(stmt):
            for node in walk(expr):
                if isinstance(node, Call):
                    yield node.function
                elif isinstance(node, Var):
                    yield node.name


def self_contained(kernel: Kernel) -> bool:
    """True if a thread sees nothing of its place in the launch but its axes, and nothing of its neighbours: any
    thread of any block may then compute any of its elements.
    """
    return not cooperates(kernel) and not _INDICES.search(_own_text(kernel.prelude))


TOGETHER = (
    "the threads of a block work together in the kernel as it is written, or may do so in text that is not looked "
    "into: its block is part of what it means"
)
"""Why a kernel that is not self-contained keeps its geometry."""


def locals_of(body: Body) -> tuple[str, ...]:
    """Names that the body declares, loop variables left out."""
    found: dict[str, None] = {}
    for stmt in flatten(body):
        if isinstance(stmt, Decl):
            found.setdefault(stmt.name)
        elif isinstance(stmt, Opaque):
            found.update(dict.fromkeys(stmt.declares))
    return tuple(found)


def element_type(kernel: Kernel, array: str) -> str | None:
    """Canonical type of an element of the parameter, shared array or private array of that name, or None."""
    param = kernel.param(array)
    if param is not None:
        return canonical(param.ctype)
    for decl in kernel.shared:
        if decl.name == array:
            return canonical(decl.ctype)
    for stmt in flatten(kernel.body):
        if isinstance(stmt, Decl) and stmt.name == array:
            return canonical(stmt.ctype)
    return None


def loop_nest(body: Body, var: str) -> tuple[tuple[Loop, ...], Loop] | None:
    """(enclosing loops outermost first, the loop of that variable), or None."""
    for stmt in body:
        if isinstance(stmt, Loop):
            if stmt.var == var:
                return (), stmt
            inner = loop_nest(stmt.body, var)
            if inner is not None:
                return (stmt, *inner[0]), inner[1]
        elif stmt.inside:
            inner = loop_nest(stmt.inside, var)
            if inner is not None:
                return inner
    return None
