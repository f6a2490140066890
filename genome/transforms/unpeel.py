"""Takes the first iteration of a loop back into it where that changes nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from genome.analysis.effects import calls_out, effects
from genome.analysis.reductions import NotAReduction, carried_scalars, find_reductions
from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Call, Expr, Index, Select, Var, accesses, integer, names, rewrite, substitute
from genome.ir.kernel import Kernel
from genome.ir.poly import poly
from genome.ir.print_source import name_types
from genome.ir.rewrite_stmt import with_bodies
from genome.ir.stmt import Assign, Body, Decl, If, Loop, LoopRole, Stmt, expressions, flatten, written_names
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal


class Unpeel:
    """``m = x[0]; for j = 1 .. n: m = max(m, x[j])`` -> ``m = x[0]; for j = 0 .. n: m = max(m, x[j])``.

    The loop then covers the same elements as others over the row: lanes take whole vectors of it, and what it reads may
    be kept for them. Legal if every scalar that the loop carries is a maximum, a minimum or a mask of bits (combining a
    value twice changes nothing), and holds, when the loop begins, what the iteration in front of it would combine: so
    that iteration reads nothing that was not read, and changes nothing. No parameters.
    Source: the reverse of loop peeling (Bacon, Graham and Sharp, "Compiler transformations for high-performance
    computing", 1994).
    """

    name = "unpeel"
    phase = Phase.NORMALISE
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One a loop that starts at a constant above zero."""
        found = [stmt.var for stmt in flatten(kernel.body) if isinstance(stmt, Loop) and _start(stmt) > 0]
        return tuple(Site(var, f"loop.peeled[{number}]") for number, var in enumerate(dict.fromkeys(found)))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        problems = [_problem(before, loop, name_types(kernel)) for before, loop in _found(kernel.body, site.label)]
        if not problems:
            return Refusal("there is no such loop")
        return next((Refusal(problem) for problem in problems if problem), None)

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Lowers the start of the loop by one."""

        def visit(body: Body) -> Body:
            return tuple(lowered(with_bodies(stmt, visit)) for stmt in body)

        def lowered(stmt: Stmt) -> Stmt:
            if isinstance(stmt, Loop) and stmt.var == site.label:
                return replace(stmt, lower=integer(_start(stmt) - 1))
            return stmt

        return replace(kernel, body=visit(kernel.body))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"the loop over {site.label} takes in the iteration that stood in front of it"


def _start(loop: Loop) -> int:
    """The constant at which a loop of the user's starts; 0 for any other."""
    own = loop.role is LoopRole.SEQUENTIAL and loop.step == 1
    return poly(loop.lower).constant or 0 if own else 0


def _found(body: Body, var: str) -> list[tuple[Body, Loop]]:
    """Each loop of that variable, with the statements in front of it in its body."""
    found: list[tuple[Body, Loop]] = []
    for position, stmt in enumerate(body):
        if isinstance(stmt, Loop) and stmt.var == var:
            found.append((body[:position], stmt))
        branches = (stmt.then, stmt.orelse) if isinstance(stmt, If) else (stmt.inside,)
        for inner in branches:
            found += _found(inner, var)
    return found


def _problem(before: Body, loop: Loop, types: Mapping[str, str]) -> str:
    """Why the iteration in front of the loop may change something; empty if it does not."""
    carried = carried_scalars(loop.body)
    if _start(loop) < 1 or not carried:
        return "the loop carries no scalar from a constant start above zero"
    if calls_out(loop.body) or set(written_names(loop.body)) - set(carried) - _locals(loop.body):
        return "the loop changes more than scalars"
    try:
        reductions = find_reductions(loop.body, carried, types)
    except NotAReduction as error:
        return str(error)
    other = next((reduction.name for reduction in reductions if not reduction.idempotent), None)
    if other is not None:
        return f"{other} would take up one more value"
    combined = _combined(loop.body, {loop.var: integer(_start(loop) - 1)})
    if combined is None:
        return "the loop does more than combine values"
    for name, value in combined:
        if _entry(before, name) != value:
            return f"{name} does not start from what the iteration in front of the loop combines"
    return ""


def _locals(body: Body) -> set[str]:
    return {stmt.name for stmt in body if isinstance(stmt, Decl)}


def _combined(body: Body, values: dict[str, Expr]) -> list[tuple[str, Expr]] | None:
    """(scalar, what an iteration combines into it), its locals written out; None for a body of another shape."""
    found: list[tuple[str, Expr]] = []
    unused: set[str] = set()  # their values may read what was not read before
    for stmt in body:
        unused -= {name for expr in expressions(stmt) for name in names(expr)}
        if isinstance(stmt, Decl) and stmt.init is not None and not stmt.dims:
            values = {**values, stmt.name: substitute(stmt.init, values)}
            unused.add(stmt.name)
            continue
        update = _update(stmt)
        if update is None or update[0] in values:
            return None
        unused -= set(names(update[1]))
        found.append((update[0], _settled(substitute(update[1], values))))
    return None if unused else found


def _update(stmt: Stmt) -> tuple[str, Expr] | None:
    """(scalar, value) of an update that is known to be a maximum, a minimum or a mask."""
    if isinstance(stmt, If) and len(stmt.then) == 1 and isinstance(stmt.then[0], Assign) and not stmt.orelse:
        guarded, condition = stmt.then[0], stmt.condition
        # Any other condition may read what the iteration in front of the loop must not.
        compares = isinstance(condition, Binary) and {condition.left, condition.right}
        if guarded.op != "=" or compares != {guarded.target, guarded.value}:
            return None
        stmt = guarded
    if not isinstance(stmt, Assign) or not isinstance(stmt.target, Var):
        return None
    scalar: Expr = stmt.target
    match stmt.value:
        case value if stmt.op != "=":
            return stmt.target.name, value
        case Call(args=(left, right)) | Select(then=left, other=right) | Binary(left=left, right=right) if scalar in (
            left,
            right,
        ):
            return stmt.target.name, right if left == scalar else left
        case value:
            return (stmt.target.name, value) if stmt.target.name not in names(value) else None


def _entry(before: Sequence[Stmt], name: str) -> Expr | None:
    """What the scalar holds behind these statements, as an expression that still has the same value there."""
    changed: set[str] = set()
    stored = False
    for stmt in reversed(before):
        value: Expr | None = None
        if isinstance(stmt, Decl) and stmt.name == name:
            value = stmt.init
        elif isinstance(stmt, Assign) and stmt.target == Var(name) and stmt.op == "=":
            value = stmt.value
        elif name in written_names((stmt,)) or calls_out((stmt,)):
            return None
        if value is not None:
            lost = changed & set(names(value)) or name in names(value) or (stored and accesses(value))
            return None if lost else _settled(value)
        changed |= set(written_names((stmt,)))
        stored = stored or bool(effects((stmt,)).stores)
    return None


def _settled(expr: Expr) -> Expr:
    """The expression with its subscripts in normal form."""

    def visit(node: Expr) -> Expr:
        if isinstance(node, Index):
            return Index(node.array, tuple(poly(subscript).to_expr() for subscript in node.subscripts))
        return node

    return rewrite(expr, visit)
