"""Predication: a short branch becomes a selection of values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from genome.analysis.effects import is_pure
from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Cast, Expr, Select, Var, accesses, calls, walk
from genome.ir.kernel import Kernel
from genome.ir.print_source import name_types
from genome.ir.rewrite_stmt import map_stmts
from genome.ir.stmt import Assign, Body, Decl, If, Space, Stmt, flatten
from genome.ir.types import FLOAT_TYPES, INTEGER_TYPES, infer
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.nests import NameSource
from genome.transforms.sites import declared

_MOST = 4  # values of one branch


class Predicate:
    """``if (c) s = e;`` -> ``s = c ? e : s;``.

    Threads that disagree then run the same instructions, and the statement may be jammed and vectorised like any other
    one. Legal for private scalars and values that may be computed anywhere: no memory, no calls, no division. Where
    several values hang on one condition it is kept in a variable first. No parameters.
    Source: Allen, Kennedy, Porterfield and Warren, "Conversion of control dependence to data dependence", POPL 1983.
    """

    name = "predicate"
    phase = Phase.NORMALISE
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One a scalar that is first set under some condition."""
        branches = (stmt for stmt in flatten(kernel.body) if isinstance(stmt, If))
        scalars = dict.fromkeys(name for stmt in branches for name in _scalars(stmt)[:1])
        return tuple(Site(name, f"guarded[{number}]") for number, name in enumerate(scalars))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        types = name_types(kernel)
        problems = [_problem(stmt, kernel, types) for stmt in _branches(kernel, site.label)]
        if not problems:
            return Refusal(f"no branch sets {site.label} and nothing but scalars")
        return None if "" in problems else Refusal(problems[0])

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Rewrites every such branch that can be."""
        types, source = name_types(kernel), NameSource(kernel)
        mine = set(_branches(kernel, site.label))

        def visit(stmt: Stmt) -> Body:
            if not isinstance(stmt, If) or stmt not in mine or _problem(stmt, kernel, types):
                return (stmt,)
            return _selected(stmt, types, source)

        return replace(kernel, body=map_stmts(kernel.body, visit))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"{site.label} is selected instead of set in a branch"


def _assignments(stmt: If) -> tuple[Assign, ...]:
    """The statements of both branches if all of them set a scalar, else none."""
    inside = stmt.then + stmt.orelse
    found = tuple(inner for inner in inside if isinstance(inner, Assign) and isinstance(inner.target, Var))
    return found if len(found) == len(inside) else ()


def _scalars(stmt: If) -> tuple[str, ...]:
    return tuple(each.target.name for each in _assignments(stmt) if isinstance(each.target, Var))


def _branches(kernel: Kernel, label: str) -> Iterator[If]:
    """Branches that set nothing but scalars, and this one first."""
    for stmt in flatten(kernel.body):
        if isinstance(stmt, If) and _scalars(stmt)[:1] == (label,):
            yield stmt


def _problem(stmt: If, kernel: Kernel, types: Mapping[str, str]) -> str:
    """Why the branch has to stay one; empty if it does not."""
    found = _assignments(stmt)
    if len(found) > _MOST:
        return f"{len(found)} values hang on one condition"
    if not is_pure(stmt.condition):
        return "the condition has an effect"
    for each in found:
        assert isinstance(each.target, Var)
        name = each.target.name
        decl = declared(kernel, name)
        if decl is None or decl.space is not Space.PRIVATE or "volatile" in decl.ctype:
            return f"{name} is no private variable of the thread"
        if accesses(each.value) or calls(each.value):
            return f"the value of {name} is read or computed by a call only where the condition holds"
        if _divides(each):
            return f"the value of {name} is a quotient, which may only be computed where the condition holds"
        kinds = types.get(name, ""), infer(each.value, types)
        if not set(kinds) <= INTEGER_TYPES | FLOAT_TYPES:
            return f"the type of {name} or of its value is no number"
    return ""


def _divides(stmt: Assign) -> bool:
    inside = (node.op for node in walk(stmt.value) if isinstance(node, Binary))
    return stmt.op in ("/=", "%=") or any(op in ("/", "%") for op in inside)


def _selected(stmt: If, types: Mapping[str, str], source: NameSource) -> Body:
    found, condition = _assignments(stmt), stmt.condition
    kept: Body = ()
    if len(found) > 1:
        name = source.fresh(f"{_scalars(stmt)[0]}_taken")
        kept, condition = (Decl(name, "bool", init=condition, const=True),), Var(name)
    taken = [_selection(each, condition, True, types) for each in found[: len(stmt.then)]]
    other = [_selection(each, condition, False, types) for each in found[len(stmt.then) :]]
    return (*kept, *taken, *other)


def _selection(stmt: Assign, condition: Expr, holds: bool, types: Mapping[str, str]) -> Assign:
    """The assignment with the scalar's own value where the condition is otherwise; conversions happen as before."""
    value = stmt.value if stmt.op == "=" else Binary(stmt.op[:-1], stmt.target, stmt.value)
    assert isinstance(stmt.target, Var)
    ctype, kind = types[stmt.target.name], infer(value, types)
    if kind != ctype:
        value = Cast(ctype, value, rounds=kind not in INTEGER_TYPES)
    chosen = (value, stmt.target) if holds else (stmt.target, value)
    return replace(stmt, value=Select(condition, *chosen), op="=")
