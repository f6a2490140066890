"""Calls of the file's own functions, with the function's statements in place of the call.

Only functions that C can spell, that are left at their end alone, and whose pointers and references lead to what the
caller knows by name. All others stay calls in opaque text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from pycparser import c_ast, c_parser

from genome.ir.expr import Call, Const, Expr, Index, Var, base_name, names, walk
from genome.ir.kernel import Param
from genome.ir.print_functions import PURE
from genome.ir.print_tokens import Token, render, split_commas, tokenize
from genome.ir.stmt import (
    Assign,
    Barrier,
    Body,
    Decl,
    ExprStmt,
    Opaque,
    Stmt,
    expressions,
    flatten,
    handed_places,
    writes,
)
from genome.ir.types import canonical, infer
from genome.source.encode import Encoded, encode_body
from genome.source.errors import SourceError
from genome.source.jumps import jumps, settle
from genome.source.moves import straight_moves
from genome.source.names import Names, Unsupported
from genome.source.nesting import bounded
from genome.source.opaque import moves
from genome.source.parse_expr import ExprReader
from genome.source.signature import parameters
from genome.source.slice import Item
from genome.source.surroundings import Surroundings
from genome.source.templates import instantiate, parameter_names

_MAX_DEPTH = 4
MAX_TOKENS = 8000
_QUALIFIERS = frozenset({"static", "inline", "__inline__", "__forceinline__", "__noinline__", "__device__", "__host__",
                         "constexpr", "const", "extern", '"C"', "template"})  # fmt: skip

_DECORATION = frozenset({"const", "volatile", "restrict", "__restrict__", "__restrict", "&"})

Reading = Callable[[Names, Encoded, Surroundings, c_ast.Compound, str], Body]
"""Reads a function's block with these names; the last argument is the variable for its result, or ""."""


@dataclass(frozen=True)
class _Function:
    """A helper ready to be read: its parameters, which of them are references, result type ("" for none), block."""

    name: str
    params: tuple[Param, ...]
    references: frozenset[str]
    result: str
    encoded: Encoded
    block: c_ast.Compound
    moves: Mapping[str, int]


class Inliner:
    """Puts helpers into their callers.

    Args:
        names: Of the caller.
        around: Of the caller; its helpers are what can be put in.
        read: Reads a block.
        budget: Tokens of helpers that may still be put in, for the whole kernel.
        depth: How many helpers the caller is inside of.
    """

    def __init__(self, names: Names, around: Surroundings, read: Reading, budget: list[int], depth: int) -> None:
        self.names, self.around, self.read, self.budget, self.depth = names, around, read, budget, depth

    def put_in(self, name: str, args: Sequence[c_ast.Node], expr: ExprReader) -> tuple[Body, Expr]:
        """Statements of the call, and its value (0 for a function without).

        Raises:
            Unsupported: If the function cannot be put in.
        """
        function = self._function(name, args, expr)
        if self.depth >= _MAX_DEPTH or len(function.params) != len(args):
            raise Unsupported(f"call of {name}")
        straight = straight_moves(function.block, function.moves)
        inner = replace(
            self.names,
            constants=dict(self.around.constants),
            mangled={**self.around.typedefs, **function.encoded.mangled},
            moved=frozenset(function.moves) - straight,
            straight=straight,
            reserved=self.around.words,
            scopes=[{}],
        )
        before = [stmt for param, arg in zip(function.params, args, strict=True)
                  for stmt in self._bind(param, arg, function, expr, inner)]  # fmt: skip
        result = ""
        if function.result:
            result = inner.declare(f"{function.name}_value", function.result, False)
            before.append(Decl(result, function.result))
        body = settle(self.read(inner, function.encoded, self.around, function.block, result), "return", inner)
        if jumps(body) or any(isinstance(stmt, Opaque) for stmt in flatten(body)):
            raise Unsupported(f"call of {name}")
        return (*before, *body), Var(result) if result else Const("0")

    def _bind(self, param: Param, arg: c_ast.Node, function: _Function, expr: ExprReader, inner: Names) -> list[Stmt]:
        """A parameter as a variable of its own, or as the caller's variable that it stands for."""
        ctype = canonical(param.ctype)
        if param.name in function.references:
            target = expr.read(arg)
            if not isinstance(target, Var) or target.name in inner.arrays or inner.types.get(target.name) != ctype:
                raise Unsupported("reference")
            inner.scopes[0][param.name] = target.name
            return []
        if not param.pointer:
            return [Decl(inner.declare(param.name, ctype, False), param.ctype, (), expr.read(arg))]
        pointee = self._pointee(arg, expr)
        if "*" in ctype or (param.name in inner.moved and not inner.sees):
            raise Unsupported("pointer")
        if pointee:
            if inner.types[pointee] != ctype:
                raise Unsupported("pointer")
            inner.pointees[inner.declare(param.name, ctype, False)] = pointee
            return []
        pointer = expr.pointer(arg)
        if pointer is None or inner.types.get(pointer[0]) != ctype:
            raise Unsupported("pointer")
        if param.name in inner.moved:
            return [inner.walk(inner.declare(param.name, ctype, False), *pointer)]
        if self.names.loose(pointer[0]):
            raise Unsupported("pointer")
        return [inner.pointer(param.name, f"{'const ' if param.const else ''}{param.ctype}*", *pointer)]

    def _pointee(self, arg: c_ast.Node, expr: ExprReader) -> str:
        """The variable behind ``&variable``, or behind a parameter that was given so; "" for other pointers."""
        if isinstance(arg, c_ast.UnaryOp) and arg.op == "&" and isinstance(arg.expr, c_ast.ID):
            target = expr.read(arg.expr)
            known = isinstance(target, Var) and target.name in self.names.types
            return target.name if isinstance(target, Var) and known and target.name not in self.names.arrays else ""
        if isinstance(arg, c_ast.ID):
            return self.names.pointees.get(self.names.find(arg.name) or "", "")
        return ""

    def _function(self, name: str, args: Sequence[c_ast.Node], expr: ExprReader) -> _Function:
        base, _, arguments = name.partition("<")
        item = self.around.helpers.get(base.rpartition("::")[2])
        if item is None or len(item.tokens) > self.budget[0]:
            raise Unsupported(f"call of {name}")
        if item.words & self.around.taken & frozenset(self.around.parameters):
            raise Unsupported(f"call of {name}")  # the kernel's parameter hides what the helper means
        self.budget[0] -= len(item.tokens)
        given = [render(group).strip() for group in split_commas(tokenize(arguments)[:-1])] if arguments else []
        if len(given) < len(parameter_names(item)):
            given = self._deduced(item, given, args, expr)
        try:
            return _opened(instantiate(item, given, ""), self.around)
        except (SourceError, c_parser.ParseError) as error:
            raise Unsupported(f"call of {name}") from error

    def _deduced(self, item: Item, given: list[str], args: Sequence[c_ast.Node], expr: ExprReader) -> list[str]:
        """Template arguments: those given, and the types that the arguments of the call have."""
        wanted = [name for name, _ in parameter_names(item)]
        known = dict(zip(wanted, given, strict=False))
        opened, closed = item.parameters
        for group, arg in zip(split_commas(item.tokens[opened + 1 : closed]), args, strict=False):
            words = [token.text for token in group[:-1] if token.text not in _DECORATION]
            if words and words[0] in wanted and words[0] not in known and words[1:] in ([], ["*"]):
                ctype = self._type_behind(arg, expr) if words[1:] else infer(expr.in_place(arg), self.names.types)
                if ctype:
                    known[words[0]] = ctype
        return [known[name] for name in takewhile(known.__contains__, wanted)]

    def _type_behind(self, arg: c_ast.Node, expr: ExprReader) -> str:
        pointee = self._pointee(arg, expr)
        pointer = None if pointee else expr.pointer(arg)
        return self.names.types.get(pointee or (pointer[0] if pointer else ""), "")


def _opened(item: Item, around: Surroundings) -> _Function:
    opened, closed = item.parameters
    groups = split_commas(item.tokens[opened + 1 : closed])
    references = frozenset(group[-1].text for group in groups if any(token.text == "&" for token in group))
    if any(token.text == "&&" or token.text == "=" for group in groups for token in group):
        raise Unsupported("parameter")
    plain = [token for token in item.tokens[opened : closed + 1] if token.text != "&"]
    header = replace(item, tokens=(*item.tokens[:opened], *plain), parameters=(opened, opened + len(plain) - 1))
    params = tuple(
        replace(param, ctype=around.typedefs.get(param.ctype, param.ctype)) for param in parameters(header, "")
    )
    body = item.tokens[item.body :]
    with bounded(body, ""):
        encoded = encode_body(body, around.types)
        block = c_parser.CParser().parse(encoded.text).ext[-1].body
    result = _result(item.tokens[: opened - 1], around)
    return _Function(item.names[0], params, references, result, encoded, block, moves(body))


def _result(tokens: Sequence[Token], around: Surroundings) -> str:
    """The type of a function's value, "" for void."""
    words = [token.text for token in tokens if token.text not in _QUALIFIERS]
    if words == ["void"]:
        return ""
    name = " ".join(words)
    ctype = canonical(around.typedefs.get(name, name))
    if not all(word.replace("_", "a").isalnum() for word in words) or ctype == "auto" or not words:
        raise Unsupported("result")
    return ctype


def out_of_order(before: Body, stmts: Body) -> bool:
    """True if statements that were read with helpers put in front of them may have meant what was there before.

    C leaves open when a call inside of an expression runs; compilers go from left to right.

    Args:
        before: Of the helpers.
        stmts: What was read meanwhile.
    """
    own = {stmt.name for stmt in flatten(before) if isinstance(stmt, Decl)}
    places = [place for stmt in flatten(before) for place in (*writes(stmt), *handed_places(stmt))]
    changed = {base_name(place) for place in places if not isinstance(place, Index)} - own
    memory = any(isinstance(t, Index) and t.array not in own for stmt in flatten(before) for t in writes(stmt))
    memory = memory or any(isinstance(stmt, (Barrier, ExprStmt)) for stmt in flatten(before))
    memory = memory or any(isinstance(node, Call) and node.function not in PURE for stmt in flatten(before)
                           for expr in expressions(stmt) for node in walk(expr))  # fmt: skip
    used = {name for stmt in stmts for expr in expressions(stmt) for name in names(expr)}
    touches = any(isinstance(node, (Index, Call)) for stmt in stmts for expr in _values(stmt) for node in walk(expr))
    return bool(changed & used) or (memory and touches)


def _values(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions of a statement that are read; an element that it sets is not."""
    if isinstance(stmt, Assign) and stmt.op == "=" and isinstance(stmt.target, Index):
        return (stmt.value, *stmt.target.subscripts)
    return expressions(stmt)
