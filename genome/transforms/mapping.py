"""Writes the mapping of parallel axes into the body once all mapping genes have set their digits.

``x`` becomes ``block_base + o * (threads * inner) + thread * inner + v``; the loops over ``o`` and ``v`` enclose the
body. Where the whole span of a thread (or of the block, as soon as a barrier is needed) lies inside the source's own
bounds, the body runs without a guard; elsewhere the guarded instances run one by one (the *split* guard).
"""

from __future__ import annotations

from dataclasses import replace

from genome.ir.expr import Binary, Expr, Var, conjunction
from genome.ir.kernel import Axis, Kernel
from genome.ir.poly import Poly, constant, poly, variable
from genome.ir.stmt import Body, Decl, If, Loop, LoopRole, Opaque, Stmt, flatten, substitute_body

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
    fast = _instances(kernel, kernel.body, bounds)
    guard = conjunction([term for form in bounds for term in form.guard()])
    guarded: Body = (If(guard, kernel.body),) if guard is not None else kernel.body
    single = all(form.axis.outer == form.axis.inner == 1 for form in bounds)
    tail: Body | None = None
    if guard is not None:
        tail = _instances(kernel, guarded, bounds, rolled=True)
    order = sorted(bounds, key=lambda form: _DIMS.index(form.axis.dim))
    return replace(
        kernel,
        mapped=True,
        prologue=kernel.prologue + tuple(prologue),
        body=fast,
        tail=tail,
        inside=conjunction([term for form in bounds for term in form.inside(block=False)]),
        inside_block=conjunction([term for form in bounds for term in form.inside(block=True)]),
        threads=tuple((form.thread, form.axis.threads) for form in order),
        firsts=tuple(form.first(kernel) for form in bounds),
        multiples=kernel.multiples + tuple((form.base, form.axis.tile) for form in bounds),
        single=single,
    )


class _AxisForm:
    """The variables that carry one axis, and the conditions on them."""

    def __init__(self, axis: Axis, base: str, thread: str, outer: str, inner: str) -> None:
        self.axis, self.base, self.thread, self.outer, self.inner = axis, base, thread, outer, inner

    @staticmethod
    def of(kernel: Kernel, axis: Axis) -> _AxisForm:
        name = axis.name
        parts = (kernel.fresh(f"{name}_{part}") for part in ("block", "thread", "outer", "inner"))
        return _AxisForm(axis, *parts)

    @property
    def declarations(self) -> tuple[Decl, Decl]:
        axis = self.axis
        base = (poly(Var(f"blockIdx.{axis.dim}")) * constant(axis.tile)).to_expr()
        return (
            Decl(self.base, axis.ctype, init=base, const=True),
            Decl(self.thread, "int", init=Var(f"threadIdx.{axis.dim}"), const=True),
        )

    def first(self, kernel: Kernel) -> Decl:
        """The thread's first index: the axis' own name where the thread has one instance of it."""
        axis = self.axis
        opaque = any(isinstance(stmt, Opaque) for stmt in flatten(kernel.body))
        name = kernel.fresh(f"{axis.name}_first") if opaque or axis.outer * axis.inner > 1 else axis.name
        start = Binary("+", Var(self.base), variable(self.thread).scaled(axis.inner).to_expr())
        return Decl(name, axis.ctype, init=start, const=True)

    def thread_start(self) -> Poly:
        return variable(self.base) + variable(self.thread).scaled(self.axis.inner)

    def index(self) -> Expr:
        axis = self.axis
        result = self.thread_start()
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
        first = variable(self.base) if block else self.thread_start()
        span = axis.tile if block else (axis.outer - 1) * axis.threads * axis.inner + axis.inner
        terms: list[Expr] = []
        if axis.lower is not None:
            terms.append(Binary(">=", first.to_expr(), axis.lower))
        if axis.upper is not None:
            last = first + constant(span - 1)
            terms.append(Binary("<", last.to_expr(), axis.upper))
        return terms


def _instances(kernel: Kernel, body: Body, forms: list[_AxisForm], rolled: bool = False) -> Body:
    """The body with axis variables replaced by their digits, inside the loops over instances (x innermost)."""
    opaque = [s for s in flatten(body) if isinstance(s, Opaque)]
    used = {name for stmt in opaque for name in (*stmt.reads, *stmt.writes)}
    values = {form.axis.name: form.index() for form in forms}
    named = tuple(
        Decl(form.axis.name, form.axis.ctype, init=form.index(), const=True) for form in forms if form.axis.name in used
    )
    result = named + substitute_body(body, {name: e for name, e in values.items() if name not in used})
    for form in sorted(forms, key=lambda form: _DIMS.index(form.axis.dim)):
        for loop in reversed(form.loops(rolled)):
            result = (replace(loop, body=result),)
    return result
