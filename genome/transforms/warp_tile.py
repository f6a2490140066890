"""Warp tile: which threads of a block make up a warp, along the two fastest axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Expr, Var, integer, names
from genome.ir.kernel import Kernel
from genome.ir.stmt import Body, Decl
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.thread_id import launch_index

WARP = 32
_WIDTHS = (1, 2, 4, 8, 16, 32)


class WarpTile:
    """``c = threadIdx.x; r = threadIdx.y`` -> ``t`` = linear thread index, ``c = t % 8 + t / 32 % (X / 8) * 8``, ...

    A warp then covers a rectangle of threads (``width`` along the fastest axis, ``32 / width`` along the next one)
    instead of a row of 32: its shared reads of a contraction touch ``width + 32 / width`` fragments instead of 33.
    Legal because it is a permutation of the threads of a block, which are alike as long as none of them has a part of
    its own: not where lanes share an instance or the stores are turned. Parameters: ``width`` threads of a warp along
    the fastest axis.
    Source: warp-level tiles of CUTLASS (Kerr et al., "CUTLASS: fast linear algebra in CUDA C++", 2017).
    """

    name = "warp_tile"
    phase = Phase.WARPS
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """The block, where it has two dimensions."""
        return (Site("warp", "warp"),) if _plane(kernel) is not None else ()

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """Powers of two that tile the block; the rows that it has as it is are left out."""
        plane = _plane(kernel)
        if plane is None:
            return {}
        (_, across), (_, down) = plane
        return {"width": tuple(w for w in _WIDTHS if w != min(across, WARP) and _tiles(w, across, down))}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        plane, width = _plane(kernel), params.get("width")
        if plane is None or width not in _WIDTHS:
            return Refusal("there is no such warp")
        assert isinstance(width, int)
        (_, across), (_, down) = plane
        if any(axis.lanes for axis in kernel.axes) or kernel.exchange is not None:
            return Refusal("threads of the block already work in an order of their own")
        if not _tiles(width, across, down):
            return Refusal(f"{width} x {WARP // width} threads do not tile a block of {across} x {down}")
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Declares the two thread digits by the linear index."""
        plane, width = _plane(kernel), int(params["width"])
        assert plane is not None
        (fast, across), (slow, down) = plane
        height = WARP // width
        name = kernel.fresh("thread_id")
        thread, across_warps = Var(name), across // width
        digits = {
            fast: _joined(_digit(thread, 1, width), _digit(thread, WARP, across_warps), width),
            slow: _joined(_digit(thread, width, height), _digit(thread, WARP * across_warps, down // height), height),
        }

        def declared(body: Body) -> Body:
            return tuple(
                replace(stmt, init=digits[stmt.name]) if isinstance(stmt, Decl) and stmt.name in digits else stmt
                for stmt in body
            )

        first = Decl(name, "int", init=launch_index(kernel), const=True)
        return replace(kernel, prologue=(first, *declared(kernel.prologue)))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        width = int(params["width"])
        return f"a warp covers {width} x {WARP // width} threads of the block"


def _plane(kernel: Kernel) -> tuple[tuple[str, int], tuple[str, int]] | None:
    """The two fastest thread digits with their extents, where the prologue declares them as ``threadIdx``."""
    wide = [(name, extent) for name, extent in kernel.threads if extent > 1]
    if not kernel.mapped or len(wide) < 2:
        return None
    plain = {s.name for s in kernel.prologue if isinstance(s, Decl) and s.init is not None and _is_index(s.init)}
    return (wide[0], wide[1]) if {wide[0][0], wide[1][0]} <= plain else None


def _is_index(init: Expr) -> bool:
    return isinstance(init, Var) and any(name.startswith("threadIdx.") for name in names(init))


def _tiles(width: int, across: int, down: int) -> bool:
    return across % width == 0 and down % (WARP // width) == 0


def _digit(thread: Expr, below: int, extent: int) -> Expr:
    """The digit of the linear index that counts to ``extent`` every ``below`` threads."""
    shifted = thread if below == 1 else Binary("/", thread, integer(below))
    return integer(0) if extent == 1 else Binary("%", shifted, integer(extent))


def _joined(low: Expr, high: Expr, radix: int) -> Expr:
    """``low + high * radix`` without terms that are zero."""
    if high == integer(0):
        return low
    scaled = high if radix == 1 else Binary("*", high, integer(radix))
    return scaled if low == integer(0) else Binary("+", low, scaled)
