"""Wide accesses of 16-bit floats: words of two elements in CUDA, their bits in OpenCL C."""

from __future__ import annotations

from genome.ir.halves import SHORT
from genome.ir.print_errors import PrintError
from genome.ir.print_expr import ExprPrinter
from genome.ir.print_names import HALF_STRUCTS
from genome.ir.stmt import VectorLoad, VectorStore
from genome.variant import Target

LANES = "0123456789abcdef"
"""OpenCL C's names of the elements of a vector."""


def words(count: int, element: str, width: int) -> tuple[str, list[str]]:
    """CUDA's type of so many words, and what selects each of them, for ``width`` small elements.

    Raises:
        PrintError: If there is no such type.
    """
    if count not in (1, 2, 4) or width % count:
        raise PrintError(f"CUDA has no {width}-wide access of {element}")
    return ("unsigned int", [""]) if count == 1 else (f"uint{count}", [f".{field}" for field in "xyzw"[:count]])


def load_halves(
    expr: ExprPrinter, stmt: VectorLoad, element: str, name: str, space: str
) -> tuple[list[str], list[str]]:
    """Statements that load the elements, and the text of each.

    Args:
        expr: Prints the expressions.
        stmt: The access.
        element: Canonical type of an element.
        name: Of a variable for the load.
        space: Address space of the array in OpenCL.
    """
    width, source = len(stmt.targets), expr.text(stmt.source)
    if expr.target is Target.OPENCL:
        pointer = f"{space} const ushort*".strip()
        load = f"    const ushort{width} {name} = vload{width}(0, ({pointer})&{source});"
        return [load], [f"({HALF_STRUCTS[element]}){{{name}.s{LANES[lane]}}}" for lane in range(width)]
    vector, fields = words(width // 2, element, width)
    parts = [
        f"__ushort_as_{SHORT[element]}((unsigned short)({name}{field}{shift}))"
        for field in fields
        for shift in ("", " >> 16")
    ]
    return [f"    const {vector} {name} = *(const {vector}*)&{source};"], parts


def store_halves(expr: ExprPrinter, stmt: VectorStore, element: str, space: str) -> list[str]:
    """The statements of a store; see ``load_halves``."""
    width, target = len(stmt.values), expr.text(stmt.target)
    if expr.target is Target.OPENCL:
        bits = ", ".join(f"({expr.text_as(value, element)}).bits" for value in stmt.values)
        return [f"vstore{width}((ushort{width})({bits}), 0, ({f'{space} ushort*'.strip()})&{target});"]
    vector, fields = words(width // 2, element, width)
    halves = [f"__{SHORT[element]}_as_ushort({expr.text(value)})" for value in stmt.values]
    pairs = [f"{low} | (unsigned int){high} << 16" for low, high in zip(halves[::2], halves[1::2], strict=True)]
    value = pairs[0] if len(fields) == 1 else f"make_{vector}({', '.join(pairs)})"
    return [f"*({vector}*)&{target} = {value};"]
