"""Loop fusion: two loops over the same range become one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from genome.analysis.reordering import fixed_order
from genome.genes import ParamValue, Site
from genome.ir.expr import Var, accesses, names
from genome.ir.kernel import Kernel
from genome.ir.poly import poly
from genome.ir.rewrite_stmt import substitute_body
from genome.ir.stmt import Body, Decl, Loop, LoopRole, Space, Stmt, written_names
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.bodies import bodies, map_bodies, sites_of_loops
from genome.transforms.fission import split_refusal


class Fusion:
    """``for i { A(i); } for j { B(j); }`` -> ``for i { A(i); B(i); }``.

    Values that both loops read are loaded once. Declarations between the two move to the front. Legal if the ranges are
    the same and keep their values, and the loop that comes out could be split again (see ``Fission``): no ``B(i)``
    touches what a later ``A(i')`` does, and no private value goes from one to the other. No parameters.
    Source: Kennedy and McKinley, "Maximizing loop parallelism and improving data locality via loop fusion and
    distribution", LCPC 1993.
    """

    name = "fusion"
    phase = Phase.NORMALISE
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One a loop with another one behind it."""
        return sites_of_loops(kernel, lambda loop: _pair(kernel, loop.var) is not None)

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        pair = _pair(kernel, site.label)
        if pair is None:
            return Refusal(f"no loop follows the one over {site.label}")
        first, between, second = pair
        if not _same_range(first, second):
            return Refusal(f"the loops over {first.var} and {second.var} have different ranges")
        order = fixed_order((first, *between, second))
        if order:
            return Refusal(order)
        touched = {first.var, *written_names(first.body)}
        for decl in between:
            assert isinstance(decl, Decl)
            if decl.init is not None and (accesses(decl.init) or touched & set(names(decl.init))):
                return Refusal(f"{decl.name} between the loops may depend on the first of them")
        fused = _fused(kernel, site.label)
        loop = next(stmt for each in bodies(fused.body) for stmt in each if _over(stmt, first.var))
        assert isinstance(loop, Loop)
        return split_refusal(fused, loop, len(first.body), context)

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Appends the second body to the first."""
        return _fused(kernel, site.label)

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"the loop over {site.label} and the one behind it run as one"


class _Pair(NamedTuple):
    """Two loops of one statement list, and the declarations between them."""

    first: Loop
    between: Body
    second: Loop


def _over(stmt: Stmt, var: str) -> bool:
    return isinstance(stmt, Loop) and stmt.var == var


def _pair(kernel: Kernel, var: str) -> _Pair | None:
    for body in bodies(kernel.body):
        start = next((number for number, stmt in enumerate(body) if _over(stmt, var)), None)
        if start is None:
            continue
        first, end = body[start], start + 1
        while end < len(body) and _moves(body[end]):
            end += 1
        second = body[end] if end < len(body) else None
        if isinstance(first, Loop) and isinstance(second, Loop):
            whole = first.role is second.role is LoopRole.SEQUENTIAL
            return _Pair(first, body[start + 1 : end], second) if whole else None
    return None


def _moves(stmt: Stmt) -> bool:
    """True for the declaration of a private variable."""
    return isinstance(stmt, Decl) and stmt.space is Space.PRIVATE


def _same_range(first: Loop, second: Loop) -> bool:
    ends = (poly(first.lower) == poly(second.lower), poly(first.upper) == poly(second.upper))
    return all(ends) and first.step == second.step and first.ctype == second.ctype


def _fused(kernel: Kernel, var: str) -> Kernel:
    pair = _pair(kernel, var)
    assert pair is not None
    body = (*pair.first.body, *substitute_body(pair.second.body, {pair.second.var: Var(var)}))
    loop = replace(pair.first, body=body)

    def join(body: Body) -> Body:
        start = next((number for number, stmt in enumerate(body) if stmt is pair.first), None)
        if start is None:
            return body
        return (*body[:start], *pair.between, loop, *body[start + 2 + len(pair.between) :])

    return replace(kernel, body=map_bodies(kernel.body, join))
