"""Which values differ between the instances that one thread computes, and fission of instance loops.

Instances of a thread were threads of their own: no order between them is observable as long as no barrier or atomic
stands inside. So loops over instances may be distributed over the statements of the body, inside any loop whose bounds
are the same for all instances (register tiling); private variables that differ get one dimension a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from genome.analysis.effects import is_pure, locals_of, waits
from genome.ir.expr import Expr, Index, Var, base_name, names, rewrite
from genome.ir.rewrite_stmt import map_exprs
from genome.ir.stmt import (
    Assign,
    Barrier,
    Body,
    Decl,
    ExprStmt,
    If,
    Loop,
    Opaque,
    Repeat,
    Stmt,
    expressions,
    flatten,
    handed_places,
    writes,
    written_names,
)


class Variation:
    """Fixpoint of "varies in": for each local, the instance variables on which its value depends.

    A statement that is placed into instance loops as a whole (a condition, a loop of varying bounds, opaque text) runs
    once an instance: what it writes varies as the statement does, or its updates would be repeated.
    """

    def __init__(self, body: Body, variables: Sequence[str]) -> None:
        self.variables = tuple(variables)
        self.locals = frozenset(locals_of(body))
        self._of: dict[str, frozenset[str]] = {}
        changed = True
        while changed:
            before = dict(self._of)
            self._visit(body, frozenset())
            changed = self._of != before

    def of(self, expr: Expr) -> frozenset[str]:
        """Instance variables on which the value of the expression depends; all of them for a call with an effect."""
        return self._union(names(expr)) if is_pure(expr) else frozenset(self.variables)

    def of_name(self, name: str) -> frozenset[str]:
        """Instance variables on which the variable of that name depends."""
        return frozenset({name}) if name in self.variables else self._of.get(name, frozenset())

    def of_stmt(self, stmt: Stmt) -> frozenset[str]:
        """Instance variables that the statement, nested ones included, depends on."""
        found: frozenset[str] = frozenset()
        for inner in flatten((stmt,)):
            for expr in expressions(inner):
                found |= self.of(expr)
            if isinstance(inner, Opaque):
                found |= self._union((*inner.reads, *inner.writes))
            if self.must_repeat(inner):
                found |= frozenset(self.variables)
        return found

    def must_repeat(self, stmt: Stmt) -> bool:
        """True if the statement has to run once an instance whatever it depends on (atomics, memory updates)."""
        if isinstance(stmt, ExprStmt):
            return True
        if isinstance(stmt, Opaque):
            return True
        return isinstance(stmt, Assign) and stmt.op != "=" and base_name(stmt.target) not in self.locals

    def _union(self, found: Sequence[str]) -> frozenset[str]:
        result: frozenset[str] = frozenset()
        for name in found:
            result |= self.of_name(name)
        return result

    def _visit(self, body: Body, control: frozenset[str]) -> None:
        for stmt in body:
            if isinstance(stmt, Loop):
                bounds = control | self.of(stmt.lower) | self.of(stmt.upper)
                self._add(stmt.var, bounds)
                self._visit(stmt.body, bounds)
                if self.is_whole(stmt):
                    self._vary_together(stmt)
            elif isinstance(stmt, Repeat):
                self._visit(stmt.body, control.union(*map(self.of, stmt.exits)))
                self._vary_together(stmt)
            elif isinstance(stmt, If):
                condition = control | self.of(stmt.condition)
                self._visit(stmt.then, condition)
                self._visit(stmt.orelse, condition)
                self._vary_together(stmt)
            else:
                self._visit_simple(stmt, control)

    def _visit_simple(self, stmt: Stmt, control: frozenset[str]) -> None:
        if isinstance(stmt, Decl):
            self._add(stmt.name, control | (self.of(stmt.init) if stmt.init is not None else frozenset()))
        elif isinstance(stmt, Opaque):
            for name in (*stmt.writes, *stmt.declares):
                self._add(name, frozenset(self.variables))
        else:
            source = control
            for expr in expressions(stmt):
                source |= self.of(expr)
            for target in writes(stmt):
                self._add(base_name(target), source)
        for place in handed_places(stmt):
            self._add(base_name(place), frozenset(self.variables))

    def is_whole(self, stmt: Loop) -> bool:
        """True if the loop is not the same for all instances, which then run it one by one."""
        return bool(self.of(stmt.lower) | self.of(stmt.upper))

    def _vary_together(self, stmt: Stmt) -> None:
        found = self.of_stmt(stmt)
        for name in written_names((stmt,)):
            self._add(name, found)

    def _add(self, name: str, found: frozenset[str]) -> None:
        if name not in self.variables:
            self._of[name] = self._of.get(name, frozenset()) | found


class FissionError(Exception):
    """The loops cannot be distributed over this body; the message says why."""


def fission(
    body: Body,
    loops: Sequence[Loop],
    scalars: frozenset[str] = frozenset(),
    accumulators: frozenset[str] = frozenset(),
) -> Body:
    """Distributes ``loops`` (outermost first, constant trips) over the statements of ``body``.

    Rewrite: ``for i { float s = 0; for k s += a(i,k); y[i] = s; }`` ->
    ``float s[I]; for i s[i] = 0; for k for i s[i] += a(i,k); for i y[i] = s[i];``

    Args:
        body: Statements of one instance.
        loops: The instance loops.
        scalars: Variables that are declared outside the body (scalar parameters): they cannot become arrays.
        accumulators: Variables outside the body that every instance of the thread adds to, in any order.

    Raises:
        FissionError: Where a barrier stands under a condition, an opaque region uses a variable that would become an
            array, or one that varies is not declared in the body.
    """
    return _Fission(body, loops, scalars, accumulators).run(body)


class _Fission:
    def __init__(
        self, body: Body, loops: Sequence[Loop], scalars: frozenset[str], accumulators: frozenset[str]
    ) -> None:
        self.loops, self.scalars, self.accumulators = tuple(loops), scalars, accumulators
        self.variation = Variation(body, [loop.var for loop in loops])
        self.expanded: dict[str, tuple[Loop, ...]] = {}

    def run(self, body: Body) -> Body:
        result: list[Stmt] = []
        for stmt in body:
            result.extend(self._statement(stmt))
        return tuple(result)

    def _statement(self, stmt: Stmt) -> Body:
        if isinstance(stmt, Barrier):
            return (stmt,)
        if isinstance(stmt, Loop) and not self.variation.is_whole(stmt):
            if stmt.var in self.variation.locals:
                raise FissionError(f"loop variable {stmt.var} is declared elsewhere")
            return (replace(stmt, body=self.run(stmt.body)),)
        if isinstance(stmt, Decl):
            return self._declaration(stmt)
        self._refuse_unsafe(stmt)
        varies = self.variation.of_stmt(stmt)
        self._refuse_repeated(stmt, varies)
        return (self._nest(varies, self._expand(stmt)),)

    def _refuse_repeated(self, stmt: Stmt, varies: frozenset[str]) -> None:
        """Every instance must have a copy of its own of what a repeated statement writes."""
        own = {inner.name for inner in flatten((stmt,)) if isinstance(inner, Decl)}
        own |= {inner.var for inner in flatten((stmt,)) if isinstance(inner, Loop)}
        plain = {base_name(t) for inner in flatten((stmt,)) for t in writes(inner) if not isinstance(t, Index)}
        for name in written_names((stmt,)):
            outside = name in plain | self.scalars | self.variation.locals and name not in own | self.accumulators
            if outside and not varies <= {loop.var for loop in self.expanded.get(name, ())}:
                raise FissionError(f"{name} is changed by each instance, but they share it")

    def _refuse_unsafe(self, stmt: Stmt) -> None:
        for inner in flatten((stmt,)):
            if waits(inner):
                where = "in a loop that ends by a condition" if isinstance(stmt, Repeat) else "under a condition"
                raise FissionError(f"a barrier stands {where} that differs between instances")
            if isinstance(inner, Opaque):
                clash = [name for name in (*inner.reads, *inner.writes) if name in self.expanded]
                if clash or inner.declares:
                    raise FissionError(f"an opaque region uses {', '.join(clash) or 'declarations of its own'}")

    def _declaration(self, decl: Decl) -> Body:
        varies = self.variation.of_name(decl.name)
        if not varies:
            return (decl,)
        loops = tuple(loop for loop in self.loops if loop.var in varies)
        self.expanded[decl.name] = loops
        trips = tuple(_trip(loop) for loop in loops)
        array = replace(decl, dims=trips + decl.dims, init=None, const=False)
        if decl.init is None:
            return (array,)
        target = Index(decl.name, tuple(Var(loop.var) for loop in loops))
        return (array, self._nest(varies, Assign(target, self._rewrite(decl.init))))

    def _expand(self, stmt: Stmt) -> Stmt:
        return map_exprs(stmt, self._rewrite)

    def _rewrite(self, expr: Expr) -> Expr:
        def visit(node: Expr) -> Expr:
            if isinstance(node, Var) and node.name in self.expanded:
                return Index(node.name, tuple(Var(loop.var) for loop in self.expanded[node.name]))
            if isinstance(node, Index) and node.array in self.expanded:
                lanes = tuple(Var(loop.var) for loop in self.expanded[node.array])
                return Index(node.array, lanes + node.subscripts)
            return node

        return rewrite(expr, visit, lambda node: self.expanded.keys().isdisjoint(names(node)))

    def _nest(self, variables: frozenset[str], stmt: Stmt) -> Stmt:
        for loop in reversed(self.loops):
            if loop.var in variables:
                stmt = replace(loop, body=(stmt,))
        return stmt


def _trip(loop: Loop) -> int:
    trip = loop.trip
    if trip is None:
        raise FissionError(f"the trip count of {loop.var} is not a constant")
    return trip


def perfect_nest(stmt: Stmt) -> tuple[tuple[Loop, ...], Body]:
    """The leading perfect nest of constant-trip unrolled loops of a statement, and the body inside it."""
    loops: list[Loop] = []
    body: Body = (stmt,)
    while len(body) == 1 and isinstance(body[0], Loop) and body[0].unroll == 0 and body[0].trip is not None:
        loops.append(body[0])
        body = body[0].body
    return tuple(loops), body


def nest(loops: Sequence[Loop], stmt: Stmt) -> Stmt:
    """The statement inside the loops, outermost first."""
    for loop in reversed(loops):
        stmt = replace(loop, body=(stmt,))
    return stmt
