"""Perfect nests of instance loops around one assignment, the shape that register tiling leaves behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from genome.analysis.dependence import nest, perfect_nest
from genome.ir.expr import Binary, Expr, Index, Select, Var, accesses, children, names, rewrite
from genome.ir.kernel import Kernel
from genome.ir.stmt import Assign, Body, Decl, If, Loop, LoopRole, Stmt

Nest = tuple[tuple[Loop, ...], Assign]
Rewrite = Callable[[tuple[Loop, ...], Assign], Body | None]


def as_nest(stmt: Stmt) -> Nest | None:
    """The instance loops and the single assignment inside them, or None for any other shape."""
    loops, body = perfect_nest(stmt)
    if not loops or any(loop.role is not LoopRole.INSTANCE for loop in loops):
        return None
    return (loops, body[0]) if len(body) == 1 and isinstance(body[0], Assign) else None


def nests(body: Body) -> Iterator[Nest]:
    """Every nest of the body, in program order."""
    for stmt in body:
        found = as_nest(stmt)
        if found is not None:
            yield found
        elif isinstance(stmt, Loop):
            yield from nests(stmt.body)
        elif isinstance(stmt, If):
            yield from nests(stmt.then)
            yield from nests(stmt.orelse)


def map_nests(body: Body, function: Rewrite) -> Body:
    """The body with each nest replaced by what ``function`` returns (None keeps it)."""
    result: list[Stmt] = []
    for stmt in body:
        found = as_nest(stmt)
        if found is not None:
            new = function(*found)
            result.extend((stmt,) if new is None else new)
        elif isinstance(stmt, Loop):
            result.append(replace(stmt, body=map_nests(stmt.body, function)))
        elif isinstance(stmt, If):
            result.append(If(stmt.condition, map_nests(stmt.then, function), map_nests(stmt.orelse, function)))
        else:
            result.append(stmt)
    return tuple(result)


@lru_cache(maxsize=8192)
def sure_reads(expr: Expr) -> tuple[Index, ...]:
    """Array elements that evaluating the expression always reads: those under ``?:``, ``&&`` and ``||`` may not be."""
    found: dict[Index, None] = {}

    def visit(node: Expr) -> None:
        if not accesses(node):
            return
        if isinstance(node, Index):
            found.setdefault(node)
        if isinstance(node, Select):
            visit(node.condition)
        elif isinstance(node, Binary) and node.op in ("&&", "||"):
            visit(node.left)
        else:
            for child in children(node):
                visit(child)

    visit(expr)
    return tuple(found)


class NameSource:
    """Fresh names for the values that one rewrite creates in a kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self._used = set(kernel.used_names)

    def fresh(self, base: str) -> str:
        """``base``, else ``base_2``, ``base_3``, ...; never the same twice."""
        name, number = base, 2
        while name in self._used:
            name, number = f"{base}_{number}", number + 1
        self._used.add(name)
        return name


def hoist_reads(
    loops: Sequence[Loop], stmt: Assign, reads: Sequence[Index], ctype: str, name_of: Callable[[str], str]
) -> tuple[list[Stmt], Assign]:
    """Loads the given elements into privates in front of the nest.

    Rewrite: ``for i for j s[i][j] += A[i] * B[j]`` with reads ``(B[j],)`` ->
    ``float b[J]; for j b[j] = B[j]; for i for j s[i][j] += A[i] * b[j]``.

    Returns:
        (statements to run before the nest, the assignment that uses the privates).
    """
    before: list[Stmt] = []
    for read in reads:
        used = [loop for loop in loops if loop.var in names(read)]
        name = name_of(f"{read.array}_value")
        dims = tuple(trip for loop in used if (trip := loop.trip) is not None)
        private: Expr = Index(name, tuple(Var(loop.var) for loop in used)) if used else Var(name)
        before.append(Decl(name, ctype, dims))
        before.append(nest(used, Assign(private, read)))
        stmt = Assign(stmt.target, _replace_read(stmt.value, read, private), stmt.op)
    return before, stmt


def hoist_values(
    loops: Sequence[Loop], stmt: Assign, base: str, ctype: str, name_of: Callable[[str], str]
) -> tuple[list[Stmt], Assign]:
    """Computes the values of a nest into privates in front of it.

    Rewrite: ``for v: c[v] = a[v] + b[v]`` -> ``float w[V]; for v: w[v] = a[v] + b[v]; for v: c[v] = w[v]``.

    Returns:
        (statements to run before the nest, the assignment that stores the privates).
    """
    name = name_of(f"{base}_value")
    private = Index(name, tuple(Var(loop.var) for loop in loops))
    dims = tuple(trip for loop in loops if (trip := loop.trip) is not None)
    before: list[Stmt] = [Decl(name, ctype, dims), nest(loops, Assign(private, stmt.value))]
    return before, Assign(stmt.target, private)


def _replace_read(expr: Expr, read: Index, private: Expr) -> Expr:
    return rewrite(expr, lambda node: private if node == read else node)


def plain(stmt: Assign) -> Assign:
    """The assignment with a compound operator written out: ``a += b`` -> ``a = a + b``."""
    if stmt.op == "=":
        return stmt
    return Assign(stmt.target, Binary(stmt.op[:-1], stmt.target, stmt.value))
