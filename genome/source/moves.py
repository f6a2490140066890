"""Pointers that are set again, but in a straight line: from there on they are other pointers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from pycparser import c_ast


def straight_moves(block: c_ast.Compound, moves: Mapping[str, int]) -> frozenset[str]:
    """Names that only top-level statements ``p = q;`` and ``p += n;`` of the body set.

    Args:
        block: A function body.
        moves: Name -> how often it is set at all, declarations apart.
    """
    items = block.block_items or []
    if any(_leaves(item) for item in items):
        return frozenset()
    straight = Counter(
        item.lvalue.name
        for item in items
        if isinstance(item, c_ast.Assignment) and isinstance(item.lvalue, c_ast.ID) and item.op in ("=", "+=", "-=")
    )
    return frozenset(name for name, count in straight.items() if moves.get(name) == count)


def _leaves(node: c_ast.Node) -> bool:
    """True if the function may be left from inside of a statement, a plain ``if (..) return;`` apart."""
    if isinstance(node, c_ast.If) and node.iffalse is None:
        then = node.iftrue
        if isinstance(then, c_ast.Compound) and len(then.block_items or []) == 1:
            then = then.block_items[0]
        if isinstance(then, c_ast.Return):
            return False
    return _returns(node)


def _returns(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.Return) or any(_returns(child) for _, child in node.children())


def set_names(node: c_ast.Node) -> frozenset[str]:
    """Variables that a tree sets as a whole: ``p = q;``, ``p += n;``, ``p++``."""
    found: set[str] = set()
    match node:
        case c_ast.Assignment(lvalue=c_ast.ID(name=name)):
            found.add(name)
        case c_ast.UnaryOp(op="++" | "--" | "p++" | "p--", expr=c_ast.ID(name=name)):
            found.add(name)
    return frozenset(found.union(*(set_names(child) for _, child in node.children())))
