"""Tensor cores: the products of a register tile over shared tiles, by warps instead of threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from genome.analysis.effects import element_type
from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Call, Cast, Expr, Index, Var, integer, names
from genome.ir.kernel import Kernel
from genome.ir.rewrite_stmt import map_stmts
from genome.ir.stmt import Assign, Body, Loop, LoopRole, Stmt, flatten
from genome.transforms.base import Context, Params, Phase, Refusal
from genome.transforms.cuda_functions import MULTIPLY, with_functions
from genome.transforms.nests import NameSource, as_nest
from genome.transforms.sites import declared
from genome.transforms.thread_digits import digits_of
from genome.transforms.thread_id import with_thread_id
from genome.transforms.warp_product import COLUMNS, ROWS, FactorRows, Product, WarpProduct
from genome.transforms.warp_single import SingleWarpProduct
from genome.variant import Target

_WIDENED = frozenset({"__half2float", "__bfloat162float"})


class TensorCore:
    """``for k < 16: for i, j, v < 2: s[i][j][v] += float(A[r_i][k]) * float(B[k][c_jv])`` -> products of a warp.

    In full::

        for step: for i < I/2: load 16 x 16 of A into a[i];    for j: load 16 x 8 of B into b[j];
                  for i, j: s[2i][j][0..1], s[2i+1][j][0..1] += a[i] * b[j]      (each by the whole warp)

    A product of a warp gives every lane the two neighbouring columns ``lane % 4`` of the rows ``lane / 4`` and that
    plus eight: exactly the elements that the lane has where a warp covers 4 x 8 threads (``warp_tile``) and a thread
    two adjacent columns. So only the inner loop changes; sums, epilogue and tails stay as they are.
    Legal where the factors are half or bfloat16 elements of shared tiles, widened to float before they are multiplied
    (the product is then exact), the inner loop has a multiple of 16 iterations, rows of the tiles are groups of eight
    elements along ``k`` or along the warp's rows or columns, and the instances of a thread are one loop down and at
    most one across beside the pair. Needs ``assume.reassociation``: the order within a sum changes. Factors of single
    precision are rounded to 11 significant bits (tf32), a step of the inner loop is 8 deep, and their tiles may lie as
    they like: that needs ``assume.tf32`` as well. No parameters. CUDA for sm_80 and later.
    Source: "Parallel Thread Execution ISA", mma.m16n8k16, mma.m16n8k8 and ldmatrix; warp-level products of CUTLASS.
    """

    name = "tensor_core"
    phase = Phase.REGISTERS
    targets = frozenset({Target.CUDA})

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One an array of sums of such products."""
        found = dict.fromkeys(product.sums for _, product in _products(kernel))
        return tuple(Site(name, f"product[{number}]") for number, name in enumerate(found))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """See the class."""
        found = [(loop, product) for loop, product in _products(kernel) if product.sums == site.label]
        if not found:
            return Refusal(f"{site.label} is no sum of products of elements of shared tiles")
        if not context.assumptions.reassociation:
            return Refusal(f"the sums in {site.label} would be reordered", "assume.reassociation")
        for loop, product in found:
            problem = _problem(kernel, loop, product)
            if problem:
                return Refusal(problem)
        if any(product.ctype == "float" for _, product in found) and not context.assumptions.tf32:
            return Refusal(f"the factors summed in {site.label} would be rounded to 11 bits", "assume.tf32")
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Replaces the loops of these products."""
        kernel, thread = with_thread_id(kernel)
        found = {loop: product for loop, product in _products(kernel) if product.sums == site.label}
        source = NameSource(kernel)
        used: list[str] = []

        def visit(stmt: Stmt) -> Body:
            if not isinstance(stmt, Loop) or stmt not in found:
                return (stmt,)
            single = found[stmt].ctype == "float"
            warp = (SingleWarpProduct if single else WarpProduct)(kernel, thread, stmt, found[stmt], source)
            used.extend(warp.functions)
            return (warp.loop(),)

        return with_functions(replace(kernel, body=map_stmts(kernel.body, visit)), *used)

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"the products summed in {site.label} are computed by tensor cores"


def _products(kernel: Kernel) -> Iterator[tuple[Loop, Product]]:
    """Every loop around nothing but such a product."""
    for stmt in flatten(kernel.body):
        if isinstance(stmt, Loop) and stmt.trip and len(stmt.body) == 1 and stmt.role is not LoopRole.INSTANCE:
            found = as_nest(stmt.body[0])
            product = _product(kernel, *found) if found else None
            if product is not None and stmt.lower == integer(0) and stmt.step == 1:
                yield stmt, product


def _product(kernel: Kernel, loops: tuple[Loop, ...], stmt: Assign) -> Product | None:
    if stmt.op != "+=" or not isinstance(stmt.target, Index) or len(kernel.threads) < 2:
        return None
    if not isinstance(stmt.value, Binary) or stmt.value.op != "*":
        return None
    factors = _factors(kernel, stmt.value)
    sums = declared(kernel, stmt.target.array)
    if len(factors) < 2 or sums is None or sums.ctype != "float" or sums in kernel.shared:
        return None
    across, down = kernel.threads[0][0], kernel.threads[1][0]
    left, right = sorted(factors, key=lambda factor: across in names(factor))
    ctype = element_type(kernel, left.array) or ""
    alike = ctype in MULTIPLY and element_type(kernel, right.array) == ctype
    if not alike or not {left.array, right.array} <= {decl.name for decl in kernel.shared}:
        return None
    if across in names(left) or down in names(right):
        return None
    rows = [loop for loop in loops if loop.var in names(left)]
    columns = [loop for loop in loops if loop.var in names(right)]
    if len(rows) != 1 or len(rows) + len(columns) != len(loops) or not 1 <= len(columns) <= 2:
        return None
    *group, pair = columns
    return Product(stmt.target.array, stmt.target, left, right, rows[0], group[0] if group else None, pair, ctype)


def _factors(kernel: Kernel, value: Binary) -> list[Index]:
    """The elements that are multiplied: widened to float, or floats themselves."""
    sides = (value.left, value.right)
    if all(isinstance(side, Index) and element_type(kernel, side.array) == "float" for side in sides):
        return [side for side in sides if isinstance(side, Index)]
    return [element for side in sides if (element := _widened(side)) is not None]


def _widened(expr: Expr) -> Index | None:
    """The element that is converted to float."""
    match expr:
        case Call(function=function, args=(Index() as element,)) if function in _WIDENED:
            return element
        case Cast(ctype="float", operand=Index() as element):
            return element
    return None


def _problem(kernel: Kernel, loop: Loop, product: Product) -> str:
    """Why warps cannot take over; empty if they can."""
    if (loop.trip or 0) % product.depth:
        return f"the loop over {loop.var} has no multiple of {product.depth} iterations"
    if product.pair.trip != 2 or (product.down.trip or 0) % 2:
        return "a thread needs two adjacent columns, and an even number of rows"
    wanted = {Var(product.down.var), Var(product.pair.var)} | ({Var(product.across.var)} if product.across else set())
    if set(product.target.subscripts) != wanted or len(product.target.subscripts) != len(wanted):
        return f"each instance of a thread needs an element of {product.sums} of its own"
    if not _covers(kernel):
        return f"a warp does not cover {COLUMNS} x {ROWS} threads: set that by `warp_tile`"
    if product.ctype == "float":
        return ""
    for element, extent, step in ((product.left, kernel.threads[1][0], 1), (product.right, kernel.threads[0][0], 2)):
        problem = FactorRows(kernel, loop, product, element, extent, step).problem()
        if problem:
            return problem
    return ""


def _covers(kernel: Kernel) -> bool:
    """True if lane ``l`` of every warp is thread ``l % 4`` across and ``l / 4`` down of a 4 x 8 rectangle."""
    digits = digits_of(kernel)
    if digits is None or any(extent > 1 for _, extent in kernel.threads[2:]):
        return False
    across, down = kernel.threads[0][0], kernel.threads[1][0]
    for warp in range(0, len(digits), ROWS * COLUMNS):
        lanes = digits[warp : warp + ROWS * COLUMNS]
        places = {(lane[across] // COLUMNS, lane[down] // ROWS) for lane in lanes}
        inside = all(lane[across] % COLUMNS == number % COLUMNS and lane[down] % ROWS == number // COLUMNS
                     for number, lane in enumerate(lanes))  # fmt: skip
        if len(lanes) < ROWS * COLUMNS or len(places) != 1 or not inside:
            return False
    return True
