"""Conditions on a kernel's parameters as expressions of the campaign's sizes: what the host guard checks."""

from __future__ import annotations

from collections.abc import Sequence

from genome.ir.expr import Binary, Cast, Const, Expr, Unary, Var
from genome.ir.kernel import Aligned, AtLeast, Axis, Condition, Divisible, Equals, Holds
from genome.sizes import ExpressionError, SizeExpr
from genome.spec import KernelSpec, LaunchSpec


def size_condition(spec: KernelSpec, condition: Condition) -> SizeExpr | None:
    """The condition on parameters as an expression of sizes (None for pointer alignment).

    Raises:
        ExpressionError: If a parameter's value is not an expression of sizes.
    """
    match condition:
        case Divisible(expr, by):
            return SizeExpr(f"({sizes_text(spec, expr)}) % {by} == 0")
        case Equals(expr, value):
            return SizeExpr(f"({sizes_text(spec, expr)}) == {value}")
        case AtLeast(expr, value):
            return SizeExpr(f"({sizes_text(spec, expr)}) >= {value}")
        case Holds(size):
            return size
        case Aligned():
            return None


def sizes_text(spec: KernelSpec, expr: Expr) -> str:
    """An expression over scalar parameters as text over the campaign's sizes.

    Raises:
        ExpressionError: If a parameter's value is not an expression of sizes.
    """
    match expr:
        case Const() if expr.value is not None:
            return str(expr.value)
        case Var(name):
            arg = spec.arg(name)
            if arg is None or not isinstance(arg.value, SizeExpr):
                raise ExpressionError(f"{name} is not given by the campaign as an expression of sizes")
            return f"({arg.value})"
        case Unary("-", operand):
            return f"(-{sizes_text(spec, operand)})"
        case Binary(op, left, right) if op in ("+", "-", "*", "/", "%"):
            return f"({sizes_text(spec, left)} {'//' if op == '/' else op} {sizes_text(spec, right)})"
        case Cast(_, operand):
            return sizes_text(spec, operand)
    raise ExpressionError("the condition is not an expression of sizes")


def launch_reaches(spec: KernelSpec, launch: LaunchSpec, axes: Sequence[Axis]) -> tuple[Holds, ...] | None:
    """What must hold for the launch to have a thread for every element of the axes that the source strides over.

    Returns:
        Conditions on sizes, none where the launch's domain is what the kernel compares with; None if one of them is no
        expression of sizes, or does not hold at a size of the campaign.
    """
    found = []
    for axis in axes:
        if not axis.strided or axis.upper is None:
            continue
        domain = launch.domain["xyz".index(axis.dim)]
        try:
            upper = sizes_text(spec, axis.upper)
            if upper != f"({domain})":
                found.append(Holds(SizeExpr(f"({domain}) >= {upper}")))
            if not all(each.condition.evaluate(size.env) for each in found for size in spec.sizes + spec.check_sizes):
                return None
        except ExpressionError:
            return None
    return tuple(found)


def sized(spec: KernelSpec, condition: Condition) -> bool:
    """True if the host can check the condition."""
    try:
        size_condition(spec, condition)
    except ExpressionError:
        return False
    return True
