"""Integer expressions over problem sizes, parsed through a whitelist (never ``eval``).

Shapes, launch domains, guards and restrictions in a campaign are such expressions: ``2 * N + 1``,
``(N + 15) // 16``, ``K % 8 == 0 and N >= 32``.
"""

from __future__ import annotations

import ast
import keyword
import operator
import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import lru_cache

_BINARY: dict[type[ast.operator], tuple[Callable[[int, int], int], str]] = {
    ast.Add: (operator.add, "+"),
    ast.Sub: (operator.sub, "-"),
    ast.Mult: (operator.mul, "*"),
    ast.FloorDiv: (operator.floordiv, "/"),
    ast.Mod: (operator.mod, "%"),
}
_COMPARE: dict[type[ast.cmpop], tuple[Callable[[int, int], bool], str]] = {
    ast.Eq: (operator.eq, "=="),
    ast.NotEq: (operator.ne, "!="),
    ast.Lt: (operator.lt, "<"),
    ast.LtE: (operator.le, "<="),
    ast.Gt: (operator.gt, ">"),
    ast.GtE: (operator.ge, ">="),
}

_MARK = "_of_C"
_RESERVED = re.compile(rf"\b(?:{'|'.join(set(keyword.kwlist) - {'and', 'or', 'not', 'True', 'False', 'None'})})\b")


class ExpressionError(ValueError):
    """An expression of sizes holds something outside the whitelist, or cannot be computed."""


@dataclass(frozen=True)
class SizeExpr:
    """One integer (or boolean) expression over named sizes.

    Args:
        text: The expression in Python syntax: integers, names, ``+ - * // %``, comparisons, ``and or not``.

    Raises:
        ExpressionError: On any other syntax (calls, attributes, floats, ``/``, powers).
    """

    text: str
    _tree: ast.expr = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_tree", _parsed(self.text))

    def __reduce__(self) -> tuple[type[SizeExpr], tuple[str]]:
        return SizeExpr, (self.text,)

    def __str__(self) -> str:
        return self.text

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the sizes it uses, sorted."""
        return tuple(sorted({node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name)}))

    def bind(self, values: Mapping[str, int]) -> SizeExpr:
        """The expression with some names replaced by numbers; itself where it uses none of them."""
        if not set(self.names) & set(values):
            return self
        return SizeExpr(ast.unparse(_Binder(values).visit(deepcopy(self._tree))))

    def evaluate(self, sizes: Mapping[str, int]) -> int:
        """Value at these sizes.

        Raises:
            ExpressionError: If a name is unknown or a divisor is zero.
        """
        try:
            return int(_evaluate(self._tree, sizes))
        except KeyError as error:
            raise ExpressionError(f"'{self.text}' uses the unknown size {error}") from None
        except ZeroDivisionError:
            raise ExpressionError(f"'{self.text}' divides by zero at {dict(sizes)}") from None

    def to_c(self, rename: Mapping[str, str] | None = None) -> str:
        """The same expression in C, fully parenthesised, names replaced by ``rename``.

        ``//`` and ``%`` print as C's truncating operators: sizes are not negative.
        """
        return _print_c(self._tree, rename or {})


@lru_cache(maxsize=1024)
def _parsed(text: str) -> ast.expr:
    """The tree of an expression, which nobody changes. A word that only Python reserves (``in``) is a name."""
    try:
        tree = ast.parse(_RESERVED.sub(rf"\g<0>{_MARK}", text.strip()), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"'{text}' is not an expression") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = node.id.removesuffix(_MARK)
    _validate(tree, text)
    return tree


class _Binder(ast.NodeTransformer):
    def __init__(self, values: Mapping[str, int]) -> None:
        self._values = values

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """A number in place of a name."""
        return ast.Constant(self._values[node.id]) if node.id in self._values else node


def _validate(node: ast.expr, text: str) -> None:
    match node:
        case ast.Constant(value=bool()):
            raise ExpressionError(f"'{text}': booleans are not sizes")
        case ast.Constant(value=int()) | ast.Name():
            return
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            children = [left, right]
        case ast.BinOp(op=ast.Div()):
            raise ExpressionError(f"'{text}': use // for integer division")
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() | ast.Not(), operand=operand):
            children = [operand]
        case ast.BoolOp(values=values):
            children = list(values)
        case ast.Compare(left=left, ops=ops, comparators=comparators) if all(type(op) in _COMPARE for op in ops):
            children = [left, *comparators]
        case ast.Call():
            raise ExpressionError(f"'{text}': calls are not allowed in expressions of sizes")
        case _:
            allowed = "integers, size names, + - * // %, comparisons, and, or, not"
            raise ExpressionError(f"'{text}': only {allowed} are allowed")
    for child in children:
        _validate(child, text)


def _evaluate(node: ast.expr, sizes: Mapping[str, int]) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            return sizes[name]
        case ast.BinOp(left=left, op=op, right=right):
            return _BINARY[type(op)][0](_evaluate(left, sizes), _evaluate(right, sizes))
        case ast.UnaryOp(op=op, operand=operand):
            value = _evaluate(operand, sizes)
            return -value if isinstance(op, ast.USub) else int(not value) if isinstance(op, ast.Not) else value
        case ast.BoolOp(op=op, values=values):
            results = (_evaluate(value, sizes) for value in values)
            return int(all(results) if isinstance(op, ast.And) else any(results))
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            terms = [_evaluate(term, sizes) for term in (left, *comparators)]
            return int(all(_COMPARE[type(op)][0](a, b) for op, a, b in zip(ops, terms, terms[1:], strict=False)))
    raise ExpressionError(f"cannot evaluate {ast.dump(node)}")


def _print_c(node: ast.expr, rename: Mapping[str, str]) -> str:
    match node:
        case ast.Constant(value=int(value)):
            return str(value)
        case ast.Name(id=name):
            return rename.get(name, name)
        case ast.BinOp(left=left, op=op, right=right):
            return f"({_print_c(left, rename)} {_BINARY[type(op)][1]} {_print_c(right, rename)})"
        case ast.UnaryOp(op=op, operand=operand):
            sign = "-" if isinstance(op, ast.USub) else "!" if isinstance(op, ast.Not) else "+"
            return f"({sign}{_print_c(operand, rename)})"
        case ast.BoolOp(op=op, values=values):
            joint = " && " if isinstance(op, ast.And) else " || "
            return "(" + joint.join(_print_c(value, rename) for value in values) + ")"
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            terms = [_print_c(term, rename) for term in (left, *comparators)]
            pairs = zip(ops, terms, terms[1:], strict=False)
            return "(" + " && ".join(f"{a} {_COMPARE[type(op)][1]} {b}" for op, a, b in pairs) + ")"
    raise ExpressionError(f"cannot print {ast.dump(node)}")
