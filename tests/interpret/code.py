"""Statements of the loop IR as Python generators over a thread, which stop at barriers."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable
from itertools import count
from typing import Any

from genome.ir.expr import Binary, Const, Expr, Index, Unary, Var
from genome.ir.kernel import Kernel
from genome.ir.stmt import (
    Assign,
    Barrier,
    Body,
    Break,
    Decl,
    ExprStmt,
    If,
    Loop,
    Repeat,
    Space,
    Stmt,
    VectorLoad,
    VectorStore,
    writes,
)
from tests.interpret.c_values import Number, Unsupported, binary, convert
from tests.interpret.expressions import Expressions, Value
from tests.interpret.trace import Launch, Memory, Point, Thread

Steps = Callable[[Thread], Generator[int, None, None]]

_MOST_TURNS = 10_000


class Code(Expressions):
    """A kernel as closures."""

    def __init__(self, kernel: Kernel, launch: Launch) -> None:
        super().__init__(kernel)
        self.launch = launch
        self._site = count()
        prologue, body = self.body(kernel.prologue), self.body(kernel.body)
        self._guard = [self._bound(axis.name, op, bound) for axis in kernel.axes if not kernel.mapped
                       for op, bound in ((">=", axis.lower), ("<", axis.upper)) if bound is not None]  # fmt: skip
        self._run = (prologue, body)

    def _bound(self, name: str, op: str, bound: Expr) -> Value:
        return self.expr(Binary(op, Var(name), bound), -1)[0]

    def environment(self, block: Point, thread: Point) -> dict[str, Any]:
        """Values of parameters, launch indices and open axes for one thread."""
        env: dict[str, Any] = {}
        grid, threads = (*self.launch.grid, 1, 1)[:3], (*self.launch.block, 1, 1)[:3]
        for number, dim in enumerate("xyz"):
            env |= {f"threadIdx.{dim}": thread[number], f"blockIdx.{dim}": block[number]}
            env |= {f"blockDim.{dim}": threads[number], f"gridDim.{dim}": grid[number]}
        for name, value in self.launch.scalars.items():
            env[name] = convert(value, self.types[name])
        if not self.kernel.mapped:
            for axis in self.kernel.axes:
                number = "xyz".index(axis.dim)
                env[axis.name] = convert(block[number] * threads[number] + thread[number], self.types[axis.name])
        return env

    def thread(self, thread: Thread) -> Generator[int, None, None]:
        """The steps of one thread from barrier to barrier; each yields the barrier's site."""
        prologue, body = self._run
        yield from prologue(thread)
        if all(condition(thread) for condition in self._guard):
            yield from body(thread)

    def body(self, body: Body) -> Steps:
        """Statements one after the other."""
        parts = [self._stmt(stmt, next(self._site)) for stmt in body]

        def steps(thread: Thread) -> Generator[int, None, None]:
            for part in parts:
                yield from part(thread)
                if thread.leaving:
                    return

        return steps

    def _stmt(self, stmt: Stmt, site: int) -> Steps:
        match stmt:
            case Loop():
                return self._loop(stmt, site)
            case If():
                return self._if(stmt, site)
            case Repeat():
                return self._repeat(stmt, site)
            case Break():
                return _plain(_leave)
            case Barrier():
                return lambda thread: iter((site,))  # type: ignore[return-value]
            case Decl():
                return _plain(self._decl(stmt, site))
            case Assign(target, value, op):
                return _plain(self._assign(target, value, op, site))
            case VectorLoad(targets, source):
                *leading, last = source.subscripts
                later = [Index(source.array, (*leading, Binary("+", last, Const(str(lane)))))
                         for lane in range(1, len(targets))]  # fmt: skip
                return self._each(targets, [source, *later], site)
            case VectorStore(_, values):
                return self._each(writes(stmt), values, site)
            case ExprStmt(value):
                return _plain(self.expr(value, site)[0])
        raise Unsupported(type(stmt).__name__)

    def _each(self, targets: Iterable[Expr], values: Iterable[Expr], site: int) -> Steps:
        found = [self._assign(target, value, "=", site) for target, value in zip(targets, values, strict=True)]
        return _plain(lambda thread: [part(thread) for part in found])

    def _loop(self, stmt: Loop, site: int) -> Steps:
        kind = self.types[stmt.var]
        lower, (upper, bound) = self._as(stmt.lower, kind, site), self.expr(stmt.upper, site)
        below, _ = binary("<", kind, bound)
        inside, name, shuffled = self.body(stmt.body), stmt.var, stmt.var in self.launch.shuffled

        def values(thread: Thread) -> Iterable[Number]:
            value = lower(thread)
            while below(value, upper(thread)):
                yield value
                value = convert(value + stmt.step, kind)

        def steps(thread: Thread) -> Generator[int, None, None]:
            found: Iterable[Number] = values(thread)
            if shuffled:
                found = list(found)
                thread.rng.shuffle(found)
            trips = 0
            for value in found:
                thread.env[name] = value
                thread.loops.append((name, int(value)))
                yield from inside(thread)
                thread.loops.pop()
                trips += 1
            thread.trace.conditions.append(thread.outcome(site, name, trips))

        return steps

    def _repeat(self, stmt: Repeat, site: int) -> Steps:
        inside, label = self.body(stmt.body), f"while {site}"

        def steps(thread: Thread) -> Generator[int, None, None]:
            for turn in range(_MOST_TURNS):
                thread.loops.append((label, turn))
                yield from inside(thread)
                thread.loops.pop()
                if thread.leaving:
                    thread.leaving = False
                    thread.trace.conditions.append(thread.outcome(site, label, turn + 1))
                    return
            raise Unsupported("a loop that does not end")

        return steps

    def _if(self, stmt: If, site: int) -> Steps:
        condition = self.expr(stmt.condition, site)[0]
        then, orelse = self.body(stmt.then), self.body(stmt.orelse)

        def steps(thread: Thread) -> Generator[int, None, None]:
            taken = bool(condition(thread))
            thread.trace.conditions.append(thread.outcome(site, "", int(taken)))
            yield from (then if taken else orelse)(thread)

        return steps

    def _decl(self, stmt: Decl, site: int) -> Value:
        name, kind = stmt.name, self.types[stmt.name]
        if stmt.space is Space.SHARED:
            return lambda thread: None
        if stmt.dims:
            size = math.prod(stmt.dims)

            def allocate(thread: Thread) -> None:
                thread.env[name] = Memory(name, kind, [convert(0, kind)] * size, seen=False)

            return allocate
        if name in self.pointers:
            if stmt.init is None:
                raise Unsupported("a pointer without a value")
            address = self._address(stmt.init, site)
            return lambda thread: thread.env.__setitem__(name, address(thread))
        if stmt.init is None:
            return lambda thread: thread.env.__setitem__(name, convert(0, kind))
        return self._assign(Var(name), stmt.init, "=", site)

    def _assign(self, target: Expr, value: Expr, op: str, site: int) -> Value:
        target = self.cells.get(target.name, target) if isinstance(target, Var) else target
        source, given = self.expr(value, site)
        if isinstance(target, Var):
            name, kind = target.name, self.types[target.name]
            watched = name in self.launch.watched
            combine = self._operation(op[:-1], kind, given) if op != "=" else None

            def assign(thread: Thread) -> None:
                new = source(thread) if combine is None else combine(thread, thread.env[name], source(thread))
                thread.env[name] = convert(new, kind)
                if watched:
                    thread.trace.values.append(thread.outcome(site, name, thread.env[name]))

            return assign
        if not isinstance(target, Index) and not (isinstance(target, Unary) and target.op == "*"):
            raise Unsupported(f"assignment to {type(target).__name__}")
        address = self._address(Unary("&", target), site)
        kind = self.expr(target, site)[1]
        label = target.array if isinstance(target, Index) else "*"
        node = target if isinstance(target, Index) else None
        combine = self._operation(op[:-1], kind, given) if op != "=" else None

        def store(thread: Thread) -> None:
            new, at = source(thread), address(thread)
            if combine is not None:
                thread.touch(label, at, "r", site, node)
                new = combine(thread, at.memory.data[at.element], new)
            thread.touch(label, at, "w", site, node)
            at.memory.data[at.element] = convert(new, kind)

        return store


def _leave(thread: Thread) -> None:
    thread.leaving = True


def _plain(value: Value) -> Steps:
    """A statement without a barrier inside."""

    def steps(thread: Thread) -> Generator[int, None, None]:
        value(thread)
        return
        yield

    return steps
