"""Floating-point operations of a kernel, counted in its loop IR: where the roofline places it.

An estimate: a triangular loop counts at the middle of the outer one, a condition as if it held. No measurement may be
refused by it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from genome.ir.expr import Binary, Call, Const, Expr, Index, Unary, Var, children
from genome.ir.kernel import Kernel
from genome.ir.stmt import Assign, Body, Decl, If, Loop, Stmt, VectorLoad, expressions, flatten
from genome.replay import spec_kernel
from genome.sizes import SizeExpr
from genome.spec import KernelSpec, ProblemSize

_FLOATS = ("float", "double", "half", "__half")
_OPERATIONS = {"fma": 2, "fmaf": 2, "__fmaf_rn": 2}


def flops(spec: KernelSpec, size: ProblemSize) -> float:
    """Floating-point operations of one call at this size; 0 where the kernel is not understood.

    Raises:
        SourceError: If the kernel cannot be parsed.
    """
    kernel = spec_kernel(spec)
    if not kernel.axes:
        return 0.0
    values: dict[str, float] = {}
    for arg in spec.args:
        if arg.is_scalar:
            given = arg.value
            values[arg.name] = given.evaluate(size.env) if isinstance(given, SizeExpr) else float(given or 0)
    threads = 1.0
    for axis in kernel.axes:
        low = _value(axis.lower, values) if axis.lower is not None else 0.0
        extent = spec.launch.domain["xyz".index(axis.dim)].evaluate(size.env)
        high = _value(axis.upper, values) if axis.upper is not None else float(extent)
        if low is None or high is None:
            return 0.0
        threads *= max(0.0, high - low)
        values[axis.name] = (low + high) / 2
    counter = _Counter(_float_names(kernel))
    return threads * counter.body(kernel.body, values)


def _float_names(kernel: Kernel) -> frozenset[str]:
    """Variables and arrays that hold floating-point numbers."""
    types = {param.name: param.ctype for param in kernel.params}
    types |= {decl.name: decl.ctype for decl in kernel.shared}
    types |= {stmt.name: stmt.ctype for stmt in flatten(kernel.prologue + kernel.body) if isinstance(stmt, Decl)}
    return frozenset(name for name, ctype in types.items() if ctype.rstrip("234").startswith(_FLOATS))


class _Counter:
    """Counts operations, given the names that are floating-point."""

    def __init__(self, floats: frozenset[str]) -> None:
        self._floats = floats

    def body(self, body: Body, values: Mapping[str, float]) -> float:
        """Operations of one pass over the statements, variables at these values."""
        return sum(self._stmt(stmt, values) for stmt in body)

    def _stmt(self, stmt: Stmt, values: Mapping[str, float]) -> float:
        if isinstance(stmt, Loop):
            low, high = _value(stmt.lower, values), _value(stmt.upper, values)
            if low is None or high is None:
                return 0.0
            trips = max(0, math.ceil((high - low) / stmt.step))
            return trips * self.body(stmt.body, {**values, stmt.var: (low + high) / 2})
        if isinstance(stmt, If):
            return self._expr(stmt.condition) + self.body(stmt.then, values)
        if isinstance(stmt, VectorLoad):
            return 0.0
        own = sum(self._expr(expr) for expr in expressions(stmt))
        updates = isinstance(stmt, Assign) and stmt.op != "=" and self._is_float(stmt.target)
        return own + updates

    def _expr(self, expr: Expr) -> float:
        if isinstance(expr, Index):
            return 0.0
        count = sum(self._expr(child) for child in children(expr))
        if isinstance(expr, Binary) and expr.op in ("+", "-", "*", "/") and self._is_float(expr):
            return count + 1
        if isinstance(expr, Call) and any(self._is_float(argument) for argument in expr.args):
            return count + _OPERATIONS.get(expr.function, 1)
        return count

    def _is_float(self, expr: Expr) -> bool:
        match expr:
            case Var(name) | Index(name):
                return name in self._floats
            case Const(text):
                return ("." in text or "e" in text.lower() or "f" in text) and not text.lower().startswith("0x")
        return any(self._is_float(child) for child in children(expr))


def _value(expr: Expr, values: Mapping[str, float]) -> float | None:
    match expr:
        case Const() if expr.value is not None:
            return float(expr.value)
        case Var(name):
            return values.get(name)
        case Unary("-", operand):
            inner = _value(operand, values)
            return None if inner is None else -inner
        case Binary(op, left, right):
            first, second = _value(left, values), _value(right, values)
            if first is None or second is None:
                return None
            match op:
                case "+":
                    return first + second
                case "-":
                    return first - second
                case "*":
                    return first * second
                case "/" if second:
                    return float(first // second)
                case "%" if second:
                    return first % second
    return None
