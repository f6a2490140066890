"""Calls for which all threads of a block wait."""

from __future__ import annotations

from pycparser import c_ast

from genome.ir.print_functions import BARRIERS
from genome.source.names import Names


def synchronises(node: c_ast.FuncCall, names: Names) -> bool:
    """True for ``__syncthreads()``, and for ``block.sync()`` and ``cg::sync(block)`` of the whole block."""
    args = node.args.exprs if node.args else []
    if isinstance(node.name, c_ast.StructRef):
        group = node.name.name if node.name.field.name == "sync" and not args else None
    elif isinstance(node.name, c_ast.ID):
        name = names.mangled.get(node.name.name, node.name.name)
        if name in BARRIERS:
            return not args
        group = args[0] if name.endswith("::sync") and len(args) == 1 else None
    else:
        return False
    known = names.find(group.name) if isinstance(group, c_ast.ID) else None
    return names.types.get(known or "", "").endswith("::thread_block")
