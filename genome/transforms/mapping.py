"""Writes the mapping of parallel axes into the body once all mapping genes have set their digits.

``x`` becomes ``block_base + o * (threads * inner) + thread * inner + v``; the loops over ``o`` and ``v`` enclose the
body. Where the whole span of a thread (or of the block, as soon as a barrier is needed) lies inside the source's own
bounds, the body runs without a guard; elsewhere the guarded instances run one by one (the *split* guard).
"""

from __future__ import annotations

from dataclasses import replace

from genome.ir.expr import Binary, Cast, Expr, Select, Var, conjunction, integer
from genome.ir.kernel import Axis, Kernel
from genome.ir.node import once
from genome.ir.poly import Poly, constant, poly, variable
from genome.ir.rewrite_stmt import substitute_body
from genome.ir.stmt import Body, Decl, If, Loop, LoopRole, Opaque, Stmt, flatten
from genome.transforms.exchange import Span, write_exchange
from genome.transforms.group_reduce import Group
from genome.transforms.sharing import Shared, share

_DIMS = ("x", "y", "z")


def write_mapping(kernel: Kernel) -> Kernel:
    """The kernel with its axes written out as digits. Kernels without axes come back as they are."""
    if not kernel.axes or kernel.mapped:
        return kernel
    prologue: list[Stmt] = []
    bounds: list[_AxisForm] = []
    for axis in kernel.axes:
        form = _AxisForm.of(kernel, axis)
        prologue.extend(form.declarations)
        bounds.append(form)
    shared = _shared(kernel, bounds)
    fast = _instances(kernel, shared.body, bounds)
    guard = conjunction([term for form in bounds for term in (*form.guard(), *form.first_lane())])
    guarded: Body = (If(guard, kernel.body),) if guard is not None else kernel.body
    single = all(form.axis.outer == form.axis.inner == 1 for form in bounds)
    tail: Body | None = None
    if any(form.guard() for form in bounds):
        whole = all(form.axis.tile == 1 for form in bounds)  # no block is partly inside
        tail = () if whole else _instances(kernel, guarded, bounds, rolled=True)
    order = sorted(bounds, key=lambda form: _DIMS.index(form.axis.dim))
    mapped = replace(
        kernel.require(*shared.conditions),
        mapped=True,
        shared=kernel.shared + shared.arrays,
        prologue=kernel.prologue + tuple(prologue),
        rounds=tuple(form.round() for form in bounds if form.axis.most_blocks),
        body=fast,
        tail=tail,
        inside=conjunction([term for form in bounds for term in form.inside(block=False)]),
        inside_block=conjunction([term for form in bounds for term in form.inside(block=True)]),
        threads=tuple(digit for form in order for digit in form.digits()),
        firsts=tuple(form.first(kernel) for form in bounds if form.thread_start != variable(form.base)),
        multiples=kernel.multiples + tuple((form.base, form.axis.tile) for form in bounds),
        single=single,
    )
    return _exchanged(mapped, kernel.body, order)


def _exchanged(kernel: Kernel, body: Body, forms: list[_AxisForm]) -> Kernel:
    """The mapped kernel with its stores turned, where a gene asked for it."""
    if kernel.exchange is None:
        return kernel
    fast, slow = (Span(form.axis.name, form.base, form.axis.tile, poly(form.index)) for form in forms)
    loops = tuple(loop for form in reversed(forms) for loop in form.loops(rolled=False))
    return write_exchange(kernel, body, fast, slow, loops, kernel.exchange)


def _shared(kernel: Kernel, forms: list[_AxisForm]) -> Shared:
    """The body of one instance: divided among lanes where an axis has them, else as it is."""
    for form in forms:
        lanes = form.axis.lanes
        if lanes is not None:
            number, groups = Poly(), 1
            for other in sorted(forms, key=lambda item: _DIMS.index(item.axis.dim)):
                for name, count in other.digits():
                    if name != form.lane and count > 1:
                        number += variable(name).scaled(groups)
                        groups *= count
            group = Group(Var(form.lane), lanes.threads, number.to_expr(), groups, lanes.shuffle)
            return share(kernel, lanes, form.lane, group)
    return Shared(kernel.body, (), ())


class _AxisForm:
    """The variables that carry one axis, and the conditions on them."""

    def __init__(self, axis: Axis, *names: str) -> None:
        self.axis = axis
        self.base, self.thread, self.lane, self.outer, self.inner, self.turn = names

    @staticmethod
    def of(kernel: Kernel, axis: Axis) -> _AxisForm:
        name = axis.name
        parts = (kernel.fresh(f"{name}_{part}") for part in ("block", "thread", "lane", "outer", "inner", "round"))
        return _AxisForm(axis, *parts)

    @property
    def declarations(self) -> tuple[Decl, ...]:
        axis = self.axis
        found = [] if axis.most_blocks else [self._base(Var(f"blockIdx.{axis.dim}"))]
        thread: Expr = Var(f"threadIdx.{axis.dim}")
        if axis.lanes is not None:
            lanes = integer(axis.lanes.threads)
            lane = thread if axis.threads == 1 else Binary("%", thread, lanes)
            found.append(Decl(self.lane, "int", init=lane, const=True))
            thread = Binary("/", thread, lanes)
        if axis.lanes is None or axis.threads > 1:
            found.append(Decl(self.thread, "int", init=thread, const=True))
        return tuple(found)

    def _base(self, block: Expr) -> Decl:
        # In the axis' own type: an index of 64 bits, or an unsigned one, must not wrap round in an int.
        block = block if self.axis.ctype == "int" else Cast(self.axis.ctype, block)
        base = (poly(block) * constant(self.axis.tile)).to_expr()
        return Decl(self.base, self.axis.ctype, init=base, const=True)

    def round(self) -> Loop:
        """The loop over the blocks of the axis that one block of the grid stands for."""
        axis = self.axis
        assert axis.upper is not None
        block, grid, tile = Var(f"blockIdx.{axis.dim}"), Var(f"gridDim.{axis.dim}"), integer(axis.tile)
        partly = Binary("!=", Binary("%", axis.upper, tile), integer(0))
        blocks = axis.upper if axis.tile == 1 else Binary("+", Binary("/", axis.upper, tile), partly)
        left = Binary("-", Binary("+", Binary("-", blocks, block), grid), integer(1))
        count = Select(Binary("<", block, blocks), Binary("/", left, grid), integer(0))
        base = self._base(Binary("+", block, Binary("*", Var(self.turn), grid)))
        return Loop(self.turn, integer(0), count, (base,), role=LoopRole.GRID)

    def digits(self) -> tuple[tuple[str, int], ...]:
        """Thread index variables with their extents, fastest first."""
        axis = self.axis
        if axis.lanes is None:
            return ((self.thread, axis.threads),)
        own = ((self.thread, axis.threads),) if axis.threads > 1 else ()
        return ((self.lane, axis.lanes.threads), *own)

    def first_lane(self) -> list[Expr]:
        """The condition under which a thread stands for its whole instance."""
        return [Binary("==", Var(self.lane), integer(0))] if self.axis.lanes is not None else []

    def first(self, kernel: Kernel) -> Decl:
        """The thread's first index: the axis' own name where the thread has one instance of it."""
        axis = self.axis
        opaque = any(isinstance(stmt, Opaque) for stmt in flatten(kernel.body))
        name = kernel.fresh(f"{axis.name}_first") if opaque or axis.outer * axis.inner > 1 else axis.name
        start: Expr = Binary("+", Var(self.base), variable(self.thread).scaled(axis.inner).to_expr())
        if axis.lanes is not None and axis.threads == 1:
            start = Var(self.base)
        return Decl(name, axis.ctype, init=start, const=True)

    @once
    def thread_start(self) -> Poly:
        """The first index of the thread."""
        if self.axis.lanes is not None and self.axis.threads == 1:
            return variable(self.base)
        return variable(self.base) + variable(self.thread).scaled(self.axis.inner)

    @once
    def index(self) -> Expr:
        """The axis by its digits."""
        axis = self.axis
        result = self.thread_start
        if axis.outer > 1:
            result += variable(self.outer).scaled(axis.threads * axis.inner)
        if axis.inner > 1:
            result += variable(self.inner)
        return result.to_expr()

    def loops(self, rolled: bool) -> tuple[Loop, ...]:
        found = []
        for var, count in ((self.outer, self.axis.outer), (self.inner, self.axis.inner)):
            if count > 1:
                found.append(
                    Loop(
                        var,
                        constant(0).to_expr(),
                        constant(count).to_expr(),
                        (),
                        role=LoopRole.INSTANCE,
                        unroll=1 if rolled else 0,
                    )
                )
        return tuple(found)

    def guard(self) -> list[Expr]:
        axis = self.axis
        terms: list[Expr] = []
        if axis.lower is not None:
            terms.append(Binary(">=", Var(axis.name), axis.lower))
        if axis.upper is not None:
            terms.append(Binary("<", Var(axis.name), axis.upper))
        return terms

    def inside(self, block: bool) -> list[Expr]:
        axis = self.axis
        first = variable(self.base) if block else self.thread_start
        span = axis.tile if block else (axis.outer - 1) * axis.threads * axis.inner + axis.inner
        terms: list[Expr] = []
        if axis.lower is not None:
            terms.append(Binary(">=", first.to_expr(), axis.lower))
        if axis.upper is not None and not (axis.most_blocks and axis.tile == 1):  # rounds end with the axis
            last = first + constant(span - 1)
            terms.append(Binary("<", last.to_expr(), axis.upper))
        return terms


def _instances(kernel: Kernel, body: Body, forms: list[_AxisForm], rolled: bool = False) -> Body:
    """The body with axis variables replaced by their digits, inside the loops over instances (x innermost)."""
    opaque = [s for s in flatten(body) if isinstance(s, Opaque)]
    used = {name for stmt in opaque for name in (*stmt.reads, *stmt.writes)}
    values = {form.axis.name: form.index for form in forms}
    named = tuple(
        Decl(form.axis.name, form.axis.ctype, init=form.index, const=True) for form in forms if form.axis.name in used
    )
    result = named + substitute_body(body, {name: e for name, e in values.items() if name not in used})
    for form in sorted(forms, key=lambda form: _DIMS.index(form.axis.dim)):
        for loop in reversed(form.loops(rolled)):
            result = (replace(loop, body=result),)
    return result
