"""Sums that are proportional to an exponential of minus one variable: ``s += w * exp(e - t)``."""

from __future__ import annotations

from dataclasses import dataclass

from genome.ir.expr import Binary, Call, Cast, Expr, Index, Select, Unary, Var, base_name, names
from genome.ir.stmt import Assign, Body, Decl, If, Loop, expressions

_EXPONENTIALS = frozenset({"expf", "exp", "__expf", "exp2f", "exp2"})
_FUSED = frozenset({"fmaf", "fma"})


@dataclass(frozen=True)
class Factor:
    """What a sum is proportional to.

    Attributes:
        shift: The variable that stands with a minus in every exponent.
        function: The exponential.
    """

    shift: str
    function: str


def exponential_factor(body: Body, target: str) -> Factor | None:
    """The factor of which everything that the body adds to ``target`` holds exactly one; None if there is none.

    The shift is then used in exponents of such factors only.
    """
    candidates = dict.fromkeys(factor for expr in _expressions(body) for factor in _factors(expr))
    return next((factor for factor in candidates if _Degrees(factor, target).holds(body)), None)


def _expressions(body: Body) -> list[Expr]:
    found: list[Expr] = []
    for stmt in body:
        found += [*expressions(stmt), *_expressions(stmt.inside)]
    return found


def _factors(expr: Expr) -> list[Factor]:
    found = []
    for node in (expr, *expr._below):
        match node:
            case Call(function=function, args=(Binary("-", _, Var(name)),)) if function in _EXPONENTIALS:
                found.append(Factor(name, function))
    return found


class _Degrees:
    """In which power of the factor each local stands."""

    def __init__(self, factor: Factor, target: str) -> None:
        self.factor, self.target = factor, target
        self.known: dict[str, int] = {}

    def holds(self, body: Body) -> bool:
        """True if every update of the target adds a value of degree one, and all else is of a known degree."""
        for stmt in body:
            match stmt:
                case Loop(lower=lower, upper=upper):
                    good = self.of(lower) == self.of(upper) == 0 and self.holds(stmt.body)
                case If(condition=condition, then=then, orelse=orelse):
                    good = self.of(condition) == 0 and self.holds(then) and self.holds(orelse)
                case Decl(name=name, init=init):
                    good = init is None or self._bind(name, init)
                case Assign(target=target, value=value, op=op):
                    good = self._assign(target, value, op)
                case _:
                    good = False
            if not good:
                return False
        return True

    def _assign(self, target: Expr, value: Expr, op: str) -> bool:
        if target == Var(self.target):
            if op == "+=":
                return self.of(value) == 1
            match value:
                case Call(function=function, args=(left, right, Var(name))) if function in _FUSED:
                    return op == "=" and name == self.target and self._sum(self.of(left), self.of(right)) == 1
                case Binary("+", Var(name), other) | Binary("+", other, Var(name)) if name == self.target:
                    return op == "=" and self.of(other) == 1
            return False
        inside = target.subscripts if isinstance(target, Index) else ()
        return op == "=" and all(self.of(part) == 0 for part in inside) and self._bind(base_name(target), value)

    def _bind(self, name: str, value: Expr) -> bool:
        degree = self.of(value)
        if degree is None or name == self.factor.shift or self.known.get(name, degree) != degree:
            return False
        self.known[name] = degree
        return True

    def of(self, expr: Expr) -> int | None:
        """The degree of a value; None if it is a sum of several, or not known."""
        bound = {self.factor.shift, self.target, *(name for name, degree in self.known.items() if degree)}
        if bound.isdisjoint(names(expr)):
            return 0
        match expr:
            case Var(name):
                return self.known.get(name)
            case Index(name, subscripts):
                return self.known.get(name) if all(self.of(part) == 0 for part in subscripts) else None
            case Call(function=function, args=(Binary("-", exponent, Var(name)),)):
                right = function == self.factor.function and name == self.factor.shift
                return 1 if right and self.of(exponent) == 0 else None
            case Binary("*", left, right):
                return self._sum(self.of(left), self.of(right))
            case Binary("/", left, right):
                return self.of(left) if self.of(right) == 0 else None
            case Binary("+" | "-", left, right):
                return self.of(left) if self.of(left) == self.of(right) else None
            case Unary("-", operand) | Cast(operand=operand, ctype="float" | "double"):
                return self.of(operand)
            case Select(condition, then, other):
                return self.of(then) if self.of(condition) == 0 and self.of(then) == self.of(other) else None
        return None

    @staticmethod
    def _sum(left: int | None, right: int | None) -> int | None:
        return None if left is None or right is None else left + right
