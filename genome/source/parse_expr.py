"""pycparser expressions to IR expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pycparser import c_ast

from genome.ir.expr import Binary, Call, Cast, Const, Expr, Index, Member, Select, Unary, Var, integer, walk
from genome.ir.print_functions import PURE
from genome.ir.print_tokens import render, tokenize
from genome.ir.stmt import Body, Stmt
from genome.ir.types import BUILTIN_INDICES, canonical
from genome.source.encode import AUTO, is_constant_name
from genome.source.folding import size_of
from genome.source.names import Names, Unsupported, type_name
from genome.source.parse_call import cuda_call, given_call
from genome.source.parse_effect import assigned, stepped, unasked
from genome.source.parse_group import is_group_call, method, place_in_launch, synchronised
from genome.source.parse_view import ViewReader
from genome.source.parse_walk import between, led, walk_of
from genome.source.surroundings import Surroundings

PutIn = Callable[[str, "Sequence[c_ast.Node]", "ExprReader"], "tuple[Body, Expr]"]
"""Name and arguments of a call -> statements that run before its value is asked for, and the value."""


class ExprReader:
    """Reads expressions; assignments inside of them and helpers run ahead, where they may.

    Attributes:
        pending: Statements that must run before what is read: those of helpers that were put in.
        put_in: Gives the statements and the value of a helper's call; None where nothing may run ahead.
    """

    def __init__(self, names: Names, around: Surroundings) -> None:
        self.names, self.around = names, around
        self.pending: list[Stmt] = []
        self.put_in: PutIn | None = None
        self.views = ViewReader(self)

    def read(self, node: c_ast.Node) -> Expr:
        """The IR expression.

        Raises:
            Unsupported: On method calls, pointers that are not followed, assignments where nothing may run ahead, ...
        """
        match node:
            case c_ast.Constant():
                return Const(node.value)
            case c_ast.ID():
                return self._name(node.name)
            case c_ast.BinaryOp(op="&&" | "||"):
                return Binary(node.op, self.read(node.left), self.in_place(node.right))
            case c_ast.BinaryOp():
                return between(node, self) or Binary(node.op, self.read(node.left), self.read(node.right))
            case c_ast.TernaryOp():
                return Select(self.read(node.cond), self.in_place(node.iftrue), self.in_place(node.iffalse))
            case c_ast.ArrayRef():
                return self._element(node)
            case c_ast.UnaryOp():
                return self._unary(node)
            case c_ast.Cast():
                ctype = type_name(node.to_type, self.names.mangled)
                if ctype.endswith("*") or ctype == AUTO or ctype == "void":
                    raise Unsupported("pointer cast")
                return Cast(canonical(ctype), self.read(node.expr))
            case c_ast.StructRef():
                return self._member(node)
            case c_ast.FuncCall():
                return self._call(node)
            case c_ast.Assignment():
                return assigned(node, self)
            case c_ast.ExprList():
                for part in node.exprs[:-1]:
                    unasked(part, self)
                return self.read(node.exprs[-1])
        raise Unsupported(type(node).__name__)

    def in_place(self, node: c_ast.Node) -> Expr:
        """The expression where nothing may run ahead of it: it may not be evaluated at all, or often.

        Raises:
            Unsupported: As ``read``.
        """
        kept, self.put_in = self.put_in, None
        try:
            return self.read(node)
        finally:
            self.put_in = kept

    def stores(self, node: c_ast.Assignment) -> Body | None:
        """An assignment through a pointer that changed type, where a value cannot say what is written; else None.

        Raises:
            Unsupported: If it does more than setting a value.
        """
        place = self.views.seen(node.lvalue)
        walk = walk_of(node.lvalue, self.names)
        if walk is not None and node.op == "=":
            return (led(node, walk, self),)
        if place is None:
            return None
        if node.op != "=":
            raise Unsupported("update of bits")
        return self.views.store(place, self.read(node.rvalue))

    def target(self, node: c_ast.Node) -> Expr:
        """What an assignment writes: a variable, an element or a member."""
        walk = walk_of(node, self.names)
        expr = Var(walk[1]) if walk is not None else self.read(node)
        fixed = isinstance(expr, Var) and (expr.name in BUILTIN_INDICES or expr.name in self.names.arrays)
        if fixed or not isinstance(expr, (Var, Index, Member)):
            raise Unsupported("assignment target")
        return expr

    def _name(self, name: str) -> Expr:
        local = self.names.find(name)
        if local is not None:
            return Var(self._plain(local))
        if name in self.names.constants:
            return integer(self.names.constants[name])
        if is_constant_name(name):
            return Const("0" if name == "NULL" else name)
        return Var(self._spelled(name))

    def _spelled(self, name: str) -> str:
        """A name that is none of the kernel's variables, in CUDA's words; constants in its template list as numbers."""
        text = self.names.mangled.get(name, name)
        if "<" not in text:
            return text
        parts = []
        for token in tokenize(text):
            if token.text in self.names.constants:
                token = token._replace(text=str(self.names.constants[token.text]))
            elif self.names.find(token.text) is not None:
                raise Unsupported(f"variable {token.text} in a template list")
            parts.append(token)
        return render(parts)

    def _plain(self, name: str) -> str:
        """The name, unless it stands for other variables: what touches an alias stays opaque."""
        known = self.names
        if name in known.aliases or name in known.pointees or name in known.views or name in known.walks:
            raise Unsupported(f"alias {name}")
        return name

    def _unary(self, node: c_ast.UnaryOp) -> Expr:
        if node.op == "sizeof":
            size = size_of(node.expr)
            if size is None:
                raise Unsupported("sizeof")
            return Const(f"{size}ul")
        if node.op == "*":
            return self.dereference(node.expr)
        if node.op in ("-", "!", "~"):
            return Unary(node.op, self.read(node.expr))
        if node.op == "+":
            return self.read(node.expr)
        if node.op in ("++", "--", "p++", "p--"):
            return stepped(node, self)
        raise Unsupported(f"operator {node.op}")

    def dereference(self, node: c_ast.Node) -> Expr:
        """What a pointer leads to.

        Raises:
            Unsupported: If that is not followed.
        """
        pointee = self._pointee(node)
        if pointee is not None:
            return pointee
        place = self.views.seen(c_ast.UnaryOp("*", node))
        if place is not None:
            return self.views.value(place)
        pointer = self.pointer(node)
        if pointer is None:
            raise Unsupported("dereference")
        return Index(pointer[0], (pointer[1],))

    def _pointee(self, node: c_ast.Node) -> Expr | None:
        """The variable that a pointer leads to, if it can be but one."""
        name = self.names.find(node.name) if isinstance(node, c_ast.ID) else None
        return Var(self.names.pointees[name]) if name in self.names.pointees and name is not None else None

    def pointer(self, node: c_ast.Node) -> tuple[str, Expr] | None:
        """(array, offset in elements) of a pointer expression without casts, or None."""
        mark = len(self.pending)
        found = self._led_to(node)
        if found is None:
            del self.pending[mark:]  # of what was read on the way
        return found

    def _led_to(self, node: c_ast.Node) -> tuple[str, Expr] | None:
        zero = integer(0)
        match node:
            case c_ast.ID() if (walk := walk_of(node, self.names)) is not None:
                return (walk[0], Var(walk[1])) if walk[0] else None
            case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--") if (walk := walk_of(node.expr, self.names)) is not None:
                return walk[0], stepped(node, self)
            case c_ast.ID():
                name = self.names.find(node.name)
                return (self._plain(name), zero) if name in self.names.arrays and name is not None else None
            case c_ast.UnaryOp(op="&"):
                inner = self.read(node.expr)
                return (
                    (inner.array, inner.subscripts[0])
                    if isinstance(inner, Index) and len(inner.subscripts) == 1
                    else None
                )
            case c_ast.BinaryOp(op="+" | "-"):
                left = self.pointer(node.left)
                if left is not None:
                    return left[0], plus(left[1], self.read(node.right), node.op)
                right = self.pointer(node.right) if node.op == "+" else None
                return (right[0], plus(self.read(node.left), right[1])) if right is not None else None
        return None

    def _element(self, node: c_ast.ArrayRef) -> Expr:
        place = self.views.seen(node)
        if place is not None:
            return self.views.value(place)
        subscripts: list[Expr] = []
        base: c_ast.Node = node
        while isinstance(base, c_ast.ArrayRef):
            subscripts.insert(0, self.read(base.subscript))
            base = base.name
        pointee = self._pointee(base)
        if pointee is not None and subscripts == [Const("0")]:
            return pointee
        if isinstance(base, c_ast.ID) and walk_of(base, self.names) is None:
            name = self.names.find(base.name) or self.names.mangled.get(base.name, base.name)
            return Index(self._plain(name), tuple(subscripts))
        pointer = self.pointer(base)
        if pointer is None:
            raise Unsupported("subscripted expression")
        return Index(pointer[0], (plus(pointer[1], subscripts[0]), *subscripts[1:]))

    def _member(self, node: c_ast.StructRef) -> Expr:
        if isinstance(node.name, c_ast.ID) and f"{node.name.name}.{node.field.name}" in BUILTIN_INDICES:
            return Var(f"{node.name.name}.{node.field.name}")
        index = place_in_launch(node, self)
        if index is not None:
            return index
        owner = c_ast.UnaryOp("*", node.name) if node.type == "->" else node.name
        place = self.views.seen(owner)
        if place is not None:
            return self.views.part(place, node.field.name)
        base = self.dereference(node.name) if node.type == "->" else self.read(node.name)
        if not isinstance(base, (Var, Index, Member)):
            raise Unsupported("member of an expression")
        return Member(base, node.field.name)

    def _call(self, node: c_ast.FuncCall) -> Expr:
        if isinstance(node.name, c_ast.StructRef):
            return method(node, self)
        if not isinstance(node.name, c_ast.ID):
            raise Unsupported("call of an expression")
        name = self._spelled(node.name.name)
        args = node.args.exprs if node.args else []
        if self.names.find(node.name.name):
            raise Unsupported(f"call of {name}")
        met = synchronised(name, args, self)
        if met is not None:
            return met
        own = cuda_call(name, args, self)
        if own is not None:
            return own
        mark = len(self.pending)
        try:
            return Call(name, self._values(name, args))
        except Unsupported:
            del self.pending[mark:]
        try:
            if self.put_in is None:
                raise Unsupported(f"call of {name}")
            body, value = self.put_in(name, args, self)
        except Unsupported:
            del self.pending[mark:]
            return given_call(name, args, self)
        self.pending += body
        return value

    def _values(self, name: str, args: Sequence[c_ast.Node]) -> tuple[Expr, ...]:
        if name.partition("<")[0].rpartition("::")[2] in self.around.barrier_helpers:
            raise Unsupported(f"barrier in {name}")
        kept = self.around.keeps(name) or is_group_call(name)
        if not kept and any(self.is_place(arg) for arg in args):
            raise Unsupported(f"reference argument of {name}")
        values = tuple(self.read(arg) for arg in args)
        given = (node for value in values for node in walk(value))
        if name not in PURE and any(isinstance(node, Var) and node.name in self.names.arrays for node in given):
            raise Unsupported(f"pointer argument of {name}")
        return values

    def is_place(self, node: c_ast.Node) -> bool:
        """True for what a reference can be bound to."""
        while isinstance(node, (c_ast.ArrayRef, c_ast.StructRef)):
            node = node.name
        if isinstance(node, c_ast.UnaryOp) and node.op == "*":
            return True
        return isinstance(node, c_ast.ID) and self.names.find(node.name) is not None


def plus(left: Expr, right: Expr, op: str = "+") -> Expr:
    """``left + right`` without adding a zero."""
    if left == Const("0"):
        return right if op == "+" else Unary("-", right)
    return left if right == Const("0") else Binary(op, left, right)
