"""Names while a function is read: what they are called in the IR, and what they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from pycparser import c_ast

from genome.ir.expr import Binary, Const, Expr, Index, Var, integer
from genome.ir.stmt import Decl
from genome.ir.types import canonical
from genome.source.encode import AUTO


class Unsupported(Exception):
    """The construct has no place in the IR; its statement becomes opaque."""


@dataclass(frozen=True)
class Place:
    """A place in an array, and the type as which it is seen.

    Attributes:
        array: Its array.
        leading: Subscripts in front of the last one.
        offset: The last subscript, in elements of the array.
        view: Type of what stands there; empty for the array's own.
    """

    array: str
    leading: tuple[Expr, ...]
    offset: Expr
    view: str = ""

    def at(self, lane: int) -> Index:
        """The element so many behind the first."""
        last = self.offset if not lane else Binary("+", self.offset, integer(lane))
        return Index(self.array, (*self.leading, Const(str(lane)) if self.offset == Const("0") else last))


@dataclass
class Names:
    """Scopes and types while a kernel is read.

    Attributes:
        scopes: Source name -> unique name, innermost scope last.
        types: Unique name -> canonical type (of an element, for arrays; of the pointer, for pointers).
        arrays: Unique names that are arrays or pointers.
        constants: Source name -> value of the integer constants in sight.
        mangled: Identifiers that stand for CUDA text.
        used: Names that may not be given again.
        moved: Source names of pointers that are set again after their declaration, out of a straight line.
        straight: Source names of those that are set again in a straight line.
        pointers: Unique name -> type of each pointer: ``const float*``.
        reserved: Names that the kernel itself uses, while a helper's are read.
        ranks: Number of dimensions of arrays with more than one.
        views: Unique name of a pointer that changed type -> where it points to.
        walks: Unique name of a pointer that is set again -> its array, and the variable that holds its offset there.
        shared: Unique names of variables and arrays that a block shares.
        sees: True if pointers of these two kinds are followed.
        pointees: Unique name of a pointer -> the one variable that it leads to.
        aliases: Unique names of references, pointers and closures that opaque text declares, with what they may reach.
    """

    types: dict[str, str]
    arrays: set[str]
    constants: dict[str, int]
    mangled: Mapping[str, str]
    used: set[str]
    moved: frozenset[str] = frozenset()
    straight: frozenset[str] = frozenset()
    pointers: dict[str, str] = field(default_factory=dict)
    reserved: frozenset[str] = frozenset()
    ranks: dict[str, int] = field(default_factory=dict)
    views: dict[str, Place] = field(default_factory=dict)
    walks: dict[str, tuple[str, str]] = field(default_factory=dict)
    sees: bool = True
    shared: set[str] = field(default_factory=set)
    pointees: dict[str, str] = field(default_factory=dict)
    aliases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    scopes: list[dict[str, str]] = field(default_factory=lambda: [{}])

    def visible(self) -> set[str]:
        """Unique names in sight."""
        return {unique for scope in self.scopes for unique in scope.values()}

    def find(self, name: str) -> str | None:
        """The unique name of a local, or None for anything that the kernel does not declare."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A scope of its own for the names that are declared meanwhile."""
        self.scopes.append({})
        try:
            yield
        finally:
            self.scopes.pop()

    def declare(self, name: str, ctype: str, array: bool) -> str:
        """Gives a local its unique name: its own, else ``name_2``, ``name_3``, ..."""
        unique, number = name, 2
        while unique in self.used or unique in self.reserved:
            unique, number = f"{name}_{number}", number + 1
        self.used.add(unique)
        self.constants.pop(name, None)  # the local hides a constant of that name
        self.scopes[-1][name] = unique
        self.types[unique] = ctype
        if array:
            self.arrays.add(unique)
        return unique

    def rank(self, array: str) -> int:
        """Number of subscripts of an element."""
        return self.ranks.get(array, 1)

    def fresh(self, base: str, ctype: str) -> str:
        """A unique name for a variable that the source does not have: no word of it means this one."""
        name, number = base, 2
        while name in self.used or name in self.reserved or name in self.constants:
            name, number = f"{base}_{number}", number + 1
        self.used.add(name)
        self.types[name] = ctype
        return name

    def loose(self, array: str) -> bool:
        """True for a name that may lead to another array later on."""
        return array in self.moved and array not in self.walks

    def walk(self, name: str, array: str, offset: Expr | None) -> Decl:
        """Declares the offset of a pointer that moves in an array; the array is empty where it is not known yet."""
        at = self.fresh(f"{name}_at", "long long")
        self.walks[name] = array, at
        return Decl(at, "long long", (), offset)

    def pointer(self, name: str, ctype: str, base: str, offset: Expr) -> Decl:
        """Declares a pointer into an array: ``array + offset`` for the normaliser to put into its uses."""
        unique = self.declare(name, canonical(ctype)[:-1], True)
        self.pointers[unique] = ctype
        self.ranks[unique] = self.rank(base)
        value: Expr = Var(base) if offset == Const("0") else Binary("+", Var(base), offset)
        return Decl(unique, ctype, (), value)


def type_name(node: c_ast.Node, mangled: Mapping[str, str]) -> str:
    """C type of a declarator or type name: ``const float*``, ``unsigned int``."""
    if isinstance(node, c_ast.Typename):
        return type_name(node.type, mangled)
    if isinstance(node, c_ast.PtrDecl):
        return type_name(node.type, mangled) + "*"
    if isinstance(node, c_ast.TypeDecl):
        if not isinstance(node.type, c_ast.IdentifierType):
            raise Unsupported("struct type")
        base = " ".join(mangled.get(word, word) for word in node.type.names)
        quals = [qual for qual in node.quals or [] if qual in ("const", "volatile")]
        return " ".join([*quals, canonical(base) if base != AUTO else AUTO])
    raise Unsupported(type(node).__name__)
