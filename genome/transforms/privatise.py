"""Privatised histogram: a block counts in its own shared copies, and adds them to memory once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod

from genome.analysis.atomics import Update, element_of, identity, map_updates, only_updated, reorders, updates
from genome.analysis.effects import holds_barrier
from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Expr, Index, Var, integer
from genome.ir.kernel import Condition, Holds, Kernel
from genome.ir.stmt import Assign, Barrier, Body, Decl, If, Loop, LoopRole, Space, Stmt
from genome.sizes import ExpressionError, SizeExpr
from genome.spec import ELEMENT_BYTES
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.cascade import is_uniform
from genome.transforms.group_reduce import WARP
from genome.transforms.nests import NameSource
from genome.transforms.thread_id import block_threads, with_thread_id

_COMBINED = {"atomicAdd": "+=", "atomicOr": "|=", "atomicXor": "^=", "atomicAnd": "&="}


class Privatise:
    """``atomicAdd(&h[g(i)], w)`` -> ``s = 0; barrier; atomicAdd(&s[g(i)], w); barrier; atomicAdd(&h[b], s[b])``.

    ``s`` holds one or more copies of ``h`` in shared memory; warps take turns among them. The block sees as many
    elements as its instances and the blocks that it strides over give it, and then adds each bin that is not neutral
    once. Legal if the updates commute and nobody uses their results, nothing else in the kernel touches the array, and
    its extent is known: a constant of the campaign, or the value at the tuned sizes behind the host guard. Needs
    ``assume.reassociation`` for floating-point bins. Parameters: ``copies`` 1 to 8.
    Source: Gomez-Luna et al., "An optimized approach to histogram computation on GPU", 2013.
    """

    name = "privatise"
    phase = Phase.GATHER
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One an array that threads update at addresses of their own."""
        found = dict.fromkeys(u.target.array for u in updates(kernel.body)
                              if not is_uniform(kernel, u.target) and kernel.param(u.target.array))  # fmt: skip
        return tuple(Site(array, f"atomic.scattered[{number}]") for number, array in enumerate(found))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """Powers of two."""
        return {"copies": (1, 2, 4, 8)}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        copies = params.get("copies")
        mine = [update for update in updates(kernel.body) if update.target.array == site.label]
        if not kernel.threads or not mine or not isinstance(copies, int) or copies < 1:
            return Refusal(f"nothing updates {site.label} atomically")
        problem = only_updated(kernel, site.label)
        if problem:
            return Refusal(problem)
        if holds_barrier(kernel.body) or any(axis.lanes for axis in kernel.axes):
            return Refusal("the body holds a barrier of its own")
        ctype = element_of(kernel, site.label)
        if ctype not in ELEMENT_BYTES or mine[0].kind not in _COMBINED or identity(mine[0].kind, ctype) is None:
            return Refusal(f"updates of type {ctype} cannot be gathered so")
        if reorders(ctype) and not context.assumptions.reassociation:
            return Refusal(f"the sums in {site.label} would be reordered", "assume.reassociation")
        if copies > max(1, block_threads(kernel) // WARP):
            return Refusal(f"a block of {block_threads(kernel)} threads has fewer warps than {copies} copies")
        found = _bins(context, site.label)
        if isinstance(found, Refusal):
            return found
        needed = copies * found[0] * ELEMENT_BYTES[ctype]
        if needed > context.limits.shared_bytes:
            return Refusal(f"{needed} bytes of copies are over the limit of {context.limits.shared_bytes}")
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Redirects the updates, zeroes the copies before them and adds them up behind."""
        copies, found = int(params["copies"]), _bins(context, site.label)
        assert not isinstance(found, Refusal)
        bins, conditions = found
        kernel, thread = with_thread_id(kernel)
        source = NameSource(kernel)
        ctype = element_of(kernel, site.label)
        kind = next(u.kind for u in updates(kernel.body) if u.target.array == site.label)
        shared = Decl(source.fresh(f"{site.label}_private"), ctype, (copies, bins), space=Space.SHARED)
        copy = Binary("%", Binary("/", Var(thread), integer(WARP)), integer(copies)) if copies > 1 else integer(0)

        def redirect(update: Update) -> Body:
            at = source.fresh(f"{site.label}_bin")
            target = Index(shared.name, (copy, Var(at)))
            # The bin gets a name, so that instances of a thread can load theirs together.
            return (Decl(at, "int", init=update.target.subscripts[0]), replace(update, target=target).statement)

        strides = _Strides(source.fresh(f"{site.label}_at"), Var(thread), block_threads(kernel), bins)
        return replace(
            kernel.require(*conditions),
            opening=(*kernel.opening, strides.clear(shared, kind, ctype), Barrier()),
            body=map_updates(kernel.body, site.label, redirect),
            tail=None if kernel.tail is None else map_updates(kernel.tail, site.label, redirect),
            closing=(*kernel.closing, Barrier(), strides.flush(shared, site.label, kind, ctype, source)),
            shared=(*kernel.shared, shared),
        )

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        copies = int(params["copies"])
        return f"each block counts in {copies} shared {'copy' if copies == 1 else 'copies'} of {site.label}"


class _Strides:
    """Loops in which the threads of a block visit all bins."""

    def __init__(self, var: str, thread: Expr, threads: int, bins: int) -> None:
        self.var, self.thread, self.threads, self.bins = var, thread, threads, bins

    def _loop(self, body: Body) -> Loop:
        return Loop(self.var, self.thread, integer(self.bins), body, step=self.threads, role=LoopRole.COOPERATIVE)

    def clear(self, shared: Decl, kind: str, ctype: str) -> Stmt:
        neutral = identity(kind, ctype)
        assert neutral is not None
        return self._loop(
            tuple(Assign(Index(shared.name, (integer(c), Var(self.var))), neutral) for c in range(shared.dims[0]))
        )

    def flush(self, shared: Decl, array: str, kind: str, ctype: str, source: NameSource) -> Stmt:
        total = source.fresh(f"{array}_total")
        first, *others = (Index(shared.name, (integer(c), Var(self.var))) for c in range(shared.dims[0]))
        neutral = identity(kind, ctype)
        assert neutral is not None
        update = Update(kind, Index(array, (Var(self.var),)), Var(total)).statement
        return self._loop((
            Decl(total, ctype, init=first),
            *(Assign(Var(total), other, _COMBINED[kind]) for other in others),
            If(Binary("!=", Var(total), neutral), (update,)),
        ))  # fmt: skip


def _bins(context: Context, array: str) -> tuple[int, tuple[Condition, ...]] | Refusal:
    """(elements of the array, what that relies on)."""
    arg = context.spec.arg(array)
    if arg is None or arg.is_scalar:
        return Refusal(f"the campaign gives no shape for {array}")
    try:
        counts = {prod(arg.extent(size.env)) for size in context.spec.sizes}
    except ExpressionError as error:
        return Refusal(str(error))
    if len(counts) != 1:
        return Refusal(f"the extent of {array} differs between the tuned sizes")
    count = counts.pop()
    if not any(axis.names for axis in arg.shape):
        return count, ()
    extent = " * ".join(f"({axis})" for axis in arg.shape)
    return count, (Holds(SizeExpr(f"{extent} == {count}")),)
