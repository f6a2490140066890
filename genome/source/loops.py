"""Counted loops among pycparser's ``for`` statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pycparser import c_ast

from genome.source.parse_expr import Unsupported, constant, type_name


@dataclass(frozen=True)
class LoopHead:
    """``for (ctype name = lower; name < upper; name += step)``.

    Attributes:
        name: Loop variable.
        ctype: Its type, "" when it was declared before the loop.
        lower: First value.
        upper: Bound.
        inclusive: True for ``<=``.
        step: A positive constant.
    """

    name: str
    ctype: str
    lower: c_ast.Node
    upper: c_ast.Node
    inclusive: bool
    step: int


def loop_head(
    node: c_ast.For, constants: Mapping[str, int], mangled: Mapping[str, str], loop_only: frozenset[str]
) -> LoopHead | None:
    """The head of a counted loop that runs upwards by a positive constant, or None."""
    start = _start(node.init, mangled, loop_only)
    if start is None or not isinstance(node.cond, c_ast.BinaryOp):
        return None
    name, ctype, lower = start
    op, left, right = node.cond.op, node.cond.left, node.cond.right
    if _is_name(right, name):
        op, left, right = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(op, op), right, left
    step = _step(node.next, name, constants)
    if op not in ("<", "<=") or not _is_name(left, name) or step is None or step <= 0:
        return None
    return LoopHead(name, ctype, lower, right, op == "<=", step)


def _start(
    init: c_ast.Node | None, mangled: Mapping[str, str], loop_only: frozenset[str]
) -> tuple[str, str, c_ast.Node] | None:
    if isinstance(init, c_ast.DeclList) and len(init.decls) == 1:
        decl = init.decls[0]
        if not isinstance(decl.type, c_ast.TypeDecl) or decl.init is None:
            return None
        try:
            return decl.name, type_name(decl.type, mangled).removeprefix("const "), decl.init
        except Unsupported:
            return None
    if isinstance(init, c_ast.Assignment) and init.op == "=" and isinstance(init.lvalue, c_ast.ID):
        return (init.lvalue.name, "", init.rvalue) if init.lvalue.name in loop_only else None
    return None


def _step(node: c_ast.Node | None, name: str, constants: Mapping[str, int]) -> int | None:
    match node:
        case c_ast.UnaryOp(op="p++" | "++") if _is_name(node.expr, name):
            return 1
        case c_ast.Assignment(op="+=") if _is_name(node.lvalue, name):
            return constant(node.rvalue, constants)
        case c_ast.Assignment(op="=", rvalue=c_ast.BinaryOp(op="+") as total) if _is_name(node.lvalue, name):
            if _is_name(total.left, name):
                return constant(total.right, constants)
            return constant(total.left, constants) if _is_name(total.right, name) else None
    return None


def _is_name(node: c_ast.Node, name: str) -> bool:
    return isinstance(node, c_ast.ID) and node.name == name


def loop_variables(block: c_ast.Node) -> frozenset[str]:
    """Variables declared without a value, once, and used by ``for`` loops that set them only."""
    declared: Counter[str] = Counter()
    total: Counter[str] = Counter()
    inside: Counter[str] = Counter()
    for node in _nodes(block):
        if isinstance(node, c_ast.Decl) and node.name and isinstance(node.type, c_ast.TypeDecl):
            declared[node.name] += 1 if node.init is None else 2
        elif isinstance(node, c_ast.ID):
            total[node.name] += 1
        elif isinstance(node, c_ast.For) and isinstance(node.init, c_ast.Assignment):
            target = node.init.lvalue
            if isinstance(target, c_ast.ID):
                uses = sum(isinstance(n, c_ast.ID) and n.name == target.name for n in _nodes(node))
                inside[target.name] += uses
    return frozenset(name for name, count in declared.items() if count == 1 and inside[name] == total[name] > 0)


def _nodes(node: c_ast.Node) -> Iterator[c_ast.Node]:
    yield node
    for _, child in node.children():
        yield from _nodes(child)
