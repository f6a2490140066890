"""pycparser's ``switch`` to conditions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from pycparser import c_ast

from genome.ir.expr import Binary, Expr, Var
from genome.ir.stmt import Body, Decl, If, Space
from genome.ir.types import INTEGER_TYPES, infer
from genome.source.jumps import UNSEEN, holds, settle
from genome.source.names import Names, Unsupported
from genome.source.parse_expr import ExprReader

_MOST = 32  # labels: each is compared with


class SwitchReader:
    """Reads a ``switch`` as a chain of conditions on its value, one for each run of labels.

    A case that falls through is followed by a copy of what it falls into.

    Args:
        names: Scopes and types.
        expr: Reads expressions.
        block: Reads a body.
    """

    def __init__(self, names: Names, expr: ExprReader, block: Callable[[c_ast.Node | None, str], Body]) -> None:
        self.names, self.expr, self.block = names, expr, block

    def read(self, node: c_ast.Switch) -> Body:
        """The statements of the ``switch``.

        Raises:
            Unsupported: If its value is no whole number, statements stand in front of its labels, or a case declares
                what another one may use.
        """
        cases = node.stmt.block_items or [] if isinstance(node.stmt, c_ast.Compound) else []
        if not 0 < len(cases) <= _MOST or not all(isinstance(case, (c_ast.Case, c_ast.Default)) for case in cases):
            raise Unsupported("switch")
        value = self.expr.read(node.cond)
        ctype = infer(value, self.names.types)
        declared = any(isinstance(stmt, c_ast.Decl) for case in cases[:-1] for stmt in case.stmts or [])
        if ctype not in INTEGER_TYPES or declared:
            raise Unsupported("switch")
        chosen = self.names.fresh("chosen", ctype)
        chain: Body = ()
        for labels in reversed(_runs(cases)):
            if any(isinstance(cases[at], c_ast.Default) for at in labels):
                chain = self._body(cases, labels[-1])  # whatever stands behind it in the source has a value of its own
        for labels in reversed(_runs(cases)):
            if not any(isinstance(cases[at], c_ast.Default) for at in labels):
                tests = [self._test(chosen, cases[at]) for at in labels]
                line = cases[labels[0]].coord.line if cases[labels[0]].coord else 0
                chain = (If(_any(tests), self._body(cases, labels[-1]), chain, line=line),)
        return (Decl(chosen, ctype, (), value, Space.PRIVATE, True), *chain)

    def _body(self, cases: Sequence[c_ast.Node], start: int) -> Body:
        """What runs from a label on."""
        found: list[c_ast.Node] = []
        for case in cases[start:]:
            found += case.stmts or []
            if _ends(found):
                break
        body = self.block(c_ast.Compound(found), "")
        if holds(body, UNSEEN):
            raise Unsupported("switch")  # text in it may leave it
        return settle(body, "break", self.names)

    def _test(self, chosen: str, case: c_ast.Node) -> Expr:
        label = self.expr.in_place(case.expr)
        if infer(label, self.names.types) not in INTEGER_TYPES:
            raise Unsupported("switch")
        return Binary("==", Var(chosen), label)


def _runs(cases: Sequence[c_ast.Node]) -> list[list[int]]:
    """Labels that stand for the same statements, by their positions."""
    runs: list[list[int]] = [[]]
    for position, case in enumerate(cases):
        runs[-1].append(position)
        if case.stmts:
            runs.append([])
    return [run for run in runs if run]


def _ends(stmts: Sequence[c_ast.Node]) -> bool:
    """True if the last statement leaves the switch."""
    last = stmts[-1] if stmts else None
    if isinstance(last, c_ast.Compound):
        return _ends(last.block_items or [])
    return isinstance(last, (c_ast.Break, c_ast.Return, c_ast.Continue))


def _any(tests: Sequence[Expr]) -> Expr:
    return reduce(lambda left, right: Binary("||", left, right), tests)
