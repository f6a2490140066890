"""Block rasterisation: blocks that run at the same time lie close together in both directions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Expr, Select, Var, integer, names, substitute
from genome.ir.kernel import Holds, Kernel
from genome.ir.rewrite_stmt import substitute_body
from genome.ir.stmt import Decl, Loop, Opaque, Repeat, expressions, flatten
from genome.sizes import SizeExpr
from genome.spec import LaunchSpec
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal

_COLUMN, _ROW, _COLUMNS, _ROWS = "blockIdx.x", "blockIdx.y", "gridDim.x", "gridDim.y"
_MOST_GROUP = 16
_MOST_COLUMNS = 2**31 // _MOST_GROUP


class Rasterise:
    """``(blockIdx.x, blockIdx.y)`` -> the block's place when groups of rows are gone through column by column.

    With ``first = y / g * g``, ``rows = min(g, gridDim.y - first)`` and ``at = y % g * gridDim.x + x`` the block takes
    over the work of the block ``(at / rows, first + at % rows)``. Blocks start about in the order of their numbers, so
    those of one moment share fewer rows and columns of tiles in L2. Legal for any grid, since the numbers of a group
    of ``rows`` rows run through all its places once; the blocks of a launch have no order. Nothing that the engine
    does not look into may ask for the block, or wait for another one. Parameters: ``group``, rows of blocks, 2 to 16.
    Source: NVIDIA CUTLASS, threadblock rasterisation; Tillet, Kung and Cox, "Triton", MAPL 2019.
    """

    name = "rasterise"
    phase = Phase.LAUNCH
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One, where blocks have two dimensions."""
        used = {name for expr in _expressions(kernel) for name in names(expr)}
        return (Site("blocks", "blocks"),) if {_COLUMN, _ROW} <= used else ()

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """Powers of two."""
        return {"group": (2, 4, 8, 16)}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        group = params.get("group")
        if not isinstance(group, int) or not 2 <= group <= _MOST_GROUP:
            return Refusal(f"a group has 2 to {_MOST_GROUP} rows of blocks")
        statements = tuple(flatten(kernel.prologue + kernel.whole))
        if any(isinstance(stmt, Opaque | Repeat) for stmt in statements):
            return Refusal("text that is not looked into, or a loop that nothing counts, may wait for a block")
        if "blockIdx" in kernel.prelude:
            return Refusal("a helper of the file asks for its block")
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Declares the place in front of everything, and uses it for the block."""
        ctype = "int" if kernel.mapped else "unsigned int"
        column, row, first, rows = (kernel.fresh(f"raster_{part}") for part in ("x", "y", "first", "rows"))
        places = _places(int(params["group"]), Var(first), Var(rows))
        declared = tuple(
            Decl(name, ctype, init=init, const=True)
            for name, init in zip((first, rows, column, row), places, strict=True)
        )
        values: dict[str, Expr] = {_COLUMN: Var(column), _ROW: Var(row)}

        def moved(expr: Expr | None) -> Expr | None:
            return None if expr is None else substitute(expr, values)

        kernel = replace(
            kernel,
            prologue=declared + substitute_body(kernel.prologue, values),
            opening=substitute_body(kernel.opening, values),
            rounds=tuple(stmt for stmt in substitute_body(kernel.rounds, values) if isinstance(stmt, Loop)),
            body=substitute_body(kernel.body, values),
            tail=None if kernel.tail is None else substitute_body(kernel.tail, values),
            closing=substitute_body(kernel.closing, values),
            inside=moved(kernel.inside),
            inside_block=moved(kernel.inside_block),
        )
        return kernel.require(Holds(SizeExpr(f"({_columns(kernel, context.spec.launch)}) <= {_MOST_COLUMNS}")))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"blocks go through {params['group']} rows of tiles at a time, column by column"


def _expressions(kernel: Kernel) -> Iterator[Expr]:
    for stmt in flatten(kernel.prologue + kernel.whole):
        yield from expressions(stmt)


def _places(group: int, first: Expr, count: Expr) -> tuple[Expr, Expr, Expr, Expr]:
    """First row of the group, its number of rows, and the column and row that a block takes over."""
    height, row, rows = integer(group), Var(_ROW), Var(_ROWS)
    start = Binary("*", Binary("/", row, height), height)
    whole = Binary("<=", Binary("+", first, height), rows)
    at = Binary("+", Binary("*", Binary("%", row, height), Var(_COLUMNS)), Var(_COLUMN))
    size = Select(whole, height, Binary("-", rows, first))
    return start, size, Binary("/", at, count), Binary("+", first, Binary("%", at, count))


def _columns(kernel: Kernel, launch: LaunchSpec) -> SizeExpr:
    """At least as many as there are blocks along x."""
    axis = next((axis for axis in kernel.axes if axis.dim == "x"), None)
    if not launch.domain:
        return launch.grid[0]
    return launch.domain["xyz".index(axis.domain_dim if axis is not None else "x")]
