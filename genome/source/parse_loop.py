"""pycparser loops to IR loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from pycparser import c_ast

from genome.ir.expr import Binary, Call, Cast, Const, Expr, Index, Member, Var, integer, names, walk
from genome.ir.print_functions import PURE
from genome.ir.stmt import Assign, Body, Decl, Loop, Opaque, Space, Stmt, flatten, written_names
from genome.ir.types import INTEGER_TYPES, canonical, infer
from genome.source.axes import WIDE_INTEGERS
from genome.source.counted import at_turn, literal, turns
from genome.source.encode import AUTO
from genome.source.escapes import leaves
from genome.source.jumps import jumps
from genome.source.loops import FIRST, TURN, LoopHead, Variable, for_head, identifiers, while_head
from genome.source.names import Names, Unsupported
from genome.source.parse_expr import ExprReader


@dataclass(frozen=True)
class _Outside:
    """A variable of a loop as it is known in front of it.

    Attributes:
        ctype: Canonical type.
        first: First value.
        outer: The variable outside of the loop, "" if the loop declares it.
        ends: True if something asks for the last value.
    """

    ctype: str
    first: Expr
    outer: str
    ends: bool


@dataclass(frozen=True)
class _Inside:
    """A variable of a loop as its body knows it: its unique name there, and how it changes."""

    name: str
    step: str
    by: Expr
    outside: _Outside

    @property
    def first(self) -> Expr:
        return self.outside.first


class LoopReader:
    """Reads loops.

    Args:
        names: Scopes and types.
        expr: Reads expressions.
        private: Name -> type of the variables that are declared elsewhere, and that every loop over them sets.
        block: Reads a body; jumps of the given kind lead to its end.
        kernel: The whole body.
    """

    def __init__(
        self,
        names: Names,
        expr: ExprReader,
        private: Mapping[str, str],
        block: Callable[[c_ast.Node | None, str], Body],
        kernel: c_ast.Compound,
    ) -> None:
        self.names, self.expr, self.private, self.block = names, expr, private, block
        self.uses = Counter(identifiers(kernel))
        self.depth = 0

    def inside(self, block: Callable[[c_ast.Node | None, str], Body]) -> Callable[[c_ast.Node | None, str], Body]:
        """``block`` for the body of another loop: what a loop in it leaves behind, its next turn may ask for."""

        def read(node: c_ast.Node | None, jump: str) -> Body:
            self.depth += 1
            body = block(node, jump)
            self.depth -= 1
            return body

        return read

    def read(self, node: c_ast.For | c_ast.While, unroll: int | None) -> Body:
        """The statements of a ``for``, or of a ``while`` that steps at its end.

        Raises:
            Unsupported: If it is not counted.
        """
        if isinstance(node, c_ast.For):
            head = for_head(node, self.names.constants, self.names.mangled)
        else:
            head, unroll = while_head(node, self.names.constants), None
        if head is None or leaves(node.stmt):
            raise Unsupported("loop")
        jump = "continue" if isinstance(node, c_ast.For) else ""
        uses = Counter(identifiers(node))
        outside = [self._outside(variable, head, uses) for variable in head.variables]
        with self.names.scope():
            found = [self._inside(variable, known) for variable, known in zip(head.variables, outside, strict=True)]
            bound = self.expr.in_place(head.bound)
            body = self.inside(self.block)(head.body, jump)
            if _is_plain(found, head.op):
                self._check(found, bound, body, WIDE_INTEGERS if found[0].outside.ends else INTEGER_TYPES)
                return self._plain(found[0], head.op, bound, body, unroll)
            self._check(found, bound, body, WIDE_INTEGERS)
            return self._by_turns(found, head.op, bound, body, unroll)

    def _plain(self, main: _Inside, op: str, bound: Expr, body: Body, unroll: int | None) -> Body:
        """A loop over the variable itself."""
        before: tuple[Decl, ...] = ()
        if main.outside.ends:
            before, (main,) = self._kept([main])
        upper = increment(bound) if op == "<=" else bound
        step = literal(main.by) or 1
        loop = Loop(main.name, main.first, upper, body, step, unroll=unroll, ctype=main.outside.ctype)
        if not main.outside.ends:
            return (loop,)
        return (*before, loop, _last(main, self._turns(main, op, bound)))

    def _by_turns(self, found: Sequence[_Inside], op: str, bound: Expr, body: Body, unroll: int | None) -> Body:
        """A loop over the number of the turn, the variables computed from it."""
        before, variables = self._kept(found)
        main = variables[0]
        count = self._turns(main, op, bound)
        turn = self.names.fresh(f"{main.name}{TURN}", main.outside.ctype)
        values = tuple(
            Decl(each.name, each.outside.ctype, (), _at(each, Var(turn)), Space.PRIVATE, True) for each in variables
        )
        loop = Loop(turn, Const("0"), count, values + body, unroll=unroll, ctype=main.outside.ctype)
        return (*before, loop, *(_last(each, count) for each in variables if each.outside.ends))

    def _turns(self, main: _Inside, op: str, bound: Expr) -> Expr:
        return turns(main.first, op, bound, main.step, main.by, main.outside.ctype, self._kinds())

    def _kept(self, found: Sequence[_Inside]) -> tuple[tuple[Decl, ...], list[_Inside]]:
        """The first values as variables that stay the same while the loop runs, as far as they are no literals."""
        before: list[Decl] = []
        kept: list[_Inside] = []
        for each in found:
            if literal(each.first) is None:
                ctype = each.outside.ctype
                name = self.names.fresh(f"{each.name}{FIRST}", ctype)
                before.append(Decl(name, ctype, (), each.first, Space.PRIVATE, True))
                each = replace(each, outside=replace(each.outside, first=Var(name)))
            kept.append(each)
        return tuple(before), kept

    def _outside(self, variable: Variable, head: LoopHead, uses: Mapping[str, int]) -> _Outside:
        name, first = variable.name, variable.first
        if first is not None and {each.name for each in head.variables} & set(identifiers(first)):
            raise Unsupported("loop")
        outer = "" if variable.ctype else self.names.find(name) or ""
        ctype = variable.ctype or self.names.types.get(outer) or self.private.get(name, "")
        declared = bool(variable.ctype or (first is not None and name in self.private))
        if not declared and (not outer or not ctype or outer in self.names.arrays or outer in self.names.aliases):
            raise Unsupported("loop")
        value = Var(outer) if first is None else self.expr.read(first)
        kinds = self._kinds()
        if ctype == AUTO:
            ctype = infer(value, kinds) or "int"
        if infer(value, kinds) not in INTEGER_TYPES:
            value = Cast(canonical(ctype), value)
        over = self.uses[name] == uses[name] and (first is not None or not self.depth)
        return _Outside(canonical(ctype), value, outer, bool(outer) and not over)

    def _inside(self, variable: Variable, outside: _Outside) -> _Inside:
        name = self.names.declare(variable.name, outside.ctype, False)
        return _Inside(name, variable.step.op, self.expr.in_place(variable.step.by), outside)

    def _check(self, found: Sequence[_Inside], bound: Expr, body: Body, allowed: frozenset[str]) -> None:
        """Raises Unsupported unless nothing in the body changes how often it turns."""
        written = set(written_names(body))
        outer = {each.outside.outer for each in found}
        own = {each.name for each in found} | outer
        changing = {decl.name for decl in flatten(body) if isinstance(decl, Decl)} | written | own
        fixed = [bound, *(each.by for each in found)]
        if jumps(body) or own & written or any(changing & set(names(expr)) for expr in fixed):
            raise Unsupported("loop")
        if any(outer & set(stmt.reads) for stmt in flatten(body) if isinstance(stmt, Opaque)):
            raise Unsupported("loop")  # through an alias
        if not all(_is_pure(expr) for expr in fixed) or any(_is_memory(each.by) for each in found):
            raise Unsupported("loop")
        kinds = self._kinds()
        whole = all(infer(expr, kinds) in INTEGER_TYPES for expr in fixed)
        if not whole or not {each.outside.ctype for each in found} <= allowed:
            raise Unsupported("loop over numbers that are not whole")

    def _kinds(self) -> dict[str, str]:
        return {**dict.fromkeys(self.names.constants, "int"), **self.names.types}


def _is_plain(found: Sequence[_Inside], op: str) -> bool:
    """True for one variable that grows by a constant."""
    main, step = found[0], literal(found[0].by)
    return len(found) == 1 and op in ("<", "<=") and main.step == "+" and step is not None and step > 0


def _at(variable: _Inside, turn: Expr) -> Expr:
    return at_turn(variable.first, variable.step, variable.by, turn)


def _last(variable: _Inside, count: Expr) -> Stmt:
    """The variable behind the loop."""
    if variable.step == ">>" and variable.outside.ctype != "int":
        raise Unsupported("loop")  # all bits may be shifted out
    return Assign(Var(variable.outside.outer), _at(variable, count))


def increment(expr: Expr) -> Expr:
    """``expr + 1``, folded where the end of the expression is a literal."""
    value = decimal(expr)
    if value is not None:
        return integer(value + 1)
    if isinstance(expr, Binary) and expr.op == "-":
        value = decimal(expr.right)
        if value == 1:
            return expr.left
        if value:
            return Binary("-", expr.left, integer(value - 1))
    return Binary("+", expr, integer(1))


def decimal(expr: Expr) -> int | None:
    """Value of a literal of type int, decimal or octal; None for any other expression."""
    return expr.value if isinstance(expr, Const) and expr.text.isdecimal() else None


def _is_pure(expr: Expr) -> bool:
    return all(node.function in PURE for node in walk(expr) if isinstance(node, Call))


def _is_memory(expr: Expr) -> bool:
    return any(isinstance(node, (Index, Member)) for node in walk(expr))
