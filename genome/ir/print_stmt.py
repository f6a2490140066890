"""Prints statements as CUDA C++ or OpenCL C."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from genome.ir.async_stmt import AsyncCommit, AsyncCopy, AsyncWait
from genome.ir.expr import Binary, Cast, Const, Index, Var, integer
from genome.ir.halves import HALVES
from genome.ir.print_async import async_statement
from genome.ir.print_errors import PrintError
from genome.ir.print_expr import ExprPrinter
from genome.ir.print_names import DYNAMIC_SHARED, opencl_type
from genome.ir.print_opencl import translate_statement
from genome.ir.print_wide import LANES, load_halves, store_halves, words
from genome.ir.stmt import (
    Assign,
    Barrier,
    Body,
    Break,
    Decl,
    ExprStmt,
    If,
    Loop,
    Opaque,
    Repeat,
    Space,
    Stmt,
    VectorLoad,
    VectorStore,
)  # fmt: skip
from genome.ir.type_sizes import SHARED_ALIGNMENT, size_of
from genome.ir.types import infer
from genome.variant import Target

INDENT = "    "
_OPENCL_BYTES = 32

_CUDA_VECTORS: Mapping[str, tuple[str, int]] = {
    "float": ("float", 4), "int": ("int", 4), "unsigned int": ("uint", 4), "double": ("double", 2),
    "long long": ("longlong", 2), "unsigned long long": ("ulonglong", 2), "long": ("long", 2),
    "unsigned long": ("ulong", 2), "short": ("short", 4), "unsigned short": ("ushort", 4), "char": ("char", 4),
    "signed char": ("char", 4), "unsigned char": ("uchar", 4),
}  # fmt: skip


@dataclass(frozen=True)
class StmtPrinter:
    """Prints the statements of one kernel.

    Attributes:
        expr: Prints its expressions.
        element: Canonical element type of an array.
        wide: A name that the kernel does not use, for the value of a wide access.
        fence: Arguments of an OpenCL barrier.
        spaces: Address space of each pointer and array in OpenCL (``__global``, ``__local`` or "").
        own_types: Names of the types that the prelude declares.
    """

    expr: ExprPrinter
    element: Callable[[str], str]
    wide: str
    fence: str = "CLK_LOCAL_MEM_FENCE"
    spaces: Mapping[str, str] = field(default_factory=dict)
    own_types: frozenset[str] = frozenset()

    @property
    def opencl(self) -> bool:
        """True when the target is OpenCL C."""
        return self.expr.target is Target.OPENCL

    def body(self, body: Body, depth: int) -> list[str]:
        """Lines of a body."""
        lines: list[str] = []
        for stmt in body:
            lines += self.statement(stmt, depth)
        return lines

    def statement(self, stmt: Stmt, depth: int) -> list[str]:
        """Lines of one statement.

        Raises:
            PrintError: If the target has no way to say it.
        """
        pad = INDENT * depth
        match stmt:
            case AsyncCopy() | AsyncCommit() | AsyncWait():
                return [pad + async_statement(stmt, self.expr, self.element)]
            case Assign():
                return [f"{pad}{self._assignment(stmt)};"]
            case Decl():
                return [f"{pad}{self.declaration(stmt)};"]
            case Loop():
                return self._loop(stmt, depth)
            case Repeat():
                return self._repeat(stmt, depth)
            case Break():
                return [f"{pad}break;"]
            case If():
                return self._if(stmt, depth)
            case Barrier():
                return [pad + (f"barrier({self.fence});" if self.opencl else "__syncthreads();")]
            case VectorLoad():
                return [pad + line for line in self._load(stmt)]
            case VectorStore():
                return [pad + line for line in self._store(stmt)]
            case ExprStmt(value=value):
                return [f"{pad}{self.expr.text(value)};"]
            case Opaque(text=text):
                text = translate_statement(text, self.spaces, self.own_types) if self.opencl else text
                return [pad + line if line else "" for line in text.splitlines()]
        raise PrintError(f"cannot print {type(stmt).__name__}")

    def _assignment(self, stmt: Assign) -> str:
        target = self.expr.text(stmt.target)
        if self.expr.halves:
            return self._half_assignment(stmt, target)
        if stmt.op in ("+=", "-=") and stmt.value == Const("1") and isinstance(stmt.target, Var):
            return target + stmt.op[0] * 2
        return f"{target} {stmt.op} {self.expr.text(stmt.value)}"

    def _half_assignment(self, stmt: Assign, target: str) -> str:
        """Of a kernel with 16-bit floats in OpenCL C: conversions and operators of theirs are functions."""
        kind = infer(stmt.target, self.expr.types)
        if kind in HALVES and stmt.op != "=":
            return f"{target} = {self.expr.text(Binary(stmt.op[:-1], stmt.target, Cast(kind, stmt.value)))}"
        return f"{target} {stmt.op} {self.expr.text_as(stmt.value, kind)}"

    def declaration(self, decl: Decl) -> str:
        """``[__shared__] [const] type name[dims] [= init]``."""
        dims = "".join(f"[{dim}]" for dim in decl.dims)
        ctype = opencl_type(decl.ctype) if self.opencl else decl.ctype
        if decl.space is Space.SHARED:
            return self._shared(decl, ctype, dims)
        init = f" = {self.expr.text_as(decl.init, decl.ctype)}" if decl.init is not None else ""
        return f"{'const ' if decl.const else ''}{ctype} {decl.name}{dims}{init}"

    def _shared(self, decl: Decl, ctype: str, dims: str) -> str:
        if decl.dims == (0,):  # extern __shared__
            if not self.opencl:
                return f"extern __shared__ {ctype} {decl.name}[]"
            return f"__local {ctype} {decl.name}[{DYNAMIC_SHARED} / sizeof({ctype})]"
        if not self.opencl:
            aligned = f"__align__({SHARED_ALIGNMENT}) " if decl.dims else ""
            return f"__shared__ {aligned}{ctype} {decl.name}{dims}"
        aligned = f" __attribute__((aligned({SHARED_ALIGNMENT})))" if decl.dims else ""
        return f"__local {ctype} {decl.name}{dims}{aligned}"

    def _loop(self, loop: Loop, depth: int) -> list[str]:
        pad = INDENT * depth
        ctype = opencl_type(loop.ctype) if self.opencl else loop.ctype
        step = f"{loop.var}++" if loop.step == 1 else f"{loop.var} += {loop.step}"
        bound = self.expr.text(Binary("<", Var(loop.var), loop.upper))
        lines = [] if loop.unroll is None else [f"{pad}#pragma unroll{f' {loop.unroll}' if loop.unroll else ''}"]
        lines.append(f"{pad}for ({ctype} {loop.var} = {self.expr.text(loop.lower)}; {bound}; {step}) {{")
        return [*lines, *self.body(loop.body, depth + 1), pad + "}"]

    def _repeat(self, loop: Repeat, depth: int) -> list[str]:
        """``while (c)`` where the condition is asked for before anything else, else an endless loop."""
        pad = INDENT * depth
        match loop.body:
            case (If(condition, then, (Break(),)),):
                condition_text, body = self.expr.text(condition), then
            case _:
                condition_text, body = "true", loop.body
        return [f"{pad}while ({condition_text}) {{", *self.body(body, depth + 1), pad + "}"]

    def _if(self, stmt: If, depth: int) -> list[str]:
        pad = INDENT * depth
        lines = [f"{pad}if ({self.expr.truth(stmt.condition)}) {{", *self.body(stmt.then, depth + 1)]
        if not stmt.orelse:
            return [*lines, pad + "}"]
        if _leaves_first(stmt):
            return [*lines, pad + "}", *self.body(stmt.orelse, depth)]
        (first, *others) = stmt.orelse
        if isinstance(first, If) and not others and not _leaves_first(first):
            chain = self._if(first, depth)
            return [*lines, f"{pad}}} else {chain[0].lstrip()}", *chain[1:]]
        return [*lines, pad + "} else {", *self.body(stmt.orelse, depth + 1), pad + "}"]

    # ---- wide accesses

    def _load(self, stmt: VectorLoad) -> list[str]:
        width = len(stmt.targets)
        element = self.element(stmt.source.array)
        if element in HALVES:
            lines, parts = load_halves(self.expr, stmt, element, self.wide, self.spaces.get(stmt.source.array, ""))
        elif self.opencl:
            vector, group = _opencl_vector(element, width)
            lines, parts = [], []
            for number in range(width // group):
                name = f"{self.wide}{number}" if width > group else self.wide
                source = self.expr.text(_shift(stmt.source, number * group))
                lines.append(f"    const {vector} {name} = vload{group}(0, &{source});")
                parts += [f"{name}.s{LANES[lane]}" for lane in range(group)]
        elif element in ("unsigned char", "signed char"):
            lines, parts = self._load_bytes(stmt, element)
        else:
            vector, group = _cuda_vector(element, width)
            lines, parts = [], []
            for number in range(width // group):
                name = f"{self.wide}{number}" if width > group else self.wide
                source = self.expr.text(_shift(stmt.source, number * group))
                lines.append(f"    const {vector} {name} = *(const {vector}*)&{source};")
                parts += [f"{name}.{field}" for field in "xyzw"[:group]]
        assigns = [f"    {self.expr.text(t)} = {part};" for t, part in zip(stmt.targets, parts, strict=True)]
        return ["{", *lines, *assigns, "}"]

    def _load_bytes(self, stmt: VectorLoad, element: str) -> tuple[list[str], list[str]]:
        """CUDA loads 4, 8 or 16 bytes as words, whose bytes are then picked: no vector of bytes is that wide."""
        vector, fields = words(len(stmt.targets) // 4, element, len(stmt.targets))
        parts = [f"({element})({self.wide}{field} >> {8 * byte})" for field in fields for byte in range(4)]
        return [f"    const {vector} {self.wide} = *(const {vector}*)&{self.expr.text(stmt.source)};"], parts

    def _store(self, stmt: VectorStore) -> list[str]:
        width = len(stmt.values)
        element = self.element(stmt.target.array)
        if element in HALVES:
            return store_halves(self.expr, stmt, element, self.spaces.get(stmt.target.array, ""))
        values = [self.expr.text(value) for value in stmt.values]
        vector, group = (_opencl_vector if self.opencl else _cuda_vector)(element, width)
        lines = []
        for number in range(width // group):
            target = self.expr.text(_shift(stmt.target, number * group))
            lane = ", ".join(values[number * group : (number + 1) * group])
            stored = f"vstore{group}(({vector})({lane}), 0, &{target});"
            lines.append(stored if self.opencl else f"*({vector}*)&{target} = make_{vector}({lane});")
        return lines


def _leaves_first(stmt: If) -> bool:
    """``if (c) { ...; break; } else ...``: needs no else."""
    return bool(stmt.then and stmt.orelse) and isinstance(stmt.then[-1], Break)


def _opencl_vector(element: str, width: int) -> tuple[str, int]:
    """(OpenCL C vector type, its lanes): the widest one of up to 32 bytes.

    A call that returns 64 bytes is made in one way by code for AVX-512 and in another by code without. PoCL 3.0 mixes
    the two on some processors of that kind: the upper half of what ``vload16`` gave was lost.
    """
    lanes = width
    while lanes * size_of(element) > _OPENCL_BYTES:
        lanes //= 2
    return f"{opencl_type(element)}{lanes}", lanes


def _cuda_vector(element: str, width: int) -> tuple[str, int]:
    """(CUDA vector type, its lanes): the widest one of up to 16 bytes that divides the access."""
    base, lanes = _CUDA_VECTORS.get(element, ("", 0))
    lanes = lanes if lanes and width % lanes == 0 else 2
    if not base or width % lanes:
        raise PrintError(f"CUDA has no {width}-wide access of {element}")
    return f"{base}{lanes}", lanes


def _shift(access: Index, lane: int) -> Index:
    if lane == 0:
        return access
    last = access.subscripts[-1]
    return Index(access.array, (*access.subscripts[:-1], Binary("+", last, integer(lane))))
