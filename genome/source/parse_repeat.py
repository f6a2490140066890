"""pycparser loops that nothing counts to IR loops that breaks end."""

from __future__ import annotations

from collections.abc import Callable

from pycparser import c_ast

from genome.ir.expr import Const, Expr, Var
from genome.ir.stmt import Assign, Body, Break, Decl, If, Opaque, Repeat, flatten
from genome.source.inline import out_of_order
from genome.source.jumps import UNSEEN, Jump, holds, jumps, negate, settle, turned
from genome.source.names import Names, Unsupported
from genome.source.parse_expr import ExprReader
from genome.source.waiting import waits

_BREAK, _CONTINUE, _RETURN = "break", "continue", "return"
_MOST = 64  # jumps: behind each of them statements stand one condition deeper


class RepeatReader:
    """Reads loops that end by a condition or by jumps.

    ``while (c) body`` turns as long as c holds, so it is a Repeat of ``if (c) body else break;``. A jump becomes a
    condition around what it skips; where it skips parts of several blocks, a flag says that it was taken. A ``return``
    leaves the loop with a flag, and the kernel behind it.

    Args:
        names: Scopes and types.
        expr: Reads expressions.
        item: Reads a statement.
        block: Reads a body; jumps of the given kind lead to its end.
    """

    def __init__(
        self,
        names: Names,
        expr: ExprReader,
        item: Callable[[c_ast.Node, int | None], Body],
        block: Callable[[c_ast.Node | None, str], Body],
    ) -> None:
        self.names, self.expr, self.item, self.block = names, expr, item, block

    def read(self, node: c_ast.Node) -> Body:
        """The statements of a ``for``, ``while`` or ``do while``; a jump out of the kernel stands behind the loop.

        Raises:
            Unsupported: If its condition has an effect, or what it runs through is out of reach.
        """
        with self.names.scope():
            before = self._items(node.init) if isinstance(node, c_ast.For) else ()
            ahead, condition = self._condition(node.cond)
            body = self.block(node.stmt, "")
            if sum(isinstance(stmt, Jump) for stmt in flatten(body)) > _MOST:
                raise Unsupported("loop")
            body = settle(body, _CONTINUE, self.names)
            step = self._items(node.next) if isinstance(node, c_ast.For) else ()
        if any(isinstance(stmt, Opaque) for stmt in (*before, *ahead, *step)) or holds(body, UNSEEN):
            raise Unsupported("loop")
        if isinstance(node, c_ast.DoWhile) and _is(condition, "0", "false"):
            return settle(body, _BREAK, self.names)  # a block that is left early
        left = self.names.fresh("left", "int") if holds(body, _RETURN) else ""
        body = turned(body, _RETURN, (Assign(Var(left), Const("1")), Jump(_BREAK)))
        loop = Repeat(self._turn(node, ahead, condition, body, step))
        unseen = any(isinstance(stmt, Opaque) and stmt.barrier for stmt in flatten(loop.body))  # it may leave the loop
        if unseen or jumps(loop.body) or waits(loop):
            raise Unsupported("loop")
        if not left:
            return (*before, loop)
        return (*before, Decl(left, "int", init=Const("0")), loop, If(Var(left), (Jump(_RETURN),)))

    def _turn(self, node: c_ast.Node, ahead: Body, condition: Expr, body: Body, step: Body) -> Body:
        line = node.cond.coord.line if node.cond is not None and node.cond.coord else 0
        leave = If(negate(condition, self.names.types), (Jump(_BREAK, line=line),), line=line)
        test = ahead if _is(condition, "1", "true") else (*ahead, leave)
        if isinstance(node, c_ast.DoWhile):
            return settle((*body, *test), _BREAK, self.names, (Break(),))
        if ahead or not test:
            return settle((*test, *body, *step), _BREAK, self.names, (Break(),))
        inner = settle((*body, *step), _BREAK, self.names, (Break(),))
        return (If(condition, inner, (Break(line=line),), line=line),)

    def _items(self, node: c_ast.Node | None) -> Body:
        match node:
            case None:
                return ()
            case c_ast.DeclList(decls=parts) | c_ast.ExprList(exprs=parts):
                return tuple(stmt for part in parts for stmt in self.item(part, None))
        return self.item(node, None)

    def _condition(self, node: c_ast.Node | None) -> tuple[Body, Expr]:
        """(what runs before each test, the condition)."""
        if node is None:
            return (), Const("1")
        outer, self.expr.pending = self.expr.pending, []
        try:
            condition = self.expr.read(node)
            ahead = tuple(self.expr.pending)
        finally:
            self.expr.pending = outer
        if ahead and out_of_order(ahead, (If(condition, ()),)):
            raise Unsupported("order of calls")
        return ahead, condition


def _is(condition: Expr, *texts: str) -> bool:
    return isinstance(condition, Const) and condition.text in texts
