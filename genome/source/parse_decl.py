"""pycparser declarations to IR statements."""

from __future__ import annotations

from dataclasses import replace

from pycparser import c_ast

from genome.ir.expr import Call, Const, Expr, Index, Var, integer
from genome.ir.stmt import Assign, Body, Decl, Space, Stmt
from genome.ir.types import VECTOR_TYPES, canonical, infer
from genome.source.encode import AUTO
from genome.source.folding import constant
from genome.source.loops import identifiers
from genome.source.names import Names, Unsupported, type_name
from genome.source.parse_expr import ExprReader
from genome.source.parse_group import group_type

SHARED_ALIGNMENT = 16
"""Bytes."""
_MAX_INITIALISERS = 256


class DeclReader:
    """Reads declarations.

    Attributes:
        shared: Shared arrays found so far (dynamic ones with the single extent 0).
        skipped: Name -> type of the variables that the loops over them declare instead.
        lost: True if a pointer was set to something unknown that was to be followed.
    """

    def __init__(self, names: Names, expr: ExprReader, loop_only: frozenset[str]) -> None:
        self.names, self.expr, self.loop_only = names, expr, loop_only
        self.shared: list[Decl] = []
        self.skipped: dict[str, str] = {}
        self.lost = False

    def missing(self, node: c_ast.Node) -> Body:
        """Declarations of the skipped variables that a statement needs which stays text."""
        needed = [name for name in self.skipped if name in set(identifiers(node)) and self.names.find(name) is None]
        return tuple(Decl(self.names.declare(name, canonical(self.skipped[name]), False), self.skipped[name])
                     for name in needed)  # fmt: skip

    def read(self, node: c_ast.Decl) -> Body:
        """The statements of a declaration; shared arrays go to ``shared``.

        Args:
            node: The declaration.

        Raises:
            Unsupported: If it declares what the IR does not have.
        """
        dims, inner = [], node.type
        while isinstance(inner, c_ast.ArrayDecl):
            dims.append(constant(inner.dim, self.names.constants) if inner.dim is not None else 0)
            inner = inner.type
        ctype = type_name(inner, self.names.mangled)
        if not isinstance(inner, (c_ast.TypeDecl, c_ast.PtrDecl)) or any(dim is None for dim in dims):
            raise Unsupported("declarator")
        extents = tuple(dim for dim in dims if dim is not None)
        storage = node.storage or []
        if any(self._beyond(align, "static" in storage and bool(extents)) for align in node.align or []):
            raise Unsupported("alignment")
        if "static" in storage or "extern" in storage:
            return self._shared(node.name, ctype, extents, "extern" in storage)
        if 0 in extents:
            raise Unsupported("array without extent")
        unset = isinstance(node.init, (c_ast.Constant, type(None)))
        if not ctype.endswith("*") and not extents and node.name in self.loop_only and unset:
            self.skipped[node.name] = ctype
            return ()
        is_const = ctype.startswith("const ") and not ctype.endswith("*")
        plain = ctype.removeprefix("const ") if is_const else ctype
        return self._local(node, plain, extents, is_const)

    def _beyond(self, align: c_ast.Alignas, array: bool) -> bool:
        """True for an alignment that printing would lose: shared arrays are printed with ``SHARED_ALIGNMENT``."""
        wanted = constant(align.alignment, self.names.constants)
        return not array or wanted is None or wanted > SHARED_ALIGNMENT

    def _shared(self, name: str, ctype: str, dims: tuple[int, ...], dynamic: bool) -> Body:
        if "*" in ctype or (dynamic and dims != (0,)):
            raise Unsupported("shared declaration")
        if self.names.find(ctype.split("::")[0].split()[-1]) is not None:
            raise Unsupported("shared array of a type of the kernel's own")
        if not dynamic and 0 in dims:
            raise Unsupported("shared array without extent")
        plain = ctype.removeprefix("const ")
        unique = self.names.declare(name, canonical(plain), bool(dims))
        self.names.ranks[unique] = len(dims)
        self.names.shared.add(unique)
        self.shared.append(Decl(unique, plain, dims, None, Space.SHARED))
        return ()

    def _local(self, node: c_ast.Decl, ctype: str, dims: tuple[int, ...], is_const: bool) -> Body:
        if ctype.endswith("*"):
            return self._pointer(node, ctype, dims)
        init: Expr | None = None
        rest: tuple[Stmt, ...] = ()
        listed = isinstance(node.init, c_ast.InitList)
        if ctype == AUTO and isinstance(node.init, c_ast.Cast):
            viewed = self._view(node)
            if viewed is not None:
                return viewed
        pointer = self.expr.pointer(node.init) if ctype == AUTO and node.init is not None and not listed else None
        if pointer is not None and pointer[0]:
            return self._pointer(node, self.names.pointers.get(pointer[0], f"{self.names.types[pointer[0]]}*"), dims)
        if node.init is not None and not listed:
            init = self.expr.read(node.init)
        if ctype == AUTO:
            ctype = group_type(init) or (infer(init, self.names.types) if init is not None else "")
            if not ctype or ctype.endswith("*"):
                raise Unsupported("auto")
        if listed and not dims:
            init = self._aggregate(ctype, node.init)
        value = constant(node.init, self.names.constants) if is_const and not dims else None
        unique = self.names.declare(node.name, canonical(ctype), bool(dims))
        self.names.ranks[unique] = len(dims)
        if value is not None:
            self.names.constants[node.name] = value
        if listed and dims:
            rest, is_const = self._elements(unique, dims, node.init, ctype), False
        return (Decl(unique, ctype, dims, init, Space.PRIVATE, is_const), *rest)

    def _pointer(self, node: c_ast.Decl, ctype: str, dims: tuple[int, ...]) -> Body:
        """A pointer local: kept as ``array + offset`` for the normaliser to put into its uses."""
        if "volatile" in ctype.split():
            raise Unsupported("pointer to what changes by itself")
        if not dims and not ctype.endswith("**") and node.name in self.names.moved and self.names.sees:
            return self._walk(node, ctype)
        if dims or ctype.endswith("**") or node.name in self.names.moved:
            raise Unsupported("pointer")
        viewed = self._view(node)
        if viewed is not None:
            return viewed
        if node.init is None and node.name in self.names.straight:
            self.names.pointers[self.names.declare(node.name, canonical(ctype)[:-1], True)] = ctype
            return ()
        pointer = self.expr.pointer(node.init) if node.init is not None else None
        if pointer is None or self.names.loose(pointer[0]):
            raise Unsupported("pointer")
        return (self.names.pointer(node.name, ctype, *pointer),)

    def _view(self, node: c_ast.Decl) -> Body | None:
        """A pointer into an array that it sees as another type: its uses are accesses of the array. None for others."""
        followed = self.names.sees and self.expr.views.changes(node.init)
        place = self.expr.views.pointer(node.init) if followed else None
        again = node.name in self.names.moved or node.name in self.names.straight
        if place is None or not place.view or again:
            return None
        unique = self.names.declare(node.name, place.view, False)
        before: list[Stmt] = []
        parts: list[Expr] = []
        for part in (*place.leading, place.offset):
            if not isinstance(part, Const):
                name = self.names.fresh(f"{unique}_offset", infer(part, self.names.types) or "long long")
                before.append(Decl(name, self.names.types[name], (), part, Space.PRIVATE, True))
                part = Var(name)
            parts.append(part)
        self.names.views[unique] = replace(place, leading=tuple(parts[:-1]), offset=parts[-1])
        return tuple(before)

    def _walk(self, node: c_ast.Decl, ctype: str) -> Body:
        """A pointer that moves: the offset in its array is a variable, which its uses and moves name."""
        pointer = ("", None) if node.init is None else self.expr.pointer(node.init)
        if pointer is None or (pointer[0] and self.names.types.get(pointer[0]) != canonical(ctype)[:-1]):
            raise Unsupported("pointer")
        unique = self.names.declare(node.name, canonical(ctype)[:-1], False)
        return (self.names.walk(unique, *pointer),)

    def move(self, node: c_ast.Assignment) -> Body | None:
        """``p = q + 1;`` and ``p += n;`` in a straight line: a new pointer of that name. None for other variables.

        Raises:
            Unsupported: If what it points to then is not known.
        """
        name = node.lvalue.name
        old = self.names.find(name)
        ctype = self.names.pointers.get(old or "")
        if ctype is None:
            return None
        value = node.rvalue if node.op == "=" else c_ast.BinaryOp(node.op[0], node.lvalue, node.rvalue)
        self.lost = True  # until it is found
        pointer = self.expr.pointer(value)
        if pointer is None or self.names.loose(pointer[0]) or len(self.names.scopes) > 1:
            raise Unsupported("pointer")
        self.lost = False
        return (self.names.pointer(name, ctype, *pointer),)

    def _aggregate(self, ctype: str, init: c_ast.InitList) -> Expr:
        values = [self.expr.read(value) for value in init.exprs]
        if ctype in VECTOR_TYPES and values:
            width = int(ctype[-1]) if ctype[-1].isdigit() else 1
            return Call(f"make_{ctype}", tuple(values + [Const("0")] * (width - len(values))))
        if len(values) != 1 or not infer(Var("?"), {"?": ctype}):
            raise Unsupported("aggregate")
        return values[0]

    def _elements(self, name: str, dims: tuple[int, ...], init: c_ast.InitList, ctype: str) -> tuple[Stmt, ...]:
        """Element-wise assignments for ``T a[..] = {..}``; missing elements are zero."""
        total = 1
        for dim in dims:
            total *= dim
        if total > _MAX_INITIALISERS or ctype in VECTOR_TYPES:
            raise Unsupported("large initialiser")
        flat = _flatten_init(init, dims)
        stmts: list[Stmt] = []
        for position in range(total):
            subscripts: list[Expr] = []
            rest = position
            for dim in reversed(dims):
                subscripts.insert(0, integer(rest % dim))
                rest //= dim
            value = self.expr.read(flat[position]) if position in flat else Const("0")
            stmts.append(Assign(Index(name, tuple(subscripts)), value))
        return tuple(stmts)


def _flatten_init(init: c_ast.InitList, dims: tuple[int, ...]) -> dict[int, c_ast.Node]:
    """Position in row-major order -> value."""
    stride = 1
    for dim in dims[1:]:
        stride *= dim
    found: dict[int, c_ast.Node] = {}
    position = 0
    for value in init.exprs:
        if isinstance(value, c_ast.NamedInitializer):
            raise Unsupported("designated initialiser")
        if isinstance(value, c_ast.InitList):
            if len(dims) == 1:
                raise Unsupported("nested initialiser")
            inner = _flatten_init(value, dims[1:])
            found.update({position + offset: leaf for offset, leaf in inner.items()})
            position += stride
        else:
            found[position] = value
            position += 1
    return found
