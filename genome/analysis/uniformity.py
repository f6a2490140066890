"""Which threads agree on a value.

Values are followed from the thread indices through declarations, assignments and control: whatever a value that differs
between threads flows into, or is assigned under a condition that differs, differs as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from genome.analysis.access import MemorySpace, VariableKind
from genome.analysis.facts import Uniformity
from genome.analysis.scope import Scope, make_scope
from genome.ir.expr import Binary, Call, Const, Expr, Index, Unary, Var, base_name, children, walk
from genome.ir.kernel import Kernel
from genome.ir.print_functions import PURE
from genome.ir.stmt import (
    Assign,
    Body,
    Decl,
    If,
    Loop,
    Opaque,
    Repeat,
    Space,
    Stmt,
    VectorLoad,
    VectorStore,
    expressions,
    flatten,
    writes,
)

_ORDER = tuple(Uniformity)
_RANK = {level: position for position, level in enumerate(_ORDER)}
_WARP = 32
_COMPARED = frozenset({"<", ">=", "<=", ">"})


def narrowest(levels: Iterable[Uniformity]) -> Uniformity:
    """The level of a value that is made of others; numbers alone agree in the whole grid."""
    return max(levels, key=_RANK.__getitem__, default=Uniformity.GRID)


def agrees(level: Uniformity, group: Uniformity) -> bool:
    """True if the threads of each such group agree on a value of that level."""
    return _RANK[level] <= _RANK[group]


class Levels:
    """Level of every name of a kernel, grown until nothing changes.

    Attributes:
        scope: The names.
    """

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self._control: list[Uniformity] = []
        self._of: dict[str, Uniformity] = {}
        self._origin: dict[str, Expr | str] = {}
        kernel = scope.kernel
        self._changed_arrays = frozenset(
            base_name(target) for stmt in flatten(kernel.whole) for target in writes(stmt) if isinstance(target, Index)
        ) | _handed_out(kernel.whole)
        self._spaces = scope.spaces
        for name, kind in scope.kinds.items():
            if kind is not VariableKind.LOOP:
                self._of[name] = self._index_level(name, kind)
        grown: dict[str, Uniformity] = {}
        while grown != self._of:
            grown = dict(self._of)
            self._control = []
            self._body(kernel.prologue + kernel.whole, Uniformity.GRID)

    def of(self, expr: Expr) -> Uniformity:
        """The widest group of threads that is known to agree on the value of the expression."""
        if self.scope.block is not None:
            return self._of_parts(expr)
        level = Uniformity.GRID
        for node in _speaking(expr):
            own = self._of_node(node)
            if _RANK[own] > _RANK[level]:
                level = own
        return level

    def _of_parts(self, expr: Expr) -> Uniformity:
        """The level, whole warps looked for in its parts."""
        if self._warp_part(expr):
            return Uniformity.WARP
        return narrowest((self._of_node(expr), *(self._of_parts(child) for child in children(expr))))

    def _of_node(self, node: Expr) -> Uniformity:
        """What the node itself, its parts aside, adds to the level of an expression."""
        match node:
            case Var(name):
                return Uniformity.BLOCK if self._spaces.get(name) is MemorySpace.SHARED else self.of_name(name)
            case Index(array, _):
                return self._array_level(array)
            case Call(function, _) if function not in PURE:
                return Uniformity.DIVERGENT
        return Uniformity.GRID

    def of_name(self, name: str) -> Uniformity:
        """The level of a variable; sizes and constants of the file agree in the whole grid."""
        return self._of.get(name, Uniformity.GRID)

    def control_at(self, statement: int) -> Uniformity:
        """Who agrees on reaching a statement, by its position in ``flatten`` of prologue and body."""
        return self._control[statement]

    def changes(self, array: str) -> bool:
        """True if the kernel may store into the array, by its own name."""
        return array in self._changed_arrays

    def why(self, expr: Expr) -> str:
        """What makes the expression differ between threads, in a clause."""
        for node in walk(expr):
            if isinstance(node, Var) and self.of_name(node.name) is Uniformity.DIVERGENT:
                origin = self._origin.get(node.name, "")
                reason = self._own_reason(origin) if isinstance(origin, Expr) else origin
                return f"{node.name} differs between threads" + (f" ({reason})" if reason else "")
            if isinstance(node, Index) and self._array_level(node.array) is Uniformity.DIVERGENT:
                return f"the kernel writes {node.array}, so that threads may read different values"
            if isinstance(node, Call) and node.function not in PURE:
                return f"{node.function} may give each thread another value"
        return "it differs between threads"

    def _own_reason(self, origin: Expr) -> str:
        """What makes the first value differ that a name was given, one step back."""
        found = (node.name for node in walk(origin) if isinstance(node, Var))
        name = next((name for name in found if self.of_name(name) is Uniformity.DIVERGENT), "")
        return f"as {name} does" if name else ""

    # ---- sources

    def _index_level(self, name: str, kind: VariableKind) -> Uniformity:
        if kind is VariableKind.BLOCK:
            return Uniformity.BLOCK
        axis = self.scope.kernel.axis(name)
        dim = axis.dim if kind is VariableKind.AXIS and axis is not None else name[-1]
        block = self.scope.block
        if block is None or (kind is VariableKind.THREAD and not name.startswith("threadIdx.")):
            return Uniformity.DIVERGENT
        if block["xyz".index(dim)] == 1:
            return Uniformity.BLOCK if kind is VariableKind.AXIS else Uniformity.GRID
        slower = block[0] if dim == "y" else block[0] * block[1]
        return Uniformity.WARP if dim != "x" and slower % _WARP == 0 else Uniformity.DIVERGENT

    def _array_level(self, array: str) -> Uniformity:
        """Level of what stands at one address: arrays that nobody writes are the same for all threads; a shared element
        is the same for its block, or the threads race for it.
        """
        space = self._spaces.get(array, MemorySpace.FILE)
        if space is MemorySpace.PRIVATE:
            return self.of_name(array)
        if space is MemorySpace.SHARED:
            return Uniformity.BLOCK
        changed = space is MemorySpace.UNKNOWN or array in self._changed_arrays
        return Uniformity.DIVERGENT if changed else Uniformity.GRID

    def _warp_part(self, expr: Expr) -> bool:
        """``threadIdx.x / 32``, ``threadIdx.x < 64``: the same for a warp where the block's rows are whole warps."""
        block = self.scope.block
        if not isinstance(expr, Binary) or block is None or (block[0] % _WARP and block[1:] != (1, 1)):
            return False
        value = expr.right.value if isinstance(expr.right, Const) else None
        if self.scope.resolve(expr.left) != Var("threadIdx.x") or value is None:
            return False
        if expr.op == ">>":
            return value >= 5
        value += expr.op in ("<=", ">")
        return (expr.op == "/" or expr.op in _COMPARED) and value > 0 and value % _WARP == 0

    # ---- flow

    def _body(self, body: Body, control: Uniformity) -> None:
        for stmt in body:
            self._control.append(control)
            self._stmt(stmt, control)

    def _stmt(self, stmt: Stmt, control: Uniformity) -> None:
        match stmt:
            case If(condition=condition, then=then, orelse=orelse):
                inside = narrowest((control, self.of(condition)))
                self._body(then, inside)
                self._body(orelse, inside)
            case Loop(var=var, lower=lower, upper=upper, body=body):
                inside = narrowest((control, self.of(lower), self.of(upper)))
                self._add(var, inside)
                self._body(body, inside)
            case Repeat(body=body):  # threads that leave are not there in the turns that follow
                self._body(body, narrowest((control, *map(self.of, stmt.exits))))
            case Decl(name=name, init=init, space=space):
                if space is not Space.SHARED and init is not None:
                    self._add(name, narrowest((control, self.of(init))), init)
            case Assign(target=target, value=value):
                self._assign(target, narrowest((control, self.of(value))), value)
            case VectorLoad(targets=targets, source=source):
                for target in targets:
                    self._assign(target, narrowest((control, self.of(source))), source)
            case VectorStore(values=values):
                for target, value in zip(writes(stmt), values, strict=True):
                    self._assign(target, narrowest((control, self.of(value))), value)
            case Opaque(writes=changed, declares=declared, line=line):
                for name in (*changed, *declared):
                    self._add(name, Uniformity.DIVERGENT, f"set in text on line {line}")
        for node in (node for expr in expressions(stmt) for node in walk(expr)):
            if isinstance(node, Unary) and node.op == "&":
                self._add(base_name(node.operand), Uniformity.DIVERGENT, "its address is handed out")

    def _assign(self, target: Expr, level: Uniformity, value: Expr) -> None:
        parts = target.subscripts if isinstance(target, Index) else ()
        self._add(base_name(target), narrowest((level, *(self.of(part) for part in parts))), value)

    def _add(self, name: str, level: Uniformity, origin: Expr | str = "") -> None:
        """Lets a name vary as much as what flows into it; ``origin`` is that, or why it varies."""
        known = self._of.get(name, Uniformity.GRID)
        if _RANK[level] > _RANK[known]:
            self._of[name] = level
            if level is Uniformity.DIVERGENT:
                self._origin[name] = origin


@lru_cache(maxsize=16)
def levels_of(kernel: Kernel) -> Levels:
    """The levels of a kernel by itself: that nothing races and that barriers are met are both asked of it.

    Not for ``why``, which may tell the lines of an equal kernel.
    """
    return Levels(make_scope(kernel))


@lru_cache(maxsize=16384)
def _speaking(expr: Expr) -> tuple[Expr, ...]:
    """The nodes that may make an expression differ between threads."""
    return tuple(dict.fromkeys(node for node in walk(expr) if isinstance(node, Var | Index | Call)))


def _handed_out(body: Body) -> frozenset[str]:
    """Arrays that something other than a plain store may change."""
    found: set[str] = set()
    for stmt in flatten(body):
        if isinstance(stmt, Opaque):
            found.update(stmt.writes)
        for expr in expressions(stmt):
            for node in walk(expr):
                if isinstance(node, Call) and node.function not in PURE:
                    found.update(base_name(inner) for arg in node.args for inner in walk(arg)
                                 if isinstance(inner, Index | Var))  # fmt: skip
    return frozenset(found)
