"""Static check that a barrier stands only where all threads of a block come by.

A barrier under a condition that differs between threads is undefined on a GPU; a CPU device lets the first thread
decide for the whole block, so that a wrong kernel may pass there. Values are followed from the thread indices through
declarations, assignments and control: whatever a thread-dependent value flows into, or is assigned under
thread-dependent control, depends on the thread.
"""

from __future__ import annotations

from genome.ir.expr import Expr, Index, Var, names, walk
from genome.ir.kernel import Kernel
from genome.ir.stmt import (
    Assign,
    Barrier,
    Body,
    Decl,
    If,
    Loop,
    Opaque,
    Space,
    Stmt,
    VectorLoad,
    base_name,
    flatten,
    written_names,
)


def divergent_barrier(kernel: Kernel) -> str | None:
    """A condition (or loop bound) that differs between threads and has a barrier inside; None if there is none.

    Opaque text is not looked into: what stands in it is the user's own.
    """
    if not any(isinstance(stmt, Barrier) for stmt in flatten(kernel.body)):
        return None
    flow = _Flow(kernel)
    while flow.grew:
        flow.grew = False
        flow.body(kernel.prologue + kernel.body, False)
    return flow.found


class _Flow:
    """Names that depend on the thread, grown until nothing is added."""

    def __init__(self, kernel: Kernel) -> None:
        self.varying = {name for name, _ in kernel.threads} | {axis.name for axis in kernel.axes if not kernel.mapped}
        self.varying |= {f"threadIdx.{dim}" for dim in "xyz"}
        self.written = frozenset(written_names(kernel.body))
        self.shared = frozenset(decl.name for decl in kernel.shared)
        self.grew = True
        self.found: str | None = None

    def body(self, body: Body, divergent: bool) -> None:
        for stmt in body:
            self._stmt(stmt, divergent)

    def _stmt(self, stmt: Stmt, divergent: bool) -> None:
        match stmt:
            case Barrier():
                if divergent and self.found is None:
                    self.found = "a condition that differs between the threads of a block"
            case If(condition=condition, then=then, orelse=orelse):
                inner = divergent or self._varies(condition)
                self.body(then, inner)
                self.body(orelse, inner)
            case Loop(var=var, lower=lower, upper=upper, body=inside):
                inner = divergent or self._varies(lower) or self._varies(upper)
                if inner:
                    self._mark(var)
                self.body(inside, inner)
            case Decl(name=name, init=init, space=space):
                if space is not Space.SHARED and init is not None and (divergent or self._varies(init)):
                    self._mark(name)
            case Assign(target=target, value=value):
                self._assign(target, divergent or self._varies(value))
            case VectorLoad(targets=targets, source=source):
                for target in targets:
                    self._assign(target, divergent or self._varies(source))
            case Opaque(writes=changed, declares=declared):
                for name in (*changed, *declared):
                    self._mark(name)

    def _assign(self, target: Expr, varying: bool) -> None:
        name = base_name(target)
        if name is not None and (varying or (isinstance(target, Index) and self._varies_in(target.subscripts))):
            self._mark(name)

    def _mark(self, name: str) -> None:
        if name not in self.varying:
            self.varying.add(name)
            self.grew = True

    def _varies_in(self, parts: tuple[Expr, ...]) -> bool:
        return any(self._varies(part) for part in parts)

    def _varies(self, expr: Expr) -> bool:
        """True if its value may differ between threads; an array that the kernel writes may be read at any moment."""
        if any(name in self.varying for name in names(expr)):
            return True
        return any(
            isinstance(node, Index) and node.array in self.written and node.array not in self.shared
            for node in walk(expr)
            if not isinstance(node, Var)
        )
