"""Methods of cooperative groups, in the words of CUDA itself: ranks, sizes, and what the threads of a warp exchange.

``cta.thread_rank()`` is an expression of thread indices, ``tile.shfl_down(v, 1)`` is ``__shfl_down_sync``. Only groups
whose threads are known from their type: the block, the grid, and a tile of it of a constant size.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from pycparser import c_ast

from genome.ir.expr import Binary, Call, Cast, Const, Expr, Var
from genome.source.names import Unsupported

if TYPE_CHECKING:
    from genome.source.parse_expr import ExprReader

_TILE = re.compile(r"(?:^|::)thread_block_tile<\s*(\d+)")
_MADE = {"this_thread_block": "thread_block", "this_grid": "grid_group", "tiled_partition": "thread_block_tile"}
FUNCTIONS = frozenset({*_MADE, "reduce", "plus", "less", "greater", "bit_and", "bit_or", "bit_xor"})
"""Functions of cooperative groups whose arguments are values."""

_WARP = 32
_EVERYONE = Const("0xffffffffu")
_EXCHANGES = {"shfl": "__shfl_sync", "shfl_down": "__shfl_down_sync", "shfl_up": "__shfl_up_sync",
              "shfl_xor": "__shfl_xor_sync"}  # fmt: skip
_VOTES = {"any": "__any_sync", "all": "__all_sync", "ballot": "__ballot_sync"}
_PLACES = {"thread_index": "threadIdx", "group_index": "blockIdx", "dim_threads": "blockDim", "group_dim": "blockDim"}


def group_type(init: Expr | None) -> str:
    """The type of the group that a call gives, "" for other expressions."""
    if not isinstance(init, Call):
        return ""
    head, _, arguments = init.function.partition("<")
    space, _, name = head.rpartition("::")
    if name not in _MADE or not space:
        return ""
    return f"{space}::{_MADE[name]}" + (f"<{arguments}" if arguments else "")


def is_group_call(name: str) -> bool:
    """True for functions of cooperative groups that take values and give values."""
    space, _, last = name.partition("<")[0].rpartition("::")
    return bool(space) and last in FUNCTIONS


def method(node: c_ast.FuncCall, expr: ExprReader) -> Expr:
    """The value of ``group.method(arguments)``.

    Raises:
        Unsupported: For methods of other objects.
    """
    owner, name = node.name.name, node.name.field.name
    known = expr.names.find(owner.name) if isinstance(owner, c_ast.ID) else None
    ctype = expr.names.types.get(known or "", "")
    args = [expr.read(arg) for arg in (node.args.exprs if node.args else [])]
    tile = _TILE.search(ctype)
    if tile is not None:
        return _of_tile(int(tile[1]), name, args)
    if ctype.endswith("::thread_block") and not args:
        return _of_block(name)
    if ctype.endswith("::grid_group") and not args:
        return _of_grid(name)
    raise Unsupported("method call")


def synchronised(name: str, args: Sequence[c_ast.Node], expr: ExprReader) -> Expr | None:
    """``cg::sync(tile)``, as its method; None for other calls."""
    if not name.endswith("::sync") or len(args) != 1 or not isinstance(args[0], c_ast.ID):
        return None
    tile = _TILE.search(expr.names.types.get(expr.names.find(args[0].name) or "", ""))
    return None if tile is None else _of_tile(int(tile[1]), "sync", ())


def place_in_launch(node: c_ast.StructRef, expr: ExprReader) -> Expr | None:
    """``block.thread_index().x`` as ``threadIdx.x``; None for other members."""
    inner = node.name
    if not isinstance(inner, c_ast.FuncCall) or not isinstance(inner.name, c_ast.StructRef) or inner.args:
        return None
    owner = inner.name.name
    known = expr.names.find(owner.name) if isinstance(owner, c_ast.ID) else None
    base = _PLACES.get(inner.name.field.name)
    if base is None or not expr.names.types.get(known or "", "").endswith("::thread_block"):
        return None
    return Var(f"{base}.{node.field.name}")


def _of_block(name: str) -> Expr:
    if name == "thread_rank":
        return _rank()
    if name in ("size", "num_threads"):
        return _product([f"blockDim.{dim}" for dim in "xyz"])
    raise Unsupported("method call")


def _of_grid(name: str) -> Expr:
    blocks = [f"gridDim.{dim}" for dim in "xyz"]
    size: Expr = Cast("unsigned long long", _product([f"blockDim.{dim}" for dim in "xyz"]))
    if name in ("size", "num_threads"):
        return reduce(lambda whole, name: Binary("*", whole, Var(name)), blocks, size)
    if name == "thread_rank":
        row = Binary("+", Binary("*", Var("blockIdx.z"), Var("gridDim.y")), Var("blockIdx.y"))
        block = Binary("+", Binary("*", Cast("unsigned long long", row), Var("gridDim.x")), Var("blockIdx.x"))
        return Binary("+", Binary("*", block, size), _rank())
    raise Unsupported("method call")


def _of_tile(size: int, name: str, args: Sequence[Expr]) -> Expr:
    width = Const(f"{size}u")
    plain = {
        "size": width,
        "num_threads": width,
        "thread_rank": Binary("%", _rank(), width),
        "meta_group_rank": Binary("/", _rank(), width),
    }
    if name in plain and not args:
        return plain[name]
    if name == "meta_group_size" and not args:
        threads = _product([f"blockDim.{dim}" for dim in "xyz"])
        return Binary("/", Binary("+", threads, Const(f"{size - 1}u")), width)
    if size != _WARP:  # threads of a smaller tile need not meet those of the others
        raise Unsupported("exchange in a part of a warp")
    if name in _EXCHANGES and len(args) == 2:
        return Call(_EXCHANGES[name], (_EVERYONE, *args))
    if name in _VOTES and len(args) == 1:
        return Call(_VOTES[name], (_EVERYONE, *args))
    if name == "sync" and not args:
        return Call("__syncwarp", ())
    raise Unsupported("method call")


def _rank() -> Expr:
    """The number of a thread in its block."""
    row = Binary("+", Binary("*", Var("threadIdx.z"), Var("blockDim.y")), Var("threadIdx.y"))
    return Binary("+", Binary("*", row, Var("blockDim.x")), Var("threadIdx.x"))


def _product(names: Sequence[str]) -> Expr:
    first: Expr = Var(names[0])
    return reduce(lambda product, name: Binary("*", product, Var(name)), names[1:], first)
