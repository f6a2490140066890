"""Counted loops among pycparser's ``for`` and ``while`` statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pycparser import c_ast

from genome.source.folding import constant
from genome.source.names import Unsupported, type_name

_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!="}
_UPDATES = {"+=": "+", "-=": "-", "*=": "*", "/=": "/", "<<=": "<<", ">>=": ">>"}

FIRST, TURN = "_first", "_turn"
"""Behind the name of a loop's variable: its first value, and the number of the turn."""


@dataclass(frozen=True)
class Step:
    """``variable = variable op by`` behind every turn; op is one of ``+ - << >>``."""

    op: str
    by: c_ast.Node


@dataclass(frozen=True)
class Variable:
    """What a turn of the loop changes in a fixed way.

    Attributes:
        name: In the source.
        ctype: Its type where the loop declares it, else "".
        first: Its first value; None where it has one already.
        step: How it changes.
    """

    name: str
    ctype: str
    first: c_ast.Node | None
    step: Step


@dataclass(frozen=True)
class LoopHead:
    """``for (variables; variables[0] op bound; steps) body``.

    Attributes:
        variables: The one that the condition tests comes first.
        op: One of ``< <= > >= !=``.
        bound: What it is compared with.
        body: What is repeated, without the steps.
    """

    variables: tuple[Variable, ...]
    op: str
    bound: c_ast.Node
    body: c_ast.Node | None


def for_head(node: c_ast.For, constants: Mapping[str, int], mangled: Mapping[str, str]) -> LoopHead | None:
    """The head of a ``for`` whose variables change by steps, or None."""
    steps = {name: step for part in _parts(node.next) for name, step in _step(part, constants)}
    firsts: dict[str, tuple[str, c_ast.Node]] = {}
    for part in _parts(node.init):
        start = _start(part, mangled)
        if start is None:
            return None
        firsts[start[0]] = start[1:]
    if len(steps) < len(_parts(node.next)) or not firsts.keys() <= steps.keys():
        return None
    known = {name: (*firsts.get(name, ("", None)), step) for name, step in steps.items()}
    return _head(known, node.cond, node.stmt)


def while_head(node: c_ast.While, constants: Mapping[str, int]) -> LoopHead | None:
    """The head of a ``while`` whose last statement is the step of the variable that its condition tests, or None."""
    items = list(node.stmt.block_items or []) if isinstance(node.stmt, c_ast.Compound) else [node.stmt]
    step = _step(items[-1], constants) if items else []
    if not step:
        return None
    return _head({name: ("", None, how) for name, how in step}, node.cond, c_ast.Compound(items[:-1], node.coord))


def _head(
    known: Mapping[str, tuple[str, c_ast.Node | None, Step]], condition: c_ast.Node | None, body: c_ast.Node | None
) -> LoopHead | None:
    test = _test(condition, known)
    if test is None:
        return None
    tested, op, bound = test
    order = [tested, *(name for name in known if name != tested)]
    return LoopHead(tuple(Variable(name, *known[name]) for name in order), op, bound, body)


def _parts(node: c_ast.Node | None) -> list[c_ast.Node]:
    match node:
        case None | c_ast.EmptyStatement():
            return []
        case c_ast.DeclList():
            return list(node.decls)
        case c_ast.ExprList():
            return list(node.exprs)
    return [node]


def _start(node: c_ast.Node, mangled: Mapping[str, str]) -> tuple[str, str, c_ast.Node] | None:
    """(name, type or "", first value)."""
    match node:
        case c_ast.Decl(name=name, type=c_ast.TypeDecl(), init=c_ast.Node() as first):
            try:
                return name, type_name(node.type, mangled).removeprefix("const "), first
            except Unsupported:
                return None
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name), rvalue=first):
            return name, "", first
    return None


def _step(node: c_ast.Node, constants: Mapping[str, int]) -> list[tuple[str, Step]]:
    """[(variable, its step)], empty for any other statement."""
    match node:
        case c_ast.UnaryOp(op="p++" | "++" | "p--" | "--" as op, expr=c_ast.ID(name=name)):
            return [(name, Step(op[-1], c_ast.Constant("int", "1")))]
        case c_ast.Assignment(op=op, lvalue=c_ast.ID(name=name), rvalue=by) if op in _UPDATES:
            return _stepped(name, _UPDATES[op], by, constants)
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name), rvalue=c_ast.BinaryOp(op=op, left=left, right=right)):
            if _is_name(left, name):
                return _stepped(name, op, right, constants)
            return _stepped(name, op, left, constants) if op in "+*" and _is_name(right, name) else []
    return []


def _stepped(name: str, op: str, by: c_ast.Node, constants: Mapping[str, int]) -> list[tuple[str, Step]]:
    """Products and quotients by powers of two as shifts."""
    if op in ("+", "-"):
        return [(name, Step(op, by))]
    value = constant(by, constants)
    if value is None or value <= 0 or op not in ("*", "/", "<<", ">>"):
        return []
    if op in ("*", "/"):
        if value < 2 or value & (value - 1):
            return []
        op, value = {"*": "<<", "/": ">>"}[op], value.bit_length() - 1
    return [(name, Step(op, c_ast.Constant("int", str(value))))]


def _test(
    node: c_ast.Node | None, known: Mapping[str, tuple[str, c_ast.Node | None, Step]]
) -> tuple[str, str, c_ast.Node] | None:
    """(variable, operator, bound) of the condition."""
    match node:
        case c_ast.ID(name=name) if name in known:
            return name, "!=", c_ast.Constant("int", "0")
        case c_ast.BinaryOp(op=op, left=left, right=right) if op in _TURNED:
            if isinstance(left, c_ast.ID) and left.name in known:
                return left.name, op, right
            if isinstance(right, c_ast.ID) and right.name in known:
                return right.name, _TURNED[op], left
    return None


def _is_name(node: c_ast.Node, name: str) -> bool:
    return isinstance(node, c_ast.ID) and node.name == name


def loop_variables(block: c_ast.Node) -> frozenset[str]:
    """Variables declared once, without a value that matters, and used by ``for`` loops that set them only."""
    declared: Counter[str] = Counter()
    total: Counter[str] = Counter()
    inside: Counter[str] = Counter()
    for node in _nodes(block):
        if isinstance(node, c_ast.Decl) and node.name and isinstance(node.type, c_ast.TypeDecl):
            declared[node.name] += 1 if isinstance(node.init, (c_ast.Constant, type(None))) else 2
        elif isinstance(node, c_ast.ID):
            total[node.name] += 1
        elif isinstance(node, c_ast.For):
            for part in _parts(node.init):
                if isinstance(part, c_ast.Assignment) and isinstance(part.lvalue, c_ast.ID):
                    name = part.lvalue.name
                    inside[name] += sum(_is_name(n, name) for n in _nodes(node))
    return frozenset(name for name, count in declared.items() if count == 1 and inside[name] == total[name] > 0)


def identifiers(node: c_ast.Node) -> Iterator[str]:
    """Names that a tree mentions."""
    return (found.name for found in _nodes(node) if isinstance(found, c_ast.ID))


def _nodes(node: c_ast.Node) -> Iterator[c_ast.Node]:
    yield node
    for _, child in node.children():
        yield from _nodes(child)
