"""Integer scalars that are set more than once: each value gets a name of its own where nothing else is needed for it.

``int k = a; use(k); k = k + 1; use(k);`` becomes ``int k = a; use(k); int k_2 = k + 1; use(k_2);``. A value that
is wanted behind the block in which it is set (behind an ``if``, in the next turn of a loop) stays an assignment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from enum import Enum

from genome.ir.expr import Binary, Expr, Unary, Var, base_name, names, substitute, walk
from genome.ir.rewrite_stmt import head, map_exprs, with_bodies
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
    used_names,
)
from genome.ir.types import INTEGER_TYPES, canonical


def versioned(body: Body, parameters: Mapping[str, str], taken: Set[str]) -> tuple[Body, dict[str, str]]:
    """The body with such names.

    Args:
        body: With unique names.
        parameters: Scalar parameters with their types.
        taken: Further names that the kernel has.

    Returns:
        The body, and the types of the names that are new in it.
    """
    kinds = _several(body, parameters)
    if not kinds:
        return body, {}
    versions = _Versions(kinds, used_names(body) | taken)
    result = versions.block(body, {}, lambda name: False)
    left = {name for stmt in flatten(result) for expr in expressions(stmt) for name in names(expr)}
    return _without(result, kinds.keys() - left), versions.types


def _several(body: Body, parameters: Mapping[str, str]) -> dict[str, str]:
    """Types of the integer scalars that plain assignments alone set, after their declarations."""
    kinds = {name: canonical(ctype) for name, ctype in parameters.items()}
    other: set[str] = set()
    assigned: set[str] = set()
    for stmt in flatten(body):
        other.update(base_name(place) for place in handed_places(stmt))
        other.update(name for expr in expressions(stmt) for name in _addressed(expr))
        match stmt:
            case Decl(name=name, ctype=ctype, dims=(), space=Space.PRIVATE) if "volatile" not in ctype:
                kinds[name] = canonical(ctype)
            case Assign(target=Var(name=name)):
                assigned.add(name)
            case Opaque(reads=reads, writes=writes, declares=declares):
                other.update(reads, writes, declares)
            case Loop(var=name):
                other.add(name)
    return {name: kinds[name] for name in assigned - other if kinds.get(name) in INTEGER_TYPES}


def _addressed(expr: Expr) -> tuple[str, ...]:
    return tuple(
        name for node in walk(expr) if isinstance(node, Unary) and node.op == "&" for name in names(node.operand)
    )


class _First(Enum):
    """What is first done to a variable."""

    NOTHING = "nothing"
    SET = "set"
    READ = "read"  # or something that may be


def _first(body: Body, name: str) -> _First:
    for stmt in body:
        match stmt:
            case Assign(target=Var(name=target), value=value, op="=") if target == name and name not in names(value):
                return _First.SET
        if name in used_names((stmt,)):
            return _First.READ
    return _First.NOTHING


class _Versions:
    """Gives names while it walks down a body.

    Args:
        kinds: Type of each variable that gets versions.
        taken: Names that they may not have.
    """

    def __init__(self, kinds: Mapping[str, str], taken: Set[str]) -> None:
        self._kinds, self._taken = kinds, set(taken)
        self.types: dict[str, str] = {}

    def block(self, body: Body, current: Mapping[str, str], wanted: Callable[[str], bool]) -> Body:
        """The statements of a block.

        Args:
            body: The block.
            current: Variable -> what its value is called where the block begins.
            wanted: Whether a variable's value may be read behind the block.
        """
        current = dict(current)
        result: list[Stmt] = []
        for position, stmt in enumerate(body):
            match stmt:
                case Assign(target=Var(name=name)) if name in self._kinds and not wanted(name):
                    result.append(self._version(stmt, name, current))
                case _:
                    result.append(self._inside(stmt, current, _behind(body[position + 1 :], wanted)))
        return tuple(result)

    def _inside(self, stmt: Stmt, current: Mapping[str, str], behind: Callable[[str], bool]) -> Stmt:
        """Any other statement, with current names in it."""
        wanted = _again(stmt, behind) if isinstance(stmt, Loop | Repeat) else behind
        values: dict[str, Expr] = {old: Var(new) for old, new in current.items()}
        bodies = iter(_bodies(stmt))
        outer = map_exprs(head(stmt), lambda expr: substitute(expr, values))
        return with_bodies(outer, lambda _: self.block(next(bodies), current, wanted))

    def _version(self, stmt: Assign, name: str, current: dict[str, str]) -> Decl:
        now = Var(current.get(name, name))
        value = substitute(stmt.value, {old: Var(new) for old, new in current.items()})
        if stmt.op != "=":
            value = Binary(stmt.op[:-1], now, value)
        number = 2
        while (fresh := f"{name}_{number}") in self._taken:
            number += 1
        self._taken.add(fresh)
        self.types[fresh] = self._kinds[name]
        current[name] = fresh
        return Decl(fresh, self._kinds[name], (), value, line=stmt.line)


def _bodies(stmt: Stmt) -> tuple[Body, ...]:
    """The bodies of a statement in the order in which ``with_bodies`` sees them."""
    match stmt:
        case Loop(body=body) | Repeat(body=body):
            return (body,)
        case If(then=then, orelse=orelse):
            return (then, orelse)
    return ()


def _behind(rest: Body, wanted: Callable[[str], bool]) -> Callable[[str], bool]:
    def read(name: str) -> bool:
        first = _first(rest, name)
        return wanted(name) if first is _First.NOTHING else first is _First.READ

    return read


def _again(loop: Loop | Repeat, behind: Callable[[str], bool]) -> Callable[[str], bool]:
    """What a turn leaves is wanted by the next one, or behind the loop."""
    bounds = {name for expr in expressions(loop) for name in names(expr)}
    return lambda name: name in bounds or _first(loop.body, name) is _First.READ or behind(name)


def _without(body: Body, gone: Set[str]) -> Body:
    """The body without declarations of variables of which nothing is left."""
    kept = (stmt for stmt in body if not (isinstance(stmt, Decl) and stmt.name in gone and stmt.init is None))
    return tuple(with_bodies(stmt, lambda inside: _without(inside, gone)) for stmt in kept)
