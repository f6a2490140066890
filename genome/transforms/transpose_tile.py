"""Shared-memory transpose: results go through a padded tile, so that neighbouring threads store neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from genome.analysis.effects import TOGETHER, is_pure, self_contained
from genome.genes import ParamValue, Site
from genome.ir.expr import Index, names
from genome.ir.kernel import Exchange, Kernel
from genome.ir.poly import poly
from genome.ir.stmt import Assign, Decl, Space, expressions, written_names
from genome.transforms.base import ALL_TARGETS, MOST_PAD, Context, Params, Phase, Refusal
from genome.transforms.sites import axis_sites


class TransposeTile:
    """``out[x*H + y] = f(x, y)`` -> ``tile[y][x] = f(x, y); barrier; out[x'*H + y'] = tile[y'][x']`` with y' fastest.

    The block computes as before (coalesced reads), and then stores the same elements with the threads of the two axes
    exchanged (coalesced stores). The reverse, strided reads and coalesced stores, is a shared tile of the array read.
    Legal for a body that is private values and one plain store, at an address that is affine with unit stride in the
    other axis: every element is stored once, by whichever thread, after all of the block were computed. Blocks that are
    not whole store directly. Parameters: ``pad`` elements added to a row of the tile (bank conflicts); ``width``
    adjacent elements that a thread stores, for vectors.
    Source: Ruetsch and Micikevicius, "Optimizing matrix transpose in CUDA", 2009.
    """

    name = "transpose_tile"
    phase = Phase.MAPPING
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """The array that the body stores to."""
        store = _store(kernel)
        if not axis_sites(kernel) or store is None or _strided(kernel, store):
            return ()
        return (Site(store.array, "write.strided[0]"),)

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """Paddings of 0 to 4 elements; widths that have vectors."""
        return {"pad": (0, 1, 2, 4), "width": (1, 2, 4)}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        store, pad, width = _store(kernel), params.get("pad"), params.get("width", 1)
        if store is None or store.array != site.label:
            return Refusal("the body is more than private values and one plain store")
        if not isinstance(pad, int) or not 0 <= pad <= MOST_PAD or width not in (1, 2, 4):
            return Refusal("there is no such padding or width")
        if any(axis.lanes for axis in kernel.axes):
            return Refusal("the block shares instances already")
        if not self_contained(kernel):
            return Refusal(TOGETHER)
        problem = _strided(kernel, store)
        return Refusal(problem) if problem else None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Asks the mapping for the exchange."""
        return replace(kernel, exchange=Exchange(int(params["pad"]), int(params.get("width", 1))))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        wide = f", {params['width']} at a time" if int(params.get("width", 1)) > 1 else ""
        return f"{site.label} is stored along its rows by way of a shared tile (padding {params['pad']}){wide}"


def _store(kernel: Kernel) -> Index | None:
    """What the body stores, if it is private declarations and one store of a parameter's element."""
    if not kernel.body:
        return None
    *declared, last = kernel.body
    if not isinstance(last, Assign) or last.op != "=" or not isinstance(last.target, Index):
        return None
    for stmt in declared:
        if not isinstance(stmt, Decl) or stmt.space is not Space.PRIVATE or stmt.dims:
            return None
    pure = all(is_pure(expr) for stmt in kernel.body for expr in expressions(stmt))
    param = kernel.param(last.target.array)
    return last.target if pure and param is not None and param.pointer else None


def _strided(kernel: Kernel, store: Index) -> str:
    """Empty if neighbouring threads store apart and the other axis' stores are adjacent, else why not."""
    fast = next((axis for axis in kernel.axes if axis.dim == "x"), None)
    other = [axis for axis in kernel.axes if axis is not fast]
    if fast is None or len(other) != 1 or len(store.subscripts) != 1:
        return "two axes are needed, one of them on x"
    along = poly(store.subscripts[0]).coefficient(fast.name)
    across = poly(store.subscripts[0]).coefficient(other[0].name)
    if along is None or across is None or across[0].constant != 1:
        return f"the stores to {store.array} are not adjacent along {other[0].name}"
    if along[0].constant is not None:
        return f"the stores to {store.array} are not strided along {fast.name}"
    steady = {param.name for param in kernel.params if not param.pointer} - set(written_names(kernel.body))
    loose = set(names(store.subscripts[0])) - steady - {fast.name, other[0].name}
    return f"the address of {store.array} depends on {min(loose)}" if loose else ""
