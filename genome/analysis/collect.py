"""Every access to an array in the text of a kernel, with what stands around it."""

from __future__ import annotations

from collections.abc import Iterator

from genome.analysis.access import Access, Guard, MemorySpace
from genome.analysis.affine import NotAffine, affine, row_major
from genome.analysis.coalescing import coalescing, unknown_place
from genome.analysis.count import whole
from genome.analysis.proof import doubted, proven
from genome.analysis.statement_touches import Touch, touches_of
from genome.analysis.trips import total_over
from genome.analysis.uniformity import Levels
from genome.ir.expr import Member, Var
from genome.ir.stmt import Body, If, Loop, Repeat, Stmt
from genome.ir.type_sizes import size_of
from genome.ir.types import VECTOR_TYPES, infer


def collect(levels: Levels) -> tuple[Access, ...]:
    """Accesses of a kernel in program order; the reads of a statement stand before its writes."""
    return tuple(_Collector(levels).run())


class _Collector:
    def __init__(self, levels: Levels) -> None:
        self.levels, self.scope = levels, levels.scope
        self.statement = 0

    def run(self) -> Iterator[Access]:
        kernel = self.scope.kernel
        yield from self._body(kernel.prologue + kernel.whole, (), ())

    def _body(self, body: Body, loops: tuple[Loop | Repeat, ...], guards: tuple[Guard, ...]) -> Iterator[Access]:
        for stmt in body:
            position = self.statement
            self.statement += 1
            for touch in touches_of(stmt, self.scope):
                yield self._access(touch, stmt, position, loops, guards)
            if isinstance(stmt, Loop | Repeat):
                yield from self._body(stmt.body, (*loops, stmt), guards)
            elif isinstance(stmt, If):
                yield from self._body(stmt.then, loops, (*guards, Guard(stmt.condition, True, stmt.line)))
                yield from self._body(stmt.orelse, loops, (*guards, Guard(stmt.condition, False, stmt.line)))

    def _access(self, touch: Touch, stmt: Stmt, position: int, loops: tuple[Loop | Repeat, ...],
                guards: tuple[Guard, ...]) -> Access:  # fmt: skip
        space = self.scope.spaces.get(touch.array, MemorySpace.FILE)
        subscript = row_major(touch.subscripts, self.scope.dims.get(touch.array, ())) if touch.subscripts else None
        reason = touch.doubt or "its subscripts do not match the declaration"
        form = NotAffine(reason) if subscript is None else affine(subscript, self.scope)
        if isinstance(form, NotAffine):
            proof = doubted(form.reason, stmt.line)
        elif space is MemorySpace.UNKNOWN:
            proof = doubted(f"{touch.array} may point into any array", stmt.line)
        else:
            proof = proven("the index is a sum of products", stmt.line)
        where = None
        if space is not MemorySpace.PRIVATE:
            where = unknown_place(reason, stmt.line)
            if subscript is not None:
                where = coalescing(subscript, self.levels, stmt.line, touch.width)
        size = size_of(self._touched_type(touch))
        return Access(
            touch.array, stmt.line, touch.mode, space, size, touch.subscripts,
            None if isinstance(form, NotAffine) else form, proof, where,
            tuple(loop.var for loop in loops if isinstance(loop, Loop)), (*guards, *touch.guards),
            total_over(whole(0 if touch.lane else size * touch.width), loops, self.scope), position,
            any(isinstance(loop, Repeat) for loop in loops),
        )  # fmt: skip

    def _touched_type(self, touch: Touch) -> str:
        """Type of the element, or of its field: that of a vector is known, that of a struct is not."""
        element = self.scope.types.get(touch.array, "")
        if not touch.part:
            return element
        return infer(Member(Var("?"), touch.part), {"?": element}) if element in VECTOR_TYPES else ""
