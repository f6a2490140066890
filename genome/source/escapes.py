"""Where the jumps inside of pycparser's statements lead."""

from __future__ import annotations

from pycparser import c_ast


def leaves(node: c_ast.Node, in_switch: bool = False) -> bool:
    """True if a loop over the statement may be left from inside of it: by a break of its own, or by a return."""
    if isinstance(node, c_ast.Return) or (isinstance(node, c_ast.Break) and not in_switch):
        return True
    inside = in_switch or isinstance(node, (c_ast.For, c_ast.While, c_ast.DoWhile, c_ast.Switch))
    return any(leaves(child, inside) for _, child in node.children())


def escapes(node: c_ast.Node, in_switch: bool = False) -> bool:
    """True if a break or continue inside leaves the statement."""
    if isinstance(node, c_ast.Continue) or (isinstance(node, c_ast.Break) and not in_switch):
        return True
    if isinstance(node, (c_ast.For, c_ast.While, c_ast.DoWhile)):
        return False
    inside = in_switch or isinstance(node, c_ast.Switch)
    return any(escapes(child, inside) for _, child in node.children())
