"""Reduction cascade: a thread adds up privately, a block in shared memory, and one atomic a block is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from genome.analysis.atomics import (
    Update,
    element_of,
    identity,
    map_updates,
    only_updated,
    reorders,
    updates,
)
from genome.analysis.effects import holds_barrier
from genome.analysis.reductions import SUPPORTED, Reduction
from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Cast, Expr, Index, Var, integer, names
from genome.ir.kernel import Kernel
from genome.ir.print_source import name_types
from genome.ir.stmt import Body, Decl, If, Stmt, written_names
from genome.ir.types import infer
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.group_reduce import Group, Partial, group_reduce
from genome.transforms.nests import NameSource
from genome.transforms.thread_id import block_threads, with_thread_id
from genome.variant import Target

_REDUCTIONS = {
    "atomicAdd": ("+", ""), "atomicAnd": ("&", ""), "atomicOr": ("|", ""), "atomicXor": ("^", ""),
    "atomicMax": ("max", "max"), "atomicMin": ("min", "min"),
}  # fmt: skip


class Cascade:
    """``atomicAdd(out, f(i))`` a thread -> ``p += f(i)``; total of ``p`` over the block; ``atomicAdd(out, p)`` a block.

    The thread's part comes from its instances (coarsening) and from the blocks that it strides over (grid-stride); the
    block's total from shuffles on CUDA and two shared levels on OpenCL. Threads outside the bounds bring the neutral
    value; a block whose total is neutral leaves the element alone.
    Legal if the address is the same for all threads of the grid, the updates commute, nobody uses their results, and
    nothing else in the kernel touches the array. Needs ``assume.reassociation`` for floating-point sums (whose order
    between threads is open anyway). No parameters.
    Source: Harris, "Optimizing parallel reduction in CUDA", 2007.
    """

    name = "cascade"
    phase = Phase.GATHER
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One an array that all threads update at the same address."""
        found = dict.fromkeys(u.target.array for u in updates(kernel.body) if is_uniform(kernel, u.target))
        return tuple(Site(array, f"atomic.uniform[{number}]") for number, array in enumerate(found))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        mine = [update for update in updates(kernel.body) if update.target.array == site.label]
        if not kernel.threads or not mine:
            return Refusal(f"nothing updates {site.label} atomically")
        if any(axis.lanes for axis in kernel.axes):
            return Refusal("threads share an instance already")
        problem = only_updated(kernel, site.label)
        if problem:
            return Refusal(problem)
        if not all(is_uniform(kernel, update.target) for update in mine):
            return Refusal(f"the address in {site.label} differs between threads")
        if holds_barrier(kernel.body):
            return Refusal("the body holds a barrier of its own")
        ctype = element_of(kernel, site.label)
        if ctype not in SUPPORTED or any(identity(update.kind, ctype) is None for update in mine):
            return Refusal(f"values of type {ctype} cannot be combined so")
        if reorders(ctype) and not context.assumptions.reassociation:
            return Refusal(f"the sum in {site.label} would be reordered", "assume.reassociation")
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Replaces the updates by private ones, and combines them behind the instances."""
        kernel, thread = with_thread_id(kernel)
        ctype, types = element_of(kernel, site.label), name_types(kernel)
        source = NameSource(kernel)
        elements = dict.fromkeys(u.target for u in updates(kernel.body) if u.target.array == site.label)
        kind = next(u.kind for u in updates(kernel.body) if u.target.array == site.label)
        parts = {element: source.fresh(f"{site.label}_part") for element in elements}

        def privately(update: Update) -> Body:
            value = update.value if infer(update.value, types) == ctype else Cast(ctype, update.value)
            return (replace(update, value=value).plainly(Var(parts[update.target])),)

        neutral = identity(kind, ctype)
        assert neutral is not None
        partials = [Partial(part, ctype, Reduction(part, *_REDUCTIONS[kind])) for part in parts.values()]
        group = Group(Var(thread), block_threads(kernel), shuffle=context.target is Target.CUDA)
        arrays, combine = group_reduce(group, partials, source.fresh)
        flush = tuple(_flush(kind, element, Var(part), neutral) for element, part in parts.items())
        last: Stmt = If(Binary("==", Var(thread), integer(0)), flush)
        return replace(
            kernel,
            opening=(*kernel.opening, *(Decl(part, ctype, init=neutral) for part in parts.values())),
            body=map_updates(kernel.body, site.label, privately),
            tail=None if kernel.tail is None else map_updates(kernel.tail, site.label, privately),
            closing=(*kernel.closing, *combine, last),
            shared=kernel.shared + arrays,
        )

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"each block adds up its part of {site.label} and updates it once"


def _flush(kind: str, element: Index, part: Expr, neutral: Expr) -> Stmt:
    return If(Binary("!=", part, neutral), (Update(kind, element, part).statement,))


def is_uniform(kernel: Kernel, element: Index) -> bool:
    """True if the address is an expression of scalar parameters: the same for every thread of the grid."""
    steady = {param.name for param in kernel.params if not param.pointer} - set(written_names(kernel.body))
    return all(set(names(subscript)) <= steady for subscript in element.subscripts)
