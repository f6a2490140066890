"""Warp-aggregated atomics: lanes that update one element send one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from genome.analysis.atomics import Update, element_of, map_updates, reorders, updates
from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Call, Cast, Const, Expr, Index, Var, accesses, calls, integer, names
from genome.ir.kernel import Kernel
from genome.ir.print_source import name_types
from genome.ir.stmt import Body, Decl, If, written_names
from genome.ir.types import INTEGER_TYPES, infer
from genome.transforms.base import Context, Params, Phase, Refusal
from genome.transforms.nests import NameSource
from genome.transforms.thread_id import launch_index
from genome.variant import Target

_WARP = 32
_SUMS = ("atomicAdd", "atomicSub")
_ONCE = ("atomicMax", "atomicMin", "atomicAnd", "atomicOr")
_WIDE = frozenset({"long", "unsigned long", "size_t", "long long", "unsigned long long"})


class WarpAggregate:
    """``atomicAdd(&h[e], w)`` -> ``p = match_any(active, e); if (lane leads p) atomicAdd(&h[e], popc(p) * w)``.

    Fewer updates meet where neighbours hit the same elements. Legal for updates whose result is unused and whose value
    is the same for all threads: a sum is taken ``popc(p)`` times at once, an extreme once. Any set of lanes that
    happen to be together is right, since each set elects its own lane. Needs ``assume.reassociation`` for sums of
    floating point. CUDA only, compute capability 7.0 and above. No parameters.
    Source: Adinetz, "CUDA Pro Tip: Optimized filtering with warp-aggregated atomics", 2014; Lin and Grover, "Using CUDA
    warp-level primitives", 2018.
    """

    name = "warp_aggregate"
    phase = Phase.LAUNCH
    targets = frozenset({Target.CUDA})

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One an array that threads update."""
        arrays = dict.fromkeys(update.target.array for update in updates(kernel.body))
        return tuple(Site(array, f"atomic[{number}]") for number, array in enumerate(arrays))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        found = [update for update in updates(kernel.body) if update.target.array == site.label]
        if not found:
            return Refusal(f"nothing updates {site.label} atomically")
        types, ctype = name_types(kernel), element_of(kernel, site.label)
        for update in found:
            if update.function not in _SUMS + _ONCE:
                return Refusal(f"{update.function} has no form for several lanes at once")
            if len(update.target.subscripts) != 1 or infer(update.target.subscripts[0], types) not in INTEGER_TYPES:
                return Refusal(f"the index of {site.label} is not one integer")
            if not _same_everywhere(kernel, update.value):
                return Refusal(f"the value that {site.label} takes up differs between threads")
            if update.function in _SUMS and infer(update.value, types) not in (ctype, "int"):
                return Refusal(f"{site.label} takes up a value of another type")
            if reorders(ctype) and update.function in _SUMS and not context.assumptions.reassociation:
                return Refusal(f"the sums in {site.label} would be reordered", "assume.reassociation")
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Puts the election of a lane around every update."""
        kernel, thread = _with_linear_id(kernel)
        lane = Binary("%", Var(thread), integer(_WARP))
        types, source, ctype = name_types(kernel), NameSource(kernel), element_of(kernel, site.label)

        def aggregated(update: Update) -> Body:
            return _aggregated(update, lane, types, source, ctype)

        body = map_updates(kernel.body, site.label, aggregated)
        tail = None if kernel.tail is None else map_updates(kernel.tail, site.label, aggregated)
        return replace(kernel, body=body, tail=tail)

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"lanes of a warp that update one element of {site.label} send one atomic"


def _same_everywhere(kernel: Kernel, value: Expr) -> bool:
    """True for a value of numbers and scalar arguments that never change."""
    scalars = {param.name for param in kernel.params if not param.pointer} - set(written_names(kernel.whole))
    return not accesses(value) and not calls(value) and set(names(value)) <= scalars


def _with_linear_id(kernel: Kernel) -> tuple[Kernel, str]:
    """The kernel with the place of a thread in its block declared, as the hardware counts it, and the name of that."""
    index: Expr = Var("threadIdx.z")
    for dim in "yx":
        index = Binary("+", Binary("*", index, Var(f"blockDim.{dim}")), Var(f"threadIdx.{dim}"))
    init, ctype = (launch_index(kernel), "int") if kernel.mapped else (index, "unsigned int")
    for stmt in kernel.prologue:
        if isinstance(stmt, Decl) and stmt.init == init and stmt.name.startswith("linear_thread"):
            return kernel, stmt.name
    name = kernel.fresh("linear_thread")
    return replace(kernel, prologue=(*kernel.prologue, Decl(name, ctype, init=init, const=True))), name


def _aggregated(update: Update, lane: Expr, types: Mapping[str, str], source: NameSource, ctype: str) -> Body:
    array, (index,) = update.target.array, update.target.subscripts
    key, peers = Var(source.fresh(f"{array}_element")), Var(source.fresh(f"{array}_peers"))
    kind, value = infer(index, types), update.value
    if update.function in _SUMS:
        called: Expr = Call("__popc", (peers,))
        count = called if ctype == "int" else Cast(ctype, called)
        value = count if isinstance(value, Const) and value.value == 1 else Binary("*", count, value)
    first = Binary("==", lane, Binary("-", Call("__ffs", (peers,)), integer(1)))
    once = replace(update, target=Index(array, (key,)), value=value).statement
    return (
        Decl(key.name, kind if kind in _WIDE or kind == "unsigned int" else "int", init=index, const=True),
        Decl(peers.name, "unsigned int", init=Call("__match_any_sync", (Call("__activemask", ()), key)), const=True),
        If(first, (once,)),
    )
