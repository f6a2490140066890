"""What each name of a kernel stands for: variables that indices run over, steady values, and values that change."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from genome.analysis.access import MemorySpace, VariableKind
from genome.ir.expr import (
    Cast,
    Const,
    Expr,
    Index,
    Unary,
    Var,
    base_name,
    calls,
    names,
    rewrite,
    substitute,
    walk,
)
from genome.ir.kernel import Kernel
from genome.ir.print_functions import ATOMICS, PURE
from genome.ir.print_source import name_types
from genome.ir.stmt import (
    Assign,
    Body,
    Decl,
    Loop,
    Opaque,
    Space,
    Stmt,
    expressions,
    flatten,
    handed_places,
    writes,
)
from genome.ir.types import BUILTIN_INDICES, FLOAT_TYPES, INTEGER_TYPES, canonical, infer

_LARGEST = 200  # nodes; longer values are not put into their uses
_SAME_WIDTH = frozenset({"int", "unsigned int"})
_NUMBERS = INTEGER_TYPES | FLOAT_TYPES
_ZERO = Const("0")

Block = tuple[int, int, int]


@dataclass(frozen=True)
class Scope:
    """The names of one kernel. Every name has one meaning in it, since the front end keeps names unique.

    Attributes:
        kernel: The kernel.
        block: Threads of a block along x, y, z where the launch is known, else None.
        types: Canonical type of each variable; of each element for an array.
        kinds: Variables that indices run over.
        definitions: Integer locals that keep their first value, in terms of names that are no such locals; the extents
            of the block where it is known.
        changing: Locals and parameters that are set again, with a line where they are.
        loops: Loops by their variable.
    """

    kernel: Kernel
    block: Block | None
    types: Mapping[str, str]
    kinds: Mapping[str, VariableKind]
    definitions: Mapping[str, Expr]
    changing: Mapping[str, int]
    loops: Mapping[str, Loop]

    def resolve(self, expr: Expr) -> Expr:
        """The expression with steady locals replaced by their values, and without casts that keep 32 bits."""
        found = self._resolved.get(expr)
        if found is None:
            found = self._resolved[expr] = rewrite(substitute(expr, self.definitions), self._strip)
        return found

    @cached_property
    def _resolved(self) -> dict[Expr, Expr]:
        """What ``resolve`` has found: analyses ask for the same expressions again and again."""
        return {}

    @cached_property
    def forms(self) -> dict[Expr, object]:
        """What ``genome.analysis.affine`` has found, for the same reason."""
        return {}

    def _strip(self, node: Expr) -> Expr:
        if isinstance(node, Cast) and not node.rounds and canonical(node.ctype) in _SAME_WIDTH:
            return node.operand if infer(node.operand, self.types) in _SAME_WIDTH else node
        return node

    def bounds(self, name: str) -> tuple[Expr, Expr | None]:
        """(lowest value, exclusive upper bound or None) of a variable that indices run over."""
        axis = self.kernel.axis(name)
        if axis is not None and self.kinds.get(name) is VariableKind.AXIS:
            return axis.lower or _ZERO, axis.upper
        if name in self.loops:
            return self.loops[name].lower, self.loops[name].upper
        if name.startswith("threadIdx."):
            return _ZERO, self.extent(name[-1])
        if name.startswith("blockIdx."):
            return _ZERO, Var(f"gridDim.{name[-1]}")
        extent = dict(self.kernel.threads).get(name)
        return _ZERO, None if extent is None else Const(str(extent))

    def extent(self, dim: str) -> Expr:
        """Threads of a block along a dimension."""
        return Var(f"blockDim.{dim}") if self.block is None else Const(str(self.block["xyz".index(dim)]))

    def steady(self, expr: Expr) -> bool:
        """True for an expression of numbers and names that neither run nor change: the same in the whole launch."""
        return not any(
            isinstance(node, Index) or (isinstance(node, Var) and (node.name in self.kinds or node.name in self._local))
            for node in walk(expr)
        )

    def loads(self, expr: Expr) -> bool:
        """True if a value from memory flows into the expression."""
        return any(
            isinstance(node, Index) or (isinstance(node, Var) and node.name in self.loaded)
            for node in walk(self.resolve(expr))
        )

    @cached_property
    def loaded(self) -> frozenset[str]:
        """Locals into which a value from memory flows."""
        statements = tuple(flatten(self.kernel.prologue + self.kernel.whole))
        found: set[str] = set()
        before = -1
        while before != len(found):
            before = len(found)
            found.update(name for stmt in statements for name in _loaded_by(stmt, found))
        return frozenset(found)

    @cached_property
    def _local(self) -> frozenset[str]:
        return frozenset(self.changing) | frozenset(
            stmt.name for stmt in self._declarations if stmt.name not in self.definitions
        )

    @cached_property
    def _declarations(self) -> tuple[Decl, ...]:
        body = self.kernel.prologue + self.kernel.whole
        return tuple(stmt for stmt in flatten(body) if isinstance(stmt, Decl))

    @cached_property
    def spaces(self) -> Mapping[str, MemorySpace]:
        """Where the arrays live that the kernel declares or takes."""
        found = {param.name: MemorySpace.GLOBAL for param in self.kernel.params if param.pointer}
        for decl in (*self.kernel.shared, *self._declarations):
            found[decl.name] = MemorySpace.SHARED if decl.space is Space.SHARED else MemorySpace.PRIVATE
        for stmt in flatten(self.kernel.whole):
            if isinstance(stmt, Opaque):
                found.update((name, MemorySpace.UNKNOWN) for name in stmt.declares if not _is_number(stmt.text, name))
        return found

    @cached_property
    def dims(self) -> Mapping[str, tuple[int, ...]]:
        """Extents of declared arrays."""
        return {decl.name: decl.dims for decl in (*self.kernel.shared, *self._declarations)}


def make_scope(kernel: Kernel, block: Block | None = None) -> Scope:
    """The names of a kernel.

    Args:
        kernel: As the front end gives it, or rewritten.
        block: Threads of a block; taken from the kernel's axes where they know it.
    """
    types = name_types(kernel)
    body = kernel.prologue + kernel.whole
    kinds = {name: VariableKind.THREAD if name.startswith("threadIdx") else VariableKind.BLOCK
             for name in BUILTIN_INDICES if name.startswith(("threadIdx", "blockIdx"))}  # fmt: skip
    kinds |= {name: VariableKind.THREAD for name, _ in kernel.threads}
    if not kernel.mapped:
        kinds |= {axis.name: VariableKind.AXIS for axis in kernel.axes}
    loops = {stmt.var: stmt for stmt in flatten(body) if isinstance(stmt, Loop)}
    kinds |= dict.fromkeys(loops, VariableKind.LOOP)
    changing = _changing(body)
    known = block or _block_of(kernel)
    extents = {f"blockDim.{dim}": Const(f"{extent}u") for dim, extent in zip("xyz", known or (), strict=False)}
    definitions = _definitions(body, types, frozenset(changing), extents)
    plain = Scope(kernel, known, types, kinds, definitions, changing, {})
    return replace(plain, loops={name: replace(loop, lower=plain.resolve(loop.lower), upper=plain.resolve(loop.upper))
                                 for name, loop in loops.items()})  # fmt: skip


def _is_number(text: str, name: str) -> bool:
    """True if the text declares the name as a number, which leads to no memory."""
    words = re.split(rf"\b{re.escape(name)}\b", text, maxsplit=1)[0].split()
    return bool(words) and all(canonical(word) in _NUMBERS or word in ("const", "volatile") for word in words)


def _block_of(kernel: Kernel) -> Block | None:
    if kernel.block is not None:
        return kernel.block
    found = {axis.dim: axis.threads for axis in kernel.axes}
    if not found or 0 in found.values() or kernel.mapped:
        return None
    return found.get("x", 1), found.get("y", 1), found.get("z", 1)


def _definitions(
    body: Body, types: Mapping[str, str], changing: frozenset[str], known: Mapping[str, Expr]
) -> dict[str, Expr]:
    """Values of the integer locals that are declared once and never set again, earlier ones put into later ones, and
    what else is known.
    """
    found: dict[str, Expr] = dict(known)
    seen: set[str] = set()
    for stmt in flatten(body):
        if not isinstance(stmt, Decl) or stmt.dims or stmt.space is Space.SHARED:
            continue
        again, ctype = stmt.name in seen, canonical(stmt.ctype)
        seen.add(stmt.name)
        if again:
            found.pop(stmt.name, None)
        elif stmt.init is not None and ctype in INTEGER_TYPES and stmt.name not in changing and _computes(stmt.init):
            value = substitute(stmt.init, found)
            if infer(value, types) != ctype:
                value = Cast(ctype, value, infer(value, types) not in INTEGER_TYPES)
            if len(walk(value)) <= _LARGEST:
                found[stmt.name] = value
    return found


def _computes(expr: Expr) -> bool:
    """True if the expression has the same value wherever its variables and arrays have the same."""
    return all(call.function in PURE for call in calls(expr))


def _changing(body: Body) -> dict[str, int]:
    """Scalars that are assigned, passed by address or touched by opaque text, with a line where they are."""
    found: dict[str, int] = {}
    for stmt in flatten(body):
        found.update((name, stmt.line) for name in _changed_by(stmt))
    return found


def _changed_by(stmt: Stmt) -> tuple[str, ...]:
    """Scalars to which the statement itself gives a new value, declarations apart."""
    if isinstance(stmt, Opaque):
        return (*stmt.writes, *stmt.declares)
    updated = (call.args[0] for expr in expressions(stmt) for call in calls(expr) if call.function in ATOMICS)
    targets = (pointer.operand for pointer in updated if isinstance(pointer, Unary))
    places = (*writes(stmt), *handed_places(stmt), *targets)
    return tuple(base_name(place) for place in places if not isinstance(place, Index))


def _set_by(stmt: Stmt) -> tuple[str, ...]:
    """Scalars that the statement itself sets."""
    own = (stmt.name,) if isinstance(stmt, Decl) and stmt.init is not None else ()
    return (*own, *_changed_by(stmt))


def _loaded_by(stmt: Stmt, loaded: set[str]) -> tuple[str, ...]:
    """Scalars that the statement itself sets from memory, given those that are known to come from there."""
    values = (expr for expr in expressions(stmt) if not isinstance(expr, Var))
    plain = isinstance(stmt, Decl | Assign)
    blind = not plain or any(isinstance(node, Index) or not _computes(node) for e in values for node in walk(e))
    flows = blind or any(name in loaded for expr in expressions(stmt) for name in names(expr))
    return _set_by(stmt) if flows else ()
