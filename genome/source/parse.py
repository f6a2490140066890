"""pycparser statements to IR statements: one body of a thread, every declared name unique."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pycparser import c_ast

from genome.ir.expr import Call, Cast, Const, Expr, Var
from genome.ir.stmt import (
    Assign,
    Barrier,
    Body,
    Decl,
    ExprStmt,
    If,
    Opaque,
    Stmt,
    flatten,
)  # fmt: skip
from genome.ir.types import infer
from genome.source.barriers import synchronises
from genome.source.encode import OPAQUE, Encoded
from genome.source.escapes import escapes
from genome.source.inline import MAX_TOKENS, Inliner, out_of_order
from genome.source.jumps import UNSEEN, Jump, jumps, settle, structure
from genome.source.loops import loop_variables
from genome.source.moves import set_names, straight_moves
from genome.source.names import Names, Unsupported
from genome.source.opaque import OpaqueMaker
from genome.source.parse_decl import DeclReader
from genome.source.parse_effect import unasked
from genome.source.parse_expr import ExprReader
from genome.source.parse_loop import LoopReader, decimal
from genome.source.parse_repeat import RepeatReader
from genome.source.parse_switch import SwitchReader
from genome.source.surroundings import Surroundings


@dataclass(frozen=True)
class Parsed:
    """What the body of a kernel says.

    Attributes:
        body: Statements, shared arrays left out.
        shared: Shared arrays (and dynamic ones, with the single extent 0).
        types: Type of every name.
        arrays: Names of arrays and pointers.
        put_in: True if statements of helpers stand in the body.
    """

    body: Body
    shared: tuple[Decl, ...]
    types: Mapping[str, str]
    arrays: frozenset[str]
    put_in: bool = False


def read_body(block: c_ast.Compound, encoded: Encoded, around: Surroundings) -> Parsed:
    """Reads the function body.

    Args:
        block: Its compound statement.
        encoded: What turns encoded names back.
        around: What it is read in.
    """
    able = {token.text for region in encoded.regions for token in region} | set_names(block)
    around = replace(around, moves={name: count for name, count in around.moves.items() if name in able})
    names_ = _names(encoded, around, straight_moves(block, around.moves))
    while True:
        moving = [name for name in around.pointers if name in names_.moved and names_.sees]
        walks = [names_.walk(name, name, Const("0")) for name in moving]
        reader = _Reader(names_, encoded, around, block, [MAX_TOKENS])
        body = (*walks, *reader.kernel(block.block_items or []))
        hidden = any(not (names_.views.keys() | names_.walks.keys()).isdisjoint((*stmt.reads, *stmt.writes))
                     for stmt in flatten(body) if isinstance(stmt, Opaque))  # fmt: skip
        if not reader.decl.lost and not hidden:
            break
        # where one of them goes is not known, or text uses it: then none of that kind is followed
        straight = frozenset() if reader.decl.lost else names_.straight
        names_ = replace(_names(encoded, around, straight), sees=names_.sees and not hidden)
    put_in = reader.budget[0] < MAX_TOKENS
    return Parsed(body, tuple(reader.decl.shared), names_.types, frozenset(names_.arrays), put_in)


def _names(encoded: Encoded, around: Surroundings, straight: frozenset[str]) -> Names:
    constants = {name: value for name, value in around.constants.items() if name not in around.parameters}
    return Names(
        types={**around.parameters, "warpSize": "int"},
        arrays=set(around.pointers),
        constants=constants,
        mangled={**around.typedefs, **encoded.mangled},
        used=set(around.parameters) | around.taken,
        moved=frozenset(around.moves) - straight,
        straight=straight,
        pointers=dict(around.pointers),
        scopes=[{name: name for name in around.parameters}],
    )


class _Marks(NamedTuple):
    """What was declared before a statement."""

    shared: int
    used: set[str]
    scopes: int
    scope: dict[str, str]


class _Reader:
    """Reads statements; what the IR cannot hold becomes Opaque."""

    def __init__(
        self,
        names_: Names,
        encoded: Encoded,
        around: Surroundings,
        kernel: c_ast.Compound,
        budget: list[int],
        depth: int = 0,
        result: str = "",
    ) -> None:
        self.names, self.budget, self.depth, self.result = names_, budget, depth, result
        self.expr = ExprReader(names_, around)
        self.decl = DeclReader(names_, self.expr, loop_variables(kernel))
        self.opaque = OpaqueMaker(names_, encoded, around)
        self.expr.put_in = Inliner(names_, around, self._helper, budget, depth).put_in
        self.loops = LoopReader(names_, self.expr, self.decl.skipped, self.block, kernel)
        self.repeats = RepeatReader(names_, self.expr, self._item, self.loops.inside(self.block))
        self.uncounted: set[int] = set()
        self.switches = SwitchReader(names_, self.expr, self.block)

    # ---- blocks

    def kernel(self, nodes: Sequence[c_ast.Node]) -> Body:
        """The outermost block: early returns become guards; a return that cannot makes its statement opaque."""
        parts = [(node, self._item(node, unroll)) for node, unroll in _with_pragmas(nodes)]
        rest = deque[Stmt]()
        for node, part in reversed(parts):
            own = tuple(stmt for stmt in part if stmt != Jump(UNSEEN))  # no loop is left for it to leave
            if not jumps(own):
                rest.extendleft(reversed(own))
                continue
            joined = settle(own + tuple(rest), "return", self.names)
            if jumps(joined):
                rest.appendleft(self.opaque.node(node))
            else:
                rest = deque(joined)
        return tuple(rest)

    def block(self, node: c_ast.Node | None, kind: str = "") -> Body:
        """A nested statement or block in a scope of its own."""
        items = node.block_items or [] if isinstance(node, c_ast.Compound) else [] if node is None else [node]
        with self.names.scope():
            body = tuple(s for item, unroll in _with_pragmas(items) for s in self._item(item, unroll))
        return structure(body, kind, self.names.types) if kind else body

    def _item(self, node: c_ast.Node, unroll: int | None) -> Body:
        """The statements of one node, or one Opaque when any part of it is out of reach."""
        marks = self._marks()
        outer, self.expr.pending = self.expr.pending, []
        try:
            body = self._statement(node, unroll)
            before = tuple(self.expr.pending)
            if before and out_of_order(before, body):
                raise Unsupported("order of calls")
            return _placed((*before, *body), node)
        except Unsupported:
            self._back_to(marks)
            return _placed(self._opaque_with_jumps(node), node)
        finally:
            self.expr.pending = outer

    def _marks(self) -> _Marks:
        return _Marks(len(self.decl.shared), set(self.names.used), len(self.names.scopes), dict(self.names.scopes[-1]))

    def _back_to(self, marks: _Marks) -> None:
        """Forgets what was declared since."""
        del self.decl.shared[marks.shared :]
        del self.names.scopes[marks.scopes :]
        self.names.used.clear()
        self.names.used.update(marks.used)
        self.names.scopes[-1].clear()
        self.names.scopes[-1].update(marks.scope)

    def _helper(
        self, names_: Names, encoded: Encoded, around: Surroundings, block: c_ast.Compound, result: str
    ) -> Body:
        """The statements of a helper that is put in."""
        reader = _Reader(names_, encoded, around, block, self.budget, self.depth + 1, result)
        body = tuple(s for node, unroll in _with_pragmas(block.block_items or []) for s in reader._item(node, unroll))
        if reader.decl.shared or reader.decl.lost:
            raise Unsupported("helper")
        return body

    # ---- statements

    def _statement(self, node: c_ast.Node, unroll: int | None) -> Body:
        match node:
            case c_ast.Decl():
                return self.decl.read(node)
            case c_ast.Assignment():
                return self._assignment(node)
            case c_ast.UnaryOp(op="p++" | "++" | "p--" | "--"):
                return (Assign(self.expr.target(node.expr), Const("1"), "+=" if "+" in node.op else "-="),)
            case c_ast.If():
                return (If(self.expr.read(node.cond), self.block(node.iftrue), self.block(node.iffalse)),)
            case c_ast.For() | c_ast.While() | c_ast.DoWhile():
                return self._loop(node, unroll)
            case c_ast.Switch():
                return self.switches.read(node)
            case c_ast.Compound():
                return self.block(node)
            case c_ast.FuncCall():
                return self._call(node)
            case c_ast.ExprList():
                return tuple(stmt for part in node.exprs for stmt in self._item(part, None))
            case c_ast.Return(expr=None):
                return (Jump("return"),)
            case c_ast.Return() if self.result:
                return (Assign(Var(self.result), self.expr.read(node.expr)), Jump("return"))
            case c_ast.Break():
                return (Jump("break"),)
            case c_ast.Continue():
                return (Jump("continue"),)
            case c_ast.EmptyStatement() | c_ast.Pragma():
                return ()
            case c_ast.Cast(to_type=c_ast.Typename(type=c_ast.TypeDecl(type=c_ast.IdentifierType(names=["void"])))):
                if not isinstance(node.expr, c_ast.ID):  # (void)unused;
                    unasked(node.expr, self.expr)
                return ()
        raise Unsupported(type(node).__name__)

    def _loop(self, node: c_ast.Node, unroll: int | None) -> Body:
        """A counted loop where it is one; which it is not stays known, since bodies are read again inside of others."""
        if id(node) not in self.uncounted and not isinstance(node, c_ast.DoWhile):
            marks, budget = self._marks(), self.budget[0]
            try:
                return self.loops.read(node, unroll)
            except Unsupported:
                self._back_to(marks)
                self.budget[0] = budget
                self.uncounted.add(id(node))
        return (*self.decl.missing(node), *self.repeats.read(node))

    def _assignment(self, node: c_ast.Assignment) -> Body:
        if isinstance(node.lvalue, c_ast.ID) and node.lvalue.name in self.names.straight:
            moved = self.decl.move(node)
            if moved is not None:
                return moved
        stored = self.expr.stores(node)
        if stored is not None:
            return stored
        target = self.expr.target(node.lvalue)
        if isinstance(node.rvalue, c_ast.Assignment):
            return self._chain(target, node)
        return (Assign(target, self.expr.read(node.rvalue), node.op),)

    def _chain(self, target: Expr, node: c_ast.Assignment) -> Body:
        """``a = b = e``: e goes to b, then b's value to a."""
        mark = len(self.expr.pending)
        inner = self._assignment(node.rvalue)
        last = inner[-1]
        if node.op == "=" and isinstance(last, Assign) and last.op == "=":
            if isinstance(last.target, Var):
                return (*inner, Assign(target, last.target))
            same = infer(target, self.names.types) == infer(last.target, self.names.types) != ""
            if same and isinstance(last.value, Const):
                return (*inner, Assign(target, last.value))
        del self.expr.pending[mark:]  # e is read again: what it does is done once
        return (Assign(target, self.expr.read(node.rvalue), node.op),)

    def _call(self, node: c_ast.FuncCall) -> Body:
        if synchronises(node, self.names):
            return (Barrier(),)
        if isinstance(node.name, c_ast.ID) and node.name.name == OPAQUE:
            return (self.opaque.region(int(node.args.exprs[0].value)),)
        value = self.expr.read(node)
        value = value.operand if isinstance(value, Cast) else value
        return (ExprStmt(value),) if isinstance(value, Call) else ()  # a helper that was put in did its work

    # ---- opaque text

    def _opaque_with_jumps(self, node: c_ast.Node) -> Body:
        declared = self.decl.missing(node)
        return (*declared, self.opaque.node(node), *((Jump(UNSEEN),) if escapes(node) else ()))


def _placed(body: Body, node: c_ast.Node) -> Body:
    """The statements of a node, on its line where they have none of their own."""
    line = node.coord.line if node.coord else 0
    return tuple(stmt if stmt.line else replace(stmt, line=line) for stmt in body)


def _with_pragmas(nodes: Sequence[c_ast.Node]) -> Iterator[tuple[c_ast.Node, int | None]]:
    """Each statement with the unrolling that a pragma in front of it asks for."""
    unroll: int | None = None
    for node in nodes:
        if isinstance(node, c_ast.Pragma):
            words = (node.string or "").split()
            if words[:1] == ["unroll"]:
                unroll = decimal(Const(words[1])) if len(words) > 1 else 0
            continue
        yield node, unroll
        unroll = None
