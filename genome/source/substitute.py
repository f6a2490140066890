"""Forward substitution: index arithmetic goes to where it is used, floating-point locals stay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from genome.ir.expr import Binary, Call, Cast, Const, Expr, Index, Unary, Var, base_name, names, rewrite, walk
from genome.ir.print_expr import ExprPrinter
from genome.ir.print_functions import PURE
from genome.ir.rewrite_stmt import head, map_exprs, map_stmts, with_bodies
from genome.ir.stmt import (
    Assign,
    Body,
    Decl,
    If,
    Loop,
    Opaque,
    Repeat,
    Space,
    Stmt,
    expressions,
    flatten,
    handed_places,
    written_names,
)
from genome.ir.types import BUILTIN_INDICES, INTEGER_TYPES, canonical, infer
from genome.source.parse_expr import plus
from genome.variant import Target

_MAX_NODES = 64

AxisHook = Callable[[Decl, Expr], Expr | None]


def merge_declarations(body: Body) -> Body:
    """``int i; i = e;`` becomes ``int i = e;`` where that is the only assignment and nothing uses ``i`` in between."""
    counts: dict[str, int] = {}
    for stmt in flatten(body):
        for name in written_names((head(stmt),)):
            counts[name] = counts.get(name, 0) + 1
    return _merge(body, counts)


def _merge(body: Body, counts: Mapping[str, int]) -> Body:
    waiting: dict[str, Decl] = {}
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, Decl) and stmt.init is None and not stmt.dims and counts.get(stmt.name) == 1:
            waiting[stmt.name] = stmt
            result.append(stmt)
            continue
        if isinstance(stmt, Assign) and isinstance(stmt.target, Var) and stmt.op == "=" and stmt.target.name in waiting:
            decl = waiting.pop(stmt.target.name)
            if stmt.target.name not in names(stmt.value):
                result.remove(decl)
                result.append(replace(decl, init=stmt.value))
                continue
        for name in _used((stmt,)) & set(waiting):
            del waiting[name]
        result.append(with_bodies(stmt, lambda body: _merge(body, counts)))
    return tuple(result)


def _used(body: Body) -> set[str]:
    found: set[str] = set()
    for stmt in flatten(body):
        for expr in expressions(stmt):
            found.update(names(expr))
        if isinstance(stmt, Opaque):
            found.update(stmt.reads, stmt.writes)
    return found


@dataclass
class _State:
    """What is known while walking down a body."""

    types: dict[str, str]
    stable: set[str]  # names whose value never changes while they are in scope
    pinned: frozenset[str]  # names that opaque text uses: their declarations stay
    assigned: frozenset[str]
    axis: AxisHook
    values: dict[str, Expr] = field(default_factory=dict)
    pointers: dict[str, tuple[str, Expr]] = field(default_factory=dict)


def forward(
    body: Body,
    types: Mapping[str, str],
    parameters: Mapping[str, bool],
    axis: AxisHook,
    builtins: bool,
) -> Body:
    """Puts integer locals that are set once, and pointers into arrays, into their uses.

    Args:
        body: A body with unique names.
        types: Type of each name.
        parameters: Parameter name -> whether it is a pointer.
        axis: Sees each integer declaration with its substituted value; what it returns takes the variable's place.
        builtins: Whether ``threadIdx.x`` and the like may be moved.
    """
    assigned = {s.target.name for s in flatten(body) if isinstance(s, Assign) and isinstance(s.target, Var)}
    opaque = [s for s in flatten(body) if isinstance(s, Opaque)]
    assigned |= {name for s in opaque for name in s.writes}
    assigned |= {base_name(place) for s in flatten(body) for place in handed_places(s)}
    pinned = frozenset(name for s in opaque for name in (*s.reads, *s.writes))
    stable = {name for name, pointer in parameters.items() if not pointer and name not in assigned}
    stable |= set(BUILTIN_INDICES) if builtins else set()
    state = _State(dict(types), stable, pinned, frozenset(assigned), axis)
    result = _walk(body, state)
    return map_stmts(result, lambda stmt: (_reaching(stmt, state.pointers),)) if state.pointers else result


def _reaching(stmt: Stmt, pointers: Mapping[str, tuple[str, Expr]]) -> Stmt:
    """Opaque text that uses a pointer also uses the array behind it."""
    if not isinstance(stmt, Opaque):
        return stmt
    reads, writes = (
        tuple(dict.fromkeys([*used, *(pointers[name][0] for name in used if name in pointers)]))
        for used in (stmt.reads, stmt.writes)
    )
    return replace(stmt, reads=reads, writes=writes)


def _walk(body: Body, state: _State) -> Body:
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, Loop):
            lower, upper = _apply(stmt.lower, state), _apply(stmt.upper, state)
            state.stable.add(stmt.var)
            result.append(replace(stmt, lower=lower, upper=upper, body=_walk(stmt.body, state)))
        elif isinstance(stmt, If | Repeat):
            stmt = with_bodies(stmt, lambda body: _walk(body, state))
            result.append(replace(stmt, condition=_apply(stmt.condition, state)) if isinstance(stmt, If) else stmt)
        elif isinstance(stmt, Decl) and stmt.ctype.endswith("*"):
            result += _pointer(stmt, state)
        elif (
            isinstance(stmt, Decl)
            and stmt.init is not None
            and canonical(stmt.ctype) in INTEGER_TYPES
            and not stmt.dims
        ):
            result += _integer(stmt, state)
        else:
            result.append(map_exprs(stmt, lambda expr: _apply(expr, state)))
    return tuple(result)


def _integer(stmt: Decl, state: _State) -> Body:
    assert stmt.init is not None
    value = _apply(stmt.init, state)
    kept = replace(stmt, init=value)
    if stmt.name in state.assigned or "volatile" in stmt.ctype:
        return (kept,)
    place = state.axis(stmt, value)
    if place is not None:
        state.stable.update(names(place))
        if place != Var(stmt.name):
            if stmt.name in state.pinned:
                return (replace(stmt, init=place),)
            state.values[stmt.name] = place
        return ()
    state.stable.add(stmt.name)
    if stmt.name in state.pinned or not movable(value, state.stable):
        return (kept,)
    ctype = canonical(stmt.ctype)
    state.values[stmt.name] = value if infer(value, state.types) == ctype else Cast(ctype, value)
    return ()


def _pointer(stmt: Decl, state: _State) -> Body:
    """A pointer local goes into its uses; where opaque text uses it too, its declaration stays as opaque text."""
    assert stmt.init is not None
    base, offset = _split(_apply(stmt.init, state))
    kept: Body = ()
    if stmt.name in state.pinned:
        text = f"{stmt.ctype} {stmt.name} = {ExprPrinter(Target.CUDA, state.types).text(_apply(stmt.init, state))};"
        kept = (Opaque(text, (base, *names(offset)), declares=(stmt.name,), line=stmt.line),)
    if movable(offset, state.stable):
        state.pointers[stmt.name] = (base, offset)
        return kept
    name = f"{stmt.name}_offset"
    while name in state.types:
        name += "_"
    ctype = infer(offset, state.types) or "long long"
    state.types[name] = ctype
    state.stable.add(name)
    state.pointers[stmt.name] = (base, Var(name))
    return (*kept, Decl(name, ctype, (), offset, Space.PRIVATE, True, line=stmt.line))


def _split(expr: Expr) -> tuple[str, Expr]:
    if isinstance(expr, Binary) and expr.op == "+":
        base, offset = _split(expr.left)
        return base, plus(offset, expr.right)
    return (expr.name if isinstance(expr, Var) else "", Const("0"))


def movable(expr: Expr, stable: set[str]) -> bool:
    """True if the expression gives the same value wherever ``stable`` names are in scope, and is not huge."""
    for count, node in enumerate(walk(expr)):
        if count >= _MAX_NODES or isinstance(node, Index) or (isinstance(node, Unary) and node.op in "&*"):
            return False
        if isinstance(node, Var) and node.name not in stable:
            return False
        if isinstance(node, Call) and node.function not in PURE:
            return False
    return True


def _apply(expr: Expr, state: _State) -> Expr:
    if not state.values and not state.pointers:
        return expr

    def change(node: Expr) -> Expr:
        if isinstance(node, Var):
            if node.name in state.pointers:
                base, offset = state.pointers[node.name]
                return plus(Var(base), offset) if offset != Const("0") else Var(base)
            return state.values.get(node.name, node)
        if isinstance(node, Index) and node.array in state.pointers:
            base, offset = state.pointers[node.array]
            return Index(base, (plus(offset, node.subscripts[0]), *node.subscripts[1:]))
        return node

    return rewrite(expr, change)
