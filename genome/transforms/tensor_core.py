"""Tensor cores: the products of a register tile over half-precision shared tiles, by warps instead of threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from genome.analysis.effects import element_type
from genome.genes import ParamValue, Site
from genome.ir.expr import Binary, Call, Cast, Expr, Index, Var, integer, names, substitute
from genome.ir.kernel import Kernel
from genome.ir.poly import Poly, multiple_of, poly, simplify, variable
from genome.ir.rewrite_stmt import map_stmts
from genome.ir.stmt import Assign, Body, Decl, ExprStmt, Loop, LoopRole, Stmt, flatten
from genome.transforms.base import Context, Params, Phase, Refusal
from genome.transforms.cuda_functions import LOAD, LOAD_TURNED, MULTIPLY, with_functions
from genome.transforms.nests import NameSource, as_nest
from genome.transforms.sites import declared
from genome.transforms.thread_digits import digits_of
from genome.transforms.thread_id import with_thread_id
from genome.variant import Target

_DEPTH = 16  # of one product
_ROWS, _COLUMNS = 8, 4  # threads of a warp down and across; each has two neighbouring columns
_GROUP = 8  # elements that a lane's address names
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
    most one across beside the pair. Needs ``assume.reassociation``: the order within a sum changes. No parameters.
    CUDA for sm_80 and later.
    Source: "Parallel Thread Execution ISA", mma.m16n8k16 and ldmatrix; Boehm, "Fast tensor core matmul".
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
            return Refusal(f"{site.label} is no sum of products of half-precision elements of shared tiles")
        if not context.assumptions.reassociation:
            return Refusal(f"the sums in {site.label} would be reordered", "assume.reassociation")
        for loop, product in found:
            problem = _problem(kernel, loop, product)
            if problem:
                return Refusal(problem)
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
            warp = _Warp(kernel, thread, stmt, found[stmt], source)
            used.extend(warp.functions)
            return (warp.loop(),)

        return with_functions(replace(kernel, body=map_stmts(kernel.body, visit)), *used)

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"the products summed in {site.label} are computed by tensor cores"


@dataclass(frozen=True)
class _Product:
    """``sums[..] += float(left[..]) * float(right[..])`` in instance loops.

    Attributes:
        sums: The private array.
        target: The element that is added to.
        left: The factor that follows the rows.
        right: The factor that follows the columns.
        down: The loop over the thread's rows.
        across: The loop over its groups of columns; None where it has one.
        pair: The loop over two adjacent columns.
        ctype: Type of the factors.
    """

    sums: str
    target: Index
    left: Index
    right: Index
    down: Loop
    across: Loop | None
    pair: Loop
    ctype: str


def _products(kernel: Kernel) -> Iterator[tuple[Loop, _Product]]:
    """Every loop around nothing but such a product."""
    for stmt in flatten(kernel.body):
        if isinstance(stmt, Loop) and stmt.trip and len(stmt.body) == 1 and stmt.role is not LoopRole.INSTANCE:
            found = as_nest(stmt.body[0])
            product = _product(kernel, *found) if found else None
            if product is not None and stmt.lower == integer(0) and stmt.step == 1:
                yield stmt, product


def _product(kernel: Kernel, loops: tuple[Loop, ...], stmt: Assign) -> _Product | None:
    if stmt.op != "+=" or not isinstance(stmt.target, Index) or len(kernel.threads) < 2:
        return None
    if not isinstance(stmt.value, Binary) or stmt.value.op != "*":
        return None
    factors = _widened(stmt.value.left), _widened(stmt.value.right)
    sums = declared(kernel, stmt.target.array)
    if None in factors or sums is None or sums.ctype != "float" or sums in kernel.shared:
        return None
    across, down = kernel.threads[0][0], kernel.threads[1][0]
    left, right = sorted((f for f in factors if f is not None), key=lambda factor: across in names(factor))
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
    return _Product(stmt.target.array, stmt.target, left, right, rows[0], group[0] if group else None, pair, ctype)


def _widened(expr: Expr) -> Index | None:
    """The element that is converted to float."""
    match expr:
        case Call(function=function, args=(Index() as element,)) if function in _WIDENED:
            return element
        case Cast(ctype="float", operand=Index() as element):
            return element
    return None


def _problem(kernel: Kernel, loop: Loop, product: _Product) -> str:
    """Why warps cannot take over; empty if they can."""
    if (loop.trip or 0) % _DEPTH:
        return f"the loop over {loop.var} has no multiple of {_DEPTH} iterations"
    if product.pair.trip != 2 or (product.down.trip or 0) % 2:
        return "a thread needs two adjacent columns, and an even number of rows"
    wanted = {Var(product.down.var), Var(product.pair.var)} | ({Var(product.across.var)} if product.across else set())
    if set(product.target.subscripts) != wanted or len(product.target.subscripts) != len(wanted):
        return f"each instance of a thread needs an element of {product.sums} of its own"
    if not _covers(kernel):
        return f"a warp does not cover {_COLUMNS} x {_ROWS} threads: set that by `warp_tile`"
    for element, extent, step in ((product.left, kernel.threads[1][0], 1), (product.right, kernel.threads[0][0], 2)):
        problem = _Rows(kernel, loop, product, element, extent, step).problem()
        if problem:
            return problem
    return ""


def _covers(kernel: Kernel) -> bool:
    """True if lane ``l`` of every warp is thread ``l % 4`` across and ``l / 4`` down of a 4 x 8 rectangle."""
    digits = digits_of(kernel)
    if digits is None or any(extent > 1 for _, extent in kernel.threads[2:]):
        return False
    across, down = kernel.threads[0][0], kernel.threads[1][0]
    for warp in range(0, len(digits), _ROWS * _COLUMNS):
        lanes = digits[warp : warp + _ROWS * _COLUMNS]
        places = {(lane[across] // _COLUMNS, lane[down] // _ROWS) for lane in lanes}
        inside = all(lane[across] % _COLUMNS == number % _COLUMNS and lane[down] % _ROWS == number // _COLUMNS
                     for number, lane in enumerate(lanes))  # fmt: skip
        if len(lanes) < _ROWS * _COLUMNS or len(places) != 1 or not inside:
            return False
    return True


class _Rows:
    """How lanes address the 8 x 8 parts of one factor: its last subscript runs along ``k``, or along the warp."""

    def __init__(self, kernel: Kernel, loop: Loop, product: _Product, element: Index, digit: str, step: int) -> None:
        self.kernel, self.loop, self.product, self.element = kernel, loop, product, element
        self.digit, self.step = digit, step
        self.last = poly(element.subscripts[-1])

    @property
    def along_depth(self) -> bool:
        """True if adjacent elements follow the depth of the product."""
        return _coefficient(self.last, self.loop.var) == 1

    def problem(self) -> str:
        """Why rows of eight elements are not adjacent and aligned; empty if they are."""
        name = self.element.array
        tile = next(decl for decl in self.kernel.shared if decl.name == name)
        if tile.dims[-1] % _GROUP:
            return f"rows of {name} are not groups of {_GROUP} elements: pad them by a multiple"
        if self.along_depth:
            rest = self.last - variable(self.loop.var)
        else:
            pair = self.step == 1 or _coefficient(self.last, self.product.pair.var) == 1
            if not pair or _coefficient(self.last, self.digit) != self.step:
                return f"adjacent elements of {name} lie neither along the product nor along the warp"
            rest = self.last - variable(self.digit).scaled(self.step)
            rest -= variable(self.product.pair.var) if self.step == 2 else Poly()
        if {self.loop.var, self.digit, self.product.pair.var} & {n for atom in rest.atoms for n in names(atom)}:
            return f"the subscripts of {name} are not linear"
        if multiple_of(rest, dict(self.kernel.multiples)) % _GROUP:
            return f"rows of {name} do not start at a multiple of {_GROUP} elements"
        return ""


def _coefficient(form: Poly, name: str) -> int | None:
    split = form.coefficient(name)
    return None if split is None else split[0].constant


class _Warp:
    """The loads and products of one loop."""

    def __init__(self, kernel: Kernel, thread: str, loop: Loop, product: _Product, source: NameSource) -> None:
        self.kernel, self.around, self.product, self.source = kernel, loop, product, source
        self.lane = Binary("%", Var(thread), integer(_ROWS * _COLUMNS))
        self.step = source.fresh(f"{loop.var}_step")
        self.left = _Rows(kernel, loop, product, product.left, kernel.threads[1][0], 1)
        self.right = _Rows(kernel, loop, product, product.right, kernel.threads[0][0], 2)
        self.by_two = product.across is not None and (product.across.trip or 1) % 2 == 0

    @property
    def functions(self) -> tuple[str, ...]:
        """What it calls."""
        loads = (LOAD if rows.along_depth else LOAD_TURNED for rows in (self.left, self.right))
        return *loads, MULTIPLY[self.product.ctype]

    def loop(self) -> Loop:
        """The loop over steps of 16 iterations."""
        product = self.product
        i, j = self.source.fresh(f"{product.down.var}_pair"), self.source.fresh(f"{product.pair.var}_group")
        groups = (product.across.trip or 1) if product.across else 1
        pairs, loads = (product.down.trip or 0) // 2, groups // 2 if self.by_two else groups
        a, b = self.source.fresh(f"{product.left.array}_part"), self.source.fresh(f"{product.right.array}_part")
        each = 4 if self.by_two else 2
        products = tuple(
            self._multiply(i, Binary("+", Binary("*", Var(j), integer(each // 2)), integer(half)), a,
                           tuple(Index(b, (Var(j), integer(2 * half + n))) for n in range(2)))
            for half in range(each // 2)
        )  # fmt: skip
        body: Body = (
            Decl(a, "unsigned int", (pairs, 4)),
            Decl(b, "unsigned int", (loads, each)),
            _over(i, pairs, (self._load_left(Index(a, (Var(i),)), i),)),
            _over(j, loads, (self._load_right(Index(b, (Var(j),)), j),)),
            _over(i, pairs, (_over(j, loads, products),)),
        )
        steps = (self.around.trip or 0) // _DEPTH
        return replace(self.around, var=self.step, upper=integer(steps), body=body, unroll=0)

    def _lane(self, below: int, extent: int) -> Expr:
        """A digit of the lane's number."""
        shifted = self.lane if below == 1 else Binary("/", self.lane, integer(below))
        return Binary("%", shifted, integer(extent)) if below * extent < _ROWS * _COLUMNS else shifted

    def _depth(self, half: Expr, row: Expr | None) -> Expr:
        """An index along the product: the step's half, and the row in it where rows are stored along the depth."""
        at = poly(Var(self.step)).scaled(_DEPTH) + poly(half).scaled(_GROUP)
        return (at + poly(row) if row is not None else at).to_expr()

    def _load_left(self, to: Index, i: str) -> Stmt:
        """Quarters of a 16 x 16 part: rows 0 and 8 at depth 0, then at depth 8."""
        product, rows = self.product, self.left
        digit, row = Var(rows.digit), self._lane(1, _GROUP)
        first = Binary("*", Binary("/", digit, integer(_ROWS)), integer(_ROWS))
        values: dict[str, Expr] = {
            product.down.var: Binary("+", Binary("*", Var(i), integer(2)), self._lane(8, 2)),
            rows.digit: Binary("+", first, row) if rows.along_depth else first,
            self.around.var: self._depth(self._lane(16, 2), None if rows.along_depth else row),
        }
        return self._loading(rows, to, values)

    def _load_right(self, to: Index, j: str) -> Stmt:
        """Halves of a 16 x 8 part: depth 0 and 8; where four parts are loaded, the same of the next columns."""
        product, rows = self.product, self.right
        digit, row = Var(rows.digit), self._lane(1, _GROUP)
        first = Binary("*", Binary("/", digit, integer(_COLUMNS)), integer(_COLUMNS))
        values: dict[str, Expr] = {
            rows.digit: Binary("+", first, Binary("/", row, integer(2))) if rows.along_depth else first,
            product.pair.var: Binary("%", row, integer(2)) if rows.along_depth else integer(0),
            self.around.var: self._depth(self._lane(8, 2), None if rows.along_depth else row),
        }
        if product.across is not None:
            two = Binary("+", Binary("*", Var(j), integer(2)), self._lane(16, 2))
            values[product.across.var] = two if self.by_two else Var(j)
        return self._loading(rows, to, values)

    def _loading(self, rows: _Rows, to: Index, values: Mapping[str, Expr]) -> Stmt:
        subscripts = tuple(simplify(substitute(part, values)) for part in rows.element.subscripts)
        function = LOAD if rows.along_depth else LOAD_TURNED
        return ExprStmt(Call(function, (to, Index(rows.element.array, subscripts))))

    def _multiply(self, i: str, group: Expr, a: str, b: tuple[Expr, ...]) -> Stmt:
        product = self.product

        def element(half: int, column: int) -> Expr:
            values: dict[str, Expr] = {
                product.down.var: Binary("+", Binary("*", Var(i), integer(2)), integer(half)),
                product.pair.var: integer(column),
            }
            if product.across is not None:
                values[product.across.var] = group
            return Index(product.sums, tuple(simplify(substitute(part, values)) for part in product.target.subscripts))

        four = tuple(element(half, column) for half in range(2) for column in range(2))
        return ExprStmt(Call(MULTIPLY[product.ctype], (*four, Index(a, (Var(i),)), *b)))


def _over(var: str, trip: int, body: Body) -> Loop:
    return Loop(var, integer(0), integer(trip), body, role=LoopRole.INSTANCE, unroll=0)
