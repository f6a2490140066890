"""Totals of blocks go to a buffer, and a second launch adds them up: one order, no atomics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from genome.analysis.atomics import Update, element_of, identity, update_of, updates
from genome.analysis.reductions import Reduction
from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Const, Expr, Index, Var, integer
from genome.ir.kernel import Finish, Kernel, Param
from genome.ir.stmt import Assign, Body, Decl, If, Loop, LoopRole, Stmt, flatten
from genome.sizes import SizeExpr
from genome.spec import ELEMENT_BYTES
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.group_reduce import Group, Partial, group_reduce
from genome.transforms.nests import NameSource
from genome.variant import Target

_OPERATORS = {"atomicAdd": "+", "atomicOr": "|", "atomicXor": "^"}


class TwoStages:
    """``if (thread == 0) atomicAdd(out, p)`` -> ``w[block] = p``; second launch: one block adds up ``w`` in its order.

    What ``cascade`` leaves of an update by every thread is one atomic a block, whose order differs between runs. Here
    every run gives the same result. Blocks that the launch does not have count as zero: the buffer is cleared first.
    Legal behind ``cascade``, where the grid has a known largest number of blocks (``grid_stride``), and for updates
    that zero leaves alone (sums, ``|``, ``^``). Parameters: ``threads`` of the second launch.
    Source: Harris, "Optimizing parallel reduction in CUDA", 2007 (two kernel invocations).
    """

    name = "two_stages"
    phase = Phase.GATHER
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One an array that the first thread of each block updates."""
        found = dict.fromkeys(update.target.array for update in updates(kernel.closing))
        return tuple(Site(array, f"atomic.block[{number}]") for number, array in enumerate(found))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """Whole warps."""
        most = min(context.limits.max_threads, context.limits.max_block[0])
        return {"threads": tuple(n for n in (64, 128, 256, 512) if n <= most)}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        threads = params.get("threads")
        if not isinstance(threads, int) or threads < 32 or threads & (threads - 1):
            return Refusal("the second launch has a power of two of threads, at least 32")
        if threads > min(context.limits.max_threads, context.limits.max_block[0]):
            return Refusal(f"{threads} threads are over the limit of {context.limits.max_threads}")
        plan = _plan(kernel, site.label)
        return plan if isinstance(plan, Refusal) else None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Stores the block's total, and adds a kernel for the rest."""
        plan = _plan(kernel, site.label)
        assert isinstance(plan, _Plan)
        source = NameSource(kernel)
        buffer = source.fresh(f"{site.label}_totals")
        store = Assign(Index(buffer, (_block(),)), plan.update.value)
        closing = tuple(
            replace(stmt, then=(store,)) if stmt is plan.flush and isinstance(stmt, If) else stmt
            for stmt in kernel.closing
        )
        threads = int(params["threads"])
        last = _second(kernel, plan, buffer, threads, context.target is Target.CUDA, source)
        finish = Finish(last, buffer, plan.ctype, SizeExpr(str(plan.blocks)), threads=threads)
        params_with = (*kernel.params, Param(buffer, plan.ctype, pointer=True))
        return replace(kernel, params=params_with, closing=closing, finish=finish)

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"a second launch of {params['threads']} threads adds up what the blocks found of {site.label}"


@dataclass(frozen=True)
class _Plan:
    """The statement in which a block updates the array, the update, its type, and the most blocks that there are."""

    flush: Stmt
    update: Update
    ctype: str
    blocks: int


def _plan(kernel: Kernel, array: str) -> _Plan | Refusal:
    if kernel.finish is not None or kernel.parts > 1:
        return Refusal("there is a second launch already")
    mine = [update for update in updates(kernel.whole) if update.target.array == array]
    last = kernel.closing[-1] if kernel.closing else None
    inside = updates((last,)) if last is not None else ()
    if len(mine) != 1 or list(inside) != mine or not isinstance(last, If) or not _is_flush(last):
        return Refusal(f"{array} is not updated once a block: that is what `cascade` makes of it")
    update, ctype = mine[0], element_of(kernel, array)
    if update.kind not in _OPERATORS or ctype not in ELEMENT_BYTES or identity(update.kind, ctype) is None:
        return Refusal(f"zero is not what leaves {array} alone")
    if not all(axis.most_blocks for axis in kernel.axes):
        return Refusal("the grid has as many blocks as it takes: bound it by `grid_stride`")
    return _Plan(last, update, ctype, prod(axis.most_blocks for axis in kernel.axes))


def _is_flush(stmt: If) -> bool:
    """True if the statement holds nothing but the update."""
    return not stmt.orelse and all(isinstance(inner, If) or update_of(inner) for inner in flatten(stmt.then))


def _block() -> Expr:
    """The number of the block in the grid."""
    row = Binary("+", Var("blockIdx.y"), Binary("*", Var("gridDim.y"), Var("blockIdx.z")))
    return Binary("+", Var("blockIdx.x"), Binary("*", Var("gridDim.x"), row))


def _second(kernel: Kernel, plan: _Plan, buffer: str, threads: int, shuffle: bool, source: NameSource) -> Kernel:
    """One block that adds up the buffer and updates the element."""
    thread, at, part = (source.fresh(f"{buffer}_{word}") for word in ("thread", "at", "part"))
    zero = identity(plan.update.kind, plan.ctype)
    assert zero is not None
    operator = _OPERATORS[plan.update.kind]
    add = Assign(Var(part), Index(buffer, (Var(at),)), f"{operator}=")
    arrays, combine = group_reduce(
        Group(Var(thread), threads, shuffle=shuffle),
        (Partial(part, plan.ctype, Reduction(part, operator)),),
        source.fresh,
    )
    update = replace(plan.update, value=Var(part)).plainly(plan.update.target)
    body: Body = (
        Decl(thread, "int", init=Var("threadIdx.x"), const=True),
        Decl(part, plan.ctype, init=zero),
        Loop(at, Var(thread), integer(plan.blocks), (add,), step=threads, role=LoopRole.COMBINE),
        *combine,
        If(Binary("==", Var(thread), Const("0")), (update,)),
    )
    return Kernel(
        name=source.fresh(f"{kernel.name}_finish"),
        params=(*kernel.params, Param(buffer, plan.ctype, pointer=True, const=True)),
        axes=(),
        body=body,
        shared=arrays,
        prelude=kernel.prelude,
    )
