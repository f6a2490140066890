"""What a warp does of a product on tensor cores: addresses of its loads, the loads, and the products themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from genome.ir.expr import Binary, Call, Expr, Index, Var, integer, names, substitute
from genome.ir.kernel import Kernel
from genome.ir.poly import Poly, multiple_of, poly, simplify, variable
from genome.ir.stmt import Body, Decl, ExprStmt, Loop, LoopRole, Stmt
from genome.transforms.cuda_functions import LOAD, LOAD_TURNED, MULTIPLY
from genome.transforms.nests import NameSource

DEPTHS = {"half": 16, "__nv_bfloat16": 16, "float": 8}
"""Iterations of the inner loop that one product of a warp does, by the type of the factors."""
ROWS, COLUMNS = 8, 4
"""Threads of a warp down and across; each has two neighbouring columns."""
_GROUP = 8  # elements that a lane's address names


@dataclass(frozen=True)
class Product:
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

    @property
    def depth(self) -> int:
        """Iterations of the inner loop that one product of a warp does."""
        return DEPTHS[self.ctype]


class FactorRows:
    """How lanes address the 8 x 8 parts of one factor: its last subscript runs along ``k``, or along the warp."""

    def __init__(self, kernel: Kernel, loop: Loop, product: Product, element: Index, digit: str, step: int) -> None:
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


class WarpProduct:
    """The loads and products of one loop over factors of 16 bits."""

    def __init__(self, kernel: Kernel, thread: str, loop: Loop, product: Product, source: NameSource) -> None:
        self.kernel, self.around, self.product, self.source = kernel, loop, product, source
        self.lane = Binary("%", Var(thread), integer(ROWS * COLUMNS))
        self.step = source.fresh(f"{loop.var}_step")
        self.left = FactorRows(kernel, loop, product, product.left, kernel.threads[1][0], 1)
        self.right = FactorRows(kernel, loop, product, product.right, kernel.threads[0][0], 2)
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
            _over(i, pairs, self.load_left(a, i)),
            _over(j, loads, self.load_right(b, j)),
            _over(i, pairs, (_over(j, loads, products),)),
        )
        steps = (self.around.trip or 0) // product.depth
        return replace(self.around, var=self.step, upper=integer(steps), body=body, unroll=0)

    def _lane(self, below: int, extent: int) -> Expr:
        """A digit of the lane's number."""
        shifted = self.lane if below == 1 else Binary("/", self.lane, integer(below))
        return Binary("%", shifted, integer(extent)) if below * extent < ROWS * COLUMNS else shifted

    def _depth(self, half: Expr, row: Expr | None) -> Expr:
        """An index along the product: the step's half, and the row in it where rows are stored along the depth."""
        at = poly(Var(self.step)).scaled(self.product.depth) + poly(half).scaled(_GROUP)
        return (at + poly(row) if row is not None else at).to_expr()

    def load_left(self, to: str, i: str) -> Body:
        """Quarters of a 16 x 16 part: rows 0 and 8 at depth 0, then at depth 8."""
        product, rows = self.product, self.left
        digit, row = Var(rows.digit), self._lane(1, _GROUP)
        first = Binary("*", Binary("/", digit, integer(ROWS)), integer(ROWS))
        values: dict[str, Expr] = {
            product.down.var: Binary("+", Binary("*", Var(i), integer(2)), self._lane(8, 2)),
            rows.digit: Binary("+", first, row) if rows.along_depth else first,
            self.around.var: self._depth(self._lane(16, 2), None if rows.along_depth else row),
        }
        return (self._loading(rows, Index(to, (Var(i),)), values),)

    def load_right(self, to: str, j: str) -> Body:
        """Halves of a 16 x 8 part: depth 0 and 8; where four parts are loaded, the same of the next columns."""
        product, rows = self.product, self.right
        digit, row = Var(rows.digit), self._lane(1, _GROUP)
        first = Binary("*", Binary("/", digit, integer(COLUMNS)), integer(COLUMNS))
        values: dict[str, Expr] = {
            rows.digit: Binary("+", first, Binary("/", row, integer(2))) if rows.along_depth else first,
            product.pair.var: Binary("%", row, integer(2)) if rows.along_depth else integer(0),
            self.around.var: self._depth(self._lane(8, 2), None if rows.along_depth else row),
        }
        if product.across is not None:
            two = Binary("+", Binary("*", Var(j), integer(2)), self._lane(16, 2))
            values[product.across.var] = two if self.by_two else Var(j)
        return (self._loading(rows, Index(to, (Var(j),)), values),)

    def _loading(self, rows: FactorRows, to: Index, values: Mapping[str, Expr]) -> Stmt:
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
