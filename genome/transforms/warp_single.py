"""What a warp does of a product of single-precision factors: each lane loads its elements, rounded for the product."""

from __future__ import annotations

from collections.abc import Mapping

from genome.ir.expr import Binary, Call, Expr, Index, Var, integer, substitute
from genome.ir.kernel import Kernel
from genome.ir.poly import poly, simplify
from genome.ir.stmt import Assign, Body, Loop, Stmt
from genome.transforms.cuda_functions import MULTIPLY, ROUND
from genome.transforms.nests import NameSource
from genome.transforms.warp_product import COLUMNS, Product, WarpProduct

_PART = 4  # adjacent iterations of the inner loop: one a lane of four


class SingleWarpProduct(WarpProduct):
    """The loads and products of one loop over floats.

    Lane ``l`` holds the elements of row ``l / 4`` of the left factor, and of column ``l / 4`` of the right one, at the
    depths ``l % 4`` and that plus four. Any layout of the tiles will do; its padding decides about bank conflicts.
    """

    def __init__(self, kernel: Kernel, thread: str, loop: Loop, product: Product, source: NameSource) -> None:
        super().__init__(kernel, thread, loop, product, source)
        self.by_two = False  # nothing is gained by loading two groups of columns at once

    @property
    def functions(self) -> tuple[str, ...]:
        """What it calls."""
        return ROUND, MULTIPLY["float"]

    def load_left(self, to: str, i: str) -> Body:
        """Quarters of a 16 x 8 part: rows 0 and 8 at depth 0, then at depth 4. The thread's own row is the lane's."""
        return tuple(
            self._element(
                Index(to, (Var(i), integer(2 * part + half))),
                self.product.left,
                {self.product.down.var: Binary("+", Binary("*", Var(i), integer(2)), integer(half))},
                part,
            )
            for part in range(2)
            for half in range(2)
        )

    def load_right(self, to: str, j: str) -> Body:
        """Halves of an 8 x 8 part: depth 0 and 4."""
        product, digit = self.product, Var(self.right.digit)
        column = self._lane(_PART, 8)
        first = Binary("*", Binary("/", digit, integer(COLUMNS)), integer(COLUMNS))
        values: dict[str, Expr] = {
            self.right.digit: Binary("+", first, Binary("/", column, integer(2))),
            product.pair.var: Binary("%", column, integer(2)),
        }
        if product.across is not None:
            values[product.across.var] = Var(j)
        return tuple(
            self._element(Index(to, (Var(j), integer(part))), product.right, values, part) for part in range(2)
        )

    def _element(self, to: Index, factor: Index, values: Mapping[str, Expr], part: int) -> Stmt:
        """One element of a factor at the lane's depth, rounded."""
        start = poly(Var(self.step)).scaled(self.product.depth) + poly(integer(part * _PART))
        known = {**values, self.around.var: (start + poly(self._lane(1, _PART))).to_expr()}
        subscripts = tuple(simplify(substitute(each, known)) for each in factor.subscripts)
        return Assign(to, Call(ROUND, (Index(factor.array, subscripts),)))
