"""Calls to IR expressions: atomics, functions of a warp, and functions that are given addresses or references.

What a call may do is bounded by what it is given: it may read and write the variables and arrays whose address or
reference it gets, of types that hold no pointers. Everything else stays opaque text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pycparser import c_ast

from genome.ir.expr import Call, Cast, Expr, Index, Member, Unary, Var
from genome.ir.print_functions import ATOMICS, BARRIERS, BLOCK_WIDE, CUDA_ONLY, LOADS
from genome.ir.types import PLAIN_TYPES, canonical, infer
from genome.source.names import Unsupported, type_name

if TYPE_CHECKING:
    from genome.source.parse_expr import ExprReader

_SIGN = {"int", "unsigned int"}


def cuda_call(name: str, args: Sequence[c_ast.Node], expr: ExprReader) -> Expr | None:
    """A call of one of CUDA's own functions with an effect or a pointer, or None for other functions.

    Raises:
        Unsupported: If it makes the whole block meet, or what it is given is out of reach.
    """
    if name in LOADS and len(args) == 1:
        return expr.dereference(args[0])
    if name in ATOMICS and args:
        return _atomic(name, args, expr)
    if name in BARRIERS or name in BLOCK_WIDE:
        raise Unsupported(f"call of {name}")
    return Call(name, tuple(expr.read(arg) for arg in args)) if name in CUDA_ONLY else None


def _atomic(name: str, args: Sequence[c_ast.Node], expr: ExprReader) -> Expr:
    """An atomic; where its pointer takes an integer for one of the other sign, as long as that is the same to it."""
    pointer, ctype = args[0], ""
    if isinstance(pointer, c_ast.Cast) and name not in ("atomicMin", "atomicMax", "atomicInc", "atomicDec"):
        pointer, ctype = pointer.expr, canonical(type_name(pointer.to_type, expr.names.mangled)).removesuffix("*")
    place = _updated(pointer, expr)
    own = infer(place, expr.names.types)
    if ctype and ctype != own and {ctype, own} != _SIGN:
        raise Unsupported("atomic on other bits")
    call = Call(name, (Unary("&", place), *(expr.read(arg) for arg in args[1:])))
    return Cast(ctype, call) if ctype and ctype != own else call


def _updated(node: c_ast.Node, expr: ExprReader) -> Expr:
    """The place that an atomic's pointer leads to."""
    address = isinstance(node, c_ast.UnaryOp) and node.op == "&"
    place = expr.read(node.expr) if address else expr.dereference(node)
    if not isinstance(place, (Var, Index, Member)):
        raise Unsupported("atomic on an expression")
    node = place.base if isinstance(place, Member) else place
    if isinstance(node, Var) and node.name in expr.names.types and node.name not in expr.names.shared:
        raise Unsupported("atomic on a variable of the thread's own")  # nothing else takes it for a place in memory
    return place


def given_call(name: str, args: Sequence[c_ast.Node], expr: ExprReader) -> Call:
    """A call that may write through the pointers and references which it is given.

    Raises:
        Unsupported: If it may do more than that: wait for other threads, or lead to memory by what it is given or gives
            back.
    """
    base = name.partition("<")[0].rpartition("::")[2]
    around = expr.around
    bound = around.references.get(base, frozenset())
    unknown = not bound and not around.keeps(name)
    if base in around.barrier_helpers or unknown or not around.plainly(name):
        raise Unsupported(f"call of {name}")
    # what is no place cannot be bound: another function of that name has the reference there
    bound = frozenset(position for position in bound if position < len(args) and expr.is_place(args[position]))
    values = tuple(
        Unary("&", _referred(arg, expr)) if position in bound else _pointer(arg, expr) or expr.read(arg)
        for position, arg in enumerate(args)
    )
    return Call(name, values, tuple(sorted(bound)))


def _referred(node: c_ast.Node, expr: ExprReader) -> Expr:
    """What a reference or pointer leads to: a variable, an element or a member of a plain type."""
    place = expr.target(node)
    if infer(place, expr.names.types) not in PLAIN_TYPES | expr.around.pointerless:
        raise Unsupported("reference")
    return place


def _pointer(node: c_ast.Node, expr: ExprReader) -> Expr | None:
    """The address of an element or variable, None for what is no pointer."""
    found = expr.pointer(node)
    if found is not None:
        array, offset = found
        if expr.names.types.get(array) not in PLAIN_TYPES | expr.around.pointerless:
            raise Unsupported(f"pointer to {array}")
        return Unary("&", Index(array, (offset,)))
    if isinstance(node, c_ast.UnaryOp) and node.op == "&":
        return Unary("&", _referred(node.expr, expr))
    if isinstance(node, c_ast.ID) and expr.names.find(node.name) in expr.names.arrays:
        raise Unsupported("pointer argument")
    return None
