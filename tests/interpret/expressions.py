"""Expressions of the loop IR as Python closures over a thread."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from genome.ir.expr import Binary, Call, Cast, Const, Expr, Index, Select, Unary, Var
from genome.ir.kernel import Kernel
from genome.ir.print_functions import ATOMICS
from genome.ir.stmt import Decl, Loop, Space, flatten
from genome.ir.types import BUILTIN_INDICES, CONSTANTS
from tests.interpret.c_values import (
    BOOL,
    DOUBLE,
    FLOAT,
    UINT,
    Number,
    Type,
    Unsupported,
    binary,
    common,
    convert,
    literal,
    math_function,
    promoted,
    type_of,
)
from tests.interpret.trace import OutOfBounds, Pointer, Thread

Value = Callable[[Thread], Any]
_UPDATES = {"atomicAdd": "+", "atomicSub": "-", "atomicAnd": "&", "atomicOr": "|", "atomicXor": "^"}
_NAMED = {"INFINITY": math.inf, "CUDART_INF_F": math.inf, "NAN": math.nan, "INT_MIN": -(2**31), "INT_MAX": 2**31 - 1,
          "UINT_MAX": 2**32 - 1, "FLT_MAX": float(np.finfo("float32").max)}  # fmt: skip


class Expressions:
    """Names of a kernel with their types, which are fixed since names are unique in it."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.types: dict[str, Type] = {param.name: type_of(param.ctype) for param in kernel.params}
        self.types |= {axis.name: type_of(axis.ctype) for axis in kernel.axes}
        self.pointers: set[str] = set()
        self.dims: dict[str, tuple[int, ...]] = {}
        statements = (*kernel.shared, *flatten(kernel.prologue + kernel.body))
        for stmt in statements:
            if isinstance(stmt, Loop):
                self.types[stmt.var] = type_of(stmt.ctype)
            elif isinstance(stmt, Decl):
                self.types[stmt.name] = type_of(stmt.ctype.replace("*", ""))
                self.dims[stmt.name] = stmt.dims or self.dims.get(stmt.name, ())  # a tail may have it as a scalar
                if "*" in stmt.ctype:
                    self.pointers.add(stmt.name)
        self.shared = tuple(s for s in statements if isinstance(s, Decl) and s.space is Space.SHARED)
        self.cells = {decl.name: Index(decl.name, (Const("0"),)) for decl in self.shared if not decl.dims}

    def expr(self, expr: Expr, site: int) -> tuple[Value, Type]:
        """(the value of the expression for a thread, its type)."""
        match expr:
            case Const(text):
                return self._constant(text)
            case Var(name) if name in BUILTIN_INDICES:
                return (lambda thread: thread.env[name]), UINT
            case Var(name) if name in self.cells:
                return self._load(self.cells[name], site)
            case Var(name) if name in self.types:
                return (lambda thread: thread.env[name]), self.types[name]
            case Index() | Unary(op="*"):
                return self._load(expr, site)
            case Cast(ctype, operand):
                kind = type_of(ctype)
                return self._as(operand, kind, site), kind
            case Unary(op, operand):
                return self._unary(op, operand, site)
            case Binary("&&" | "||" as op, left, right):
                a, b = self.expr(left, site)[0], self.expr(right, site)[0]
                if op == "&&":
                    return (lambda thread: int(bool(a(thread)) and bool(b(thread)))), BOOL
                return (lambda thread: int(bool(a(thread)) or bool(b(thread)))), BOOL
            case Binary(op, left, right):
                (a, kind_a), (b, kind_b) = self.expr(left, site), self.expr(right, site)
                combine = self._operation(op, kind_a, kind_b)
                return (lambda thread: combine(thread, a(thread), b(thread))), binary(op, kind_a, kind_b)[1]
            case Select(condition, then, other):
                (c, _), (t, kind_t), (o, kind_o) = (self.expr(part, site) for part in (condition, then, other))
                kind = common(kind_t, kind_o)
                return (lambda thread: convert((t if c(thread) else o)(thread), kind)), kind
            case Call(function, args):
                return self._call(function, args, site)
        raise Unsupported(repr(expr))

    def _as(self, expr: Expr, kind: Type, site: int) -> Value:
        value, _ = self.expr(expr, site)
        return lambda thread: convert(value(thread), kind)

    def _constant(self, text: str) -> tuple[Value, Type]:
        if text in CONSTANTS:
            kind = type_of(CONSTANTS[text][0])
            if text not in _NAMED:
                raise Unsupported(text)
            return (lambda thread: _NAMED[text]), kind
        value, kind = literal(text)
        return (lambda thread: value), kind

    def _unary(self, op: str, operand: Expr, site: int) -> tuple[Value, Type]:
        value, kind = self.expr(operand, site)
        if op == "!":
            return (lambda thread: int(not value(thread))), BOOL
        wide = promoted(kind)
        if op == "-":
            return (lambda thread: convert(-value(thread), wide)), wide
        if op == "~":
            return (lambda thread: convert(~value(thread), wide)), wide
        if op == "+":
            return value, wide
        raise Unsupported(f"operator {op}")

    def _load(self, expr: Expr, site: int) -> tuple[Value, Type]:
        address, kind = self._address(Unary("&", expr), site), self._element_type(expr)
        label, node = (expr.array, expr) if isinstance(expr, Index) else ("*", None)

        def load(thread: Thread) -> Number:
            at = address(thread)
            thread.touch(label, at, "r", site, node)
            return at.memory.data[at.element]

        return load, kind

    def _element_type(self, expr: Expr) -> Type:
        node = expr
        while not isinstance(node, Index | Var):
            node = node.left if isinstance(node, Binary) else node.operand  # type: ignore[attr-defined]
        return self.types[node.array if isinstance(node, Index) else node.name]

    def _address(self, expr: Expr, site: int) -> Callable[[Thread], Pointer]:
        """Where a pointer expression points to."""
        match expr:
            case Var(name):
                return lambda thread: _pointer(thread, name)
            case Binary("+" | "-" as op, left, right):
                base, offset = self._address(left, site), self.expr(right, site)[0]
                sign = 1 if op == "+" else -1
                return lambda thread: _moved(base(thread), sign * offset(thread))
            case Unary("&", Unary("*", inner)):
                return self._address(inner, site)
            case Unary("&", Index(array, subscripts)):
                parts = [self.expr(part, site)[0] for part in subscripts]
                sizes = self.dims.get(array, ())

                def address(thread: Thread) -> Pointer:
                    element = 0
                    for number, part in enumerate(parts):
                        index = part(thread)
                        if len(sizes) > 1 and not 0 <= index < sizes[number]:
                            raise OutOfBounds(f"{array}: {index} of {sizes[number]}")
                        element = element * (sizes[number] if number else 1) + index
                    return _moved(_pointer(thread, array), element)

                return address
        raise Unsupported(f"pointer {expr}")

    def _call(self, function: str, args: tuple[Expr, ...], site: int) -> tuple[Value, Type]:
        if function in ATOMICS:
            return self._atomic(function, args, site)
        if function == "__ldg":
            return self._load(Unary("*", args[0]), site)
        parts = [self.expr(arg, site) for arg in args]
        values = [value for value, _ in parts]
        if function in ("min", "max"):
            kind = common(parts[0][1], parts[1][1])
            pick = min if function == "min" else max

            def extreme(thread: Thread) -> Number:
                thread.trace.flops[thread.block, thread.index] += kind.kind == "f"
                return pick(*(convert(value(thread), kind) for value in values))

            return extreme, kind
        if function == "abs":
            return (lambda thread: abs(values[0](thread))), promoted(parts[0][1])
        compute = math_function(function)
        if compute is None:
            raise Unsupported(f"function {function}")
        kind = FLOAT if function.endswith("f") or function.startswith("__") else DOUBLE
        weight = 2 if function in ("fma", "fmaf", "__fmaf_rn") else 1

        def call(thread: Thread) -> Number:
            thread.trace.flops[thread.block, thread.index] += weight
            return convert(compute(*(convert(value(thread), kind) for value in values)), kind)

        return call, kind

    def _atomic(self, function: str, args: tuple[Expr, ...], site: int) -> tuple[Value, Type]:
        target = args[0]
        address, kind = self._address(target, site), self._element_type(target)
        values = [self._as(arg, kind, site) for arg in args[1:]]
        node = target.operand if isinstance(target, Unary) and isinstance(target.operand, Index) else None

        def update(thread: Thread) -> Number:
            at = address(thread)
            given = [value(thread) for value in values]
            thread.touch(node.array if node else at.memory.name, at, "a", site, node)
            thread.trace.flops[thread.block, thread.index] += kind.kind == "f"
            old = at.memory.data[at.element]
            at.memory.data[at.element] = convert(_updated(function, old, given, kind), kind)
            return old

        return update, kind

    def _operation(self, op: str, left: Type, right: Type) -> Callable[[Thread, Number, Number], Number]:
        function, kind = binary(op, left, right)
        weight = int(kind.kind == "f")

        def apply(thread: Thread, a: Number, b: Number) -> Number:
            thread.trace.flops[thread.block, thread.index] += weight
            return function(a, b)

        return apply


def _updated(function: str, old: Number, given: list[Number], kind: Type) -> Number:
    if function in _UPDATES:
        return binary(_UPDATES[function], kind, kind)[0](old, given[0])
    if function == "atomicCAS":
        return given[1] if old == given[0] else old
    if function == "atomicInc":
        return 0 if old >= given[0] else old + 1
    if function == "atomicExch":
        return given[0]
    return max(old, given[0]) if function == "atomicMax" else min(old, given[0])


def _pointer(thread: Thread, name: str) -> Pointer:
    found = thread.names[name] if name in thread.names else thread.env[name]
    return found if isinstance(found, Pointer) else Pointer(found, 0)


def _moved(at: Pointer, by: int) -> Pointer:
    return Pointer(at.memory, at.element + by)
