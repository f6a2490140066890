"""Statement lists of a kernel, for transforms that look at neighbours: every list, nested ones included."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from genome.analysis.proof import Proof
from genome.genes import Site
from genome.ir.kernel import Kernel
from genome.ir.rewrite_stmt import with_bodies
from genome.ir.stmt import Body, If, Loop, Repeat
from genome.transforms.base import Refusal
from genome.transforms.sites import loop_sites


def bodies(body: Body) -> Iterator[Body]:
    """The list itself, then those inside its statements."""
    yield body
    for stmt in body:
        match stmt:
            case Loop(body=inner) | Repeat(body=inner):
                yield from bodies(inner)
            case If(then=then, orelse=orelse):
                yield from bodies(then)
                yield from bodies(orelse)


def map_bodies(body: Body, function: Callable[[Body], Body]) -> Body:
    """Bottom-up rewrite of every list; unchanged statements are shared."""
    parts = [with_bodies(stmt, lambda inner: map_bodies(inner, function)) for stmt in body]
    same = all(new is old for new, old in zip(parts, body, strict=True))
    return function(body if same else tuple(parts))


def replace_loop(kernel: Kernel, var: str, function: Callable[[Loop], Body]) -> Kernel:
    """The kernel with the loop over a variable replaced wherever it stands in the body."""

    def visit(body: Body) -> Body:
        if not any(isinstance(stmt, Loop) and stmt.var == var for stmt in body):
            return body
        parts = [function(stmt) if isinstance(stmt, Loop) and stmt.var == var else (stmt,) for stmt in body]
        return tuple(stmt for part in parts for stmt in part)

    return replace(kernel, body=map_bodies(kernel.body, visit))


def sites_of_loops(kernel: Kernel, wanted: Callable[[Loop], bool]) -> tuple[Site, ...]:
    """The sites of those loops of the user's that are wanted, with the roles that all loop transforms give them."""
    sites = loop_sites(kernel)
    own = {site.label for site in sites}
    loops = (stmt for each in bodies(kernel.body) for stmt in each if isinstance(stmt, Loop) and stmt.var in own)
    labels = {loop.var for loop in loops if wanted(loop)}
    return tuple(site for site in sites if site.label in labels)


def refused(doubt: Proof | None) -> Refusal | None:
    """The doubt as a refusal."""
    return None if doubt is None else Refusal(doubt.reason, doubt.grant)
