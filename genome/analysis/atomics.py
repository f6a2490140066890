"""Atomic updates of arrays: statements like ``atomicAdd(&h[g(i)], w);`` whose result nobody uses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from genome.ir.expr import Binary, Call, Const, Expr, Index, Unary, Var, integer, names, walk
from genome.ir.kernel import Kernel
from genome.ir.print_functions import ATOMICS, PURE
from genome.ir.print_source import name_types
from genome.ir.rewrite_stmt import map_stmts
from genome.ir.stmt import Assign, Body, ExprStmt, Opaque, Stmt, expressions, flatten
from genome.ir.types import FLOAT_TYPES

COMMUTATIVE = frozenset({"atomicAdd", "atomicSub", "atomicMax", "atomicMin", "atomicAnd", "atomicOr", "atomicXor"})
"""Atomics whose order does not matter to the final value (floating-point sums apart)."""

_COMPOUND = {"atomicAdd": "+=", "atomicSub": "-=", "atomicAnd": "&=", "atomicOr": "|=", "atomicXor": "^="}
_EXTREMES = {"atomicMax": "max", "atomicMin": "min"}
_BOUNDS = {
    "int": ("(-2147483647 - 1)", "2147483647"),
    "unsigned int": ("0u", "4294967295u"),
}  # fmt: skip


@dataclass(frozen=True)
class Update:
    """``function(&target, value);``."""

    function: str
    target: Index
    value: Expr

    @property
    def kind(self) -> str:
        """Updates of one kind may be mixed in any order: differences are sums."""
        return "atomicAdd" if self.function == "atomicSub" else self.function

    @property
    def statement(self) -> Stmt:
        """The update as a statement."""
        return ExprStmt(Call(self.function, (Unary("&", self.target), self.value)))

    def plainly(self, target: Expr) -> Stmt:
        """The same update of a private variable."""
        if self.function in _EXTREMES:
            return Assign(target, Call(_EXTREMES[self.function], (target, self.value)))
        return Assign(target, self.value, _COMPOUND[self.function])


def update_of(stmt: Stmt) -> Update | None:
    """The statement as an atomic update of an array element with an unused result, or None."""
    if not isinstance(stmt, ExprStmt) or not isinstance(stmt.value, Call) or stmt.value.function not in COMMUTATIVE:
        return None
    target, value = stmt.value.args
    match target:
        case Unary("&", Index() as element):
            return Update(stmt.value.function, element, value)
        case Var(name):
            return Update(stmt.value.function, Index(name, (integer(0),)), value)
        case Binary("+", Var(name), offset):
            return Update(stmt.value.function, Index(name, (offset,)), value)
    return None


def updates(body: Body) -> tuple[Update, ...]:
    """Every atomic update of a body, in program order."""
    found = (update_of(stmt) for stmt in flatten(body))
    return tuple(update for update in found if update is not None)


def identity(kind: str, ctype: str) -> Expr | None:
    """The value that leaves any other one as it is under this kind of update, or None if the type has none."""
    if kind in ("atomicAdd", "atomicOr", "atomicXor"):
        return Const({"float": "0.0f", "double": "0.0"}.get(ctype, "0"))
    if kind == "atomicAnd":
        return Unary("~", Const("0u" if ctype.startswith("unsigned") else "0"))
    if ctype in _BOUNDS:
        low, high = _BOUNDS[ctype]
        return Const(low if kind == "atomicMax" else high)
    return None


def only_updated(kernel: Kernel, array: str) -> str:
    """Empty if the body touches the array by atomic updates of one kind only, else what else happens to it."""
    found = [update for update in updates(kernel.body) if update.target.array == array]
    if len({update.kind for update in found}) > 1:
        return f"{array} is updated in several ways whose order matters"
    inside = {name for update in found for expr in (*update.target.subscripts, update.value) for name in names(expr)}
    if array in inside:
        return f"{array} is read as well"
    for stmt in flatten(kernel.body):
        if isinstance(stmt, Opaque):
            return "the body holds a region that the engine does not see into"
        update = update_of(stmt)
        if update is not None and update.target.array == array:
            continue
        for expr in expressions(stmt):
            for node in walk(expr):
                if isinstance(node, Call) and node.function not in PURE and node.function not in ATOMICS:
                    return f"{node.function} may touch {array}"
            if array in names(expr):
                return f"{array} is used in another way as well"
    return ""


def reorders(ctype: str) -> bool:
    """True if combining updates in another order may change the result."""
    return ctype in FLOAT_TYPES


def element_of(kernel: Kernel, array: str) -> str:
    """Canonical element type of a pointer parameter."""
    return name_types(kernel).get(array, "")


def map_updates(body: Body, array: str, function: Callable[[Update], Body]) -> Body:
    """The body with every update of the array replaced."""

    def visit(stmt: Stmt) -> Body:
        update = update_of(stmt)
        return function(update) if update is not None and update.target.array == array else (stmt,)

    return map_stmts(body, visit)
