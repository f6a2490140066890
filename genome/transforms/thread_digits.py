"""The digits of every thread of a block, by computing what the prologue declares."""

from __future__ import annotations

from math import prod

from genome.ir.expr import Binary, Cast, Const, Expr, Var
from genome.ir.kernel import Kernel
from genome.ir.stmt import Decl


def digits_of(kernel: Kernel) -> tuple[dict[str, int], ...] | None:
    """For each thread of a block, in the order of warps, the value of each of its digits.

    None where a digit is declared by anything else than integer arithmetic on ``threadIdx``.
    """
    names = [name for name, _ in kernel.threads]
    block = {axis.dim: axis.block_threads for axis in kernel.axes}
    width, height = block.get("x", 1), block.get("y", 1)
    found = []
    for thread in range(prod(extent for _, extent in kernel.threads)):
        values = {
            "threadIdx.x": thread % width,
            "threadIdx.y": thread // width % height,
            "threadIdx.z": thread // (width * height),
        }
        for stmt in kernel.prologue:
            if isinstance(stmt, Decl) and stmt.init is not None:
                value = _value(stmt.init, values)
                if value is not None:
                    values[stmt.name] = value
        if not values.keys() >= set(names):
            return None
        found.append({name: values[name] for name in names})
    return tuple(found)


def _value(expr: Expr, values: dict[str, int]) -> int | None:
    """The value of non-negative integer arithmetic; None for anything else."""
    match expr:
        case Const():
            return expr.value
        case Var(name):
            return values.get(name)
        case Cast(operand=operand):
            return _value(operand, values)
        case Binary(op, left, right):
            one, other = _value(left, values), _value(right, values)
            if one is None or other is None:
                return None
            match op:
                case "+":
                    return one + other
                case "*":
                    return one * other
                case "/" if other:
                    return one // other
                case "%" if other:
                    return one % other
    return None
