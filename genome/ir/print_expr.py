"""Prints expressions as CUDA C++ or OpenCL C with as few parentheses as are always right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from genome.ir.expr import Binary, Call, Cast, Const, Expr, Index, Member, Select, Unary, Var
from genome.ir.halves import HALVES
from genome.ir.print_errors import PrintError
from genome.ir.print_functions import ATOMICS, BINARY, CUDA_ONLY, FAST, MATH, OUTPUTS, RENAMED
from genome.ir.print_halves import NAMES, converted
from genome.ir.print_names import opencl_type
from genome.ir.types import BUILTIN_INDICES, INTEGER_TYPES, canonical, infer
from genome.variant import Target

_PRECEDENCE = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7, "<<": 8, ">>": 8,
    "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
_UNARY, _POSTFIX, _ATOM, _SELECT = 11, 12, 13, 0
# Functions that stand for operators of 16-bit floats; comparisons are those of floats.
_HALF_OPERATORS = {"+": "evo_hadd", "-": "evo_hsub", "*": "evo_hmul", "/": "evo_hdiv"} | dict.fromkeys(
    ("<", ">", "<=", ">=", "==", "!="), ""
)
# Operators whose nesting readers (and compilers' warnings) expect to see in parentheses.
_ALWAYS = {"|", "^", "&", "<<", ">>"}

_WORK_ITEM = {"threadIdx": "get_local_id", "blockIdx": "get_group_id", "blockDim": "get_local_size",
              "gridDim": "get_num_groups"}  # fmt: skip


@dataclass(frozen=True)
class ExprPrinter:
    """Prints expressions of one kernel.

    Attributes:
        target: Language.
        types: Canonical type of every name, for functions whose name depends on it.
        signed_indices: Print ``threadIdx.x`` and the like as int. Index arithmetic that transforms write counts on
            that; the user's own text keeps CUDA's unsigned.
    """

    target: Target
    types: Mapping[str, str] = field(default_factory=dict)
    signed_indices: bool = False

    def text(self, expr: Expr) -> str:
        """The expression, without outer parentheses."""
        return self._print(expr)[0]

    def text_as(self, expr: Expr, ctype: str) -> str:
        """The expression as a value of a type, which OpenCL C does not make of 16-bit floats itself."""
        if not self.halves:
            return self.text(expr)
        return converted(self.text(expr), infer(expr, self.types), canonical(ctype))

    def truth(self, expr: Expr) -> str:
        """The expression as a condition."""
        return self.text_as(expr, "bool" if self._half(expr) else "")

    @cached_property
    def halves(self) -> bool:
        """True if OpenCL C is printed, and a variable is a 16-bit float: its operators are functions then."""
        return self.target is Target.OPENCL and not HALVES.isdisjoint(self.types.values())

    def _half(self, expr: Expr) -> bool:
        return self.halves and infer(expr, self.types) in HALVES

    def _operand(self, expr: Expr, least: int) -> str:
        text, precedence = self._print(expr)
        return text if precedence >= least else f"({text})"

    def _print(self, expr: Expr) -> tuple[str, int]:
        match expr:
            case Const(text=text):
                return self._constant(text)
            case Var(name=name):
                return self._variable(name)
            case Binary():
                return self._binary(expr)
            case Unary(op="-" | "!" as op, operand=operand) if self._half(operand):
                return f"evo_hneg({self.text(operand)})" if op == "-" else f"!{self.truth(operand)}", _UNARY
            case Unary(op=op, operand=operand):
                inner = self._operand(operand, _UNARY)
                return op + (f"({inner})" if inner[:1] in "+-&*!~" and op in "+-&" else inner), _UNARY
            case Index(array=array, subscripts=subscripts):
                return array + "".join(f"[{self.text(part)}]" for part in subscripts), _POSTFIX
            case Select(condition=condition, then=then, other=other):
                tested = self.truth(condition) if self._half(condition) else self._operand(condition, 1)
                parts = tested, self._operand(then, 1), self._operand(other, _SELECT)
                return f"{parts[0]} ? {parts[1]} : {parts[2]}", _SELECT
            case Cast(ctype=ctype, operand=operand) if self._converts(expr):
                return converted(self.text(operand), infer(operand, self.types), canonical(ctype)), _POSTFIX
            case Cast(ctype=ctype, operand=operand):
                name = opencl_type(ctype) if self.target is Target.OPENCL else ctype
                return f"({name}){self._operand(operand, _POSTFIX)}", _UNARY
            case Member(base=base, field=field_name):
                return f"{self._operand(base, _POSTFIX)}.{field_name}", _POSTFIX
            case Call():
                return self._call(expr)
        raise PrintError(f"cannot print {type(expr).__name__}")

    def _constant(self, text: str) -> tuple[str, int]:
        if self.target is Target.OPENCL:
            text = {"nullptr": "0", "CUDART_INF_F": "INFINITY", "HUGE_VALF": "INFINITY"}.get(text, text)
            if text[:1].isdigit() and text[-2:].lower() == "ll":
                text = text[:-1]
        return text, _UNARY if text.startswith("-") else _ATOM

    def _variable(self, name: str) -> tuple[str, int]:
        if name not in BUILTIN_INDICES:
            return name, _ATOM
        base, dim = name.split(".")
        if self.target is Target.OPENCL:
            cast = "int" if self.signed_indices else "uint"
            return f"({cast}){_WORK_ITEM[base]}({'xyz'.index(dim)})", _UNARY
        return (f"(int){name}", _UNARY) if self.signed_indices else (name, _ATOM)

    def _converts(self, cast: Cast) -> bool:
        """True for a cast from or to a 16-bit float in OpenCL C."""
        if self.target is not Target.OPENCL or cast.ctype.endswith("*"):
            return False
        return canonical(cast.ctype) in HALVES or infer(cast.operand, self.types) in HALVES

    def _half_binary(self, expr: Binary) -> tuple[str, int]:
        """An operator with a 16-bit float: CUDA has arithmetic and comparisons of two of the same type."""
        level = _PRECEDENCE[expr.op]
        if expr.op in ("&&", "||"):
            sides = [self.truth(side) if self._half(side) else self._side(side, expr.op, level + 1)
                     for side in (expr.left, expr.right)]  # fmt: skip
            return f" {expr.op} ".join(sides), level
        kinds = {infer(side, self.types) for side in (expr.left, expr.right)} - {""}
        if len(kinds) > 1 or expr.op not in _HALF_OPERATORS:
            raise PrintError(f"'{expr.op}' of {' and '.join(sorted(kinds))} is no operator of CUDA's 16-bit floats")
        left, right = self.text(expr.left), self.text(expr.right)
        if function := _HALF_OPERATORS[expr.op]:
            return f"{function}({left}, {right})", _POSTFIX
        return f"evo_float({left}) {expr.op} evo_float({right})", level

    def _binary(self, expr: Binary) -> tuple[str, int]:
        if self.halves and (self._half(expr.left) or self._half(expr.right)):
            return self._half_binary(expr)
        level = _PRECEDENCE[expr.op]
        left, right = self._side(expr.left, expr.op, level), self._side(expr.right, expr.op, level + 1)
        return f"{left} {expr.op} {right}", level

    def _side(self, child: Expr, op: str, least: int) -> str:
        if isinstance(child, Binary) and (op in _ALWAYS or child.op in _ALWAYS) and child.op != op:
            return f"({self.text(child)})"
        if isinstance(child, Binary) and op == "||" and child.op == "&&":
            return f"({self.text(child)})"
        text = self._operand(child, least)
        return f"({text})" if op in "+-&" and text.startswith(op) and least > _PRECEDENCE[op] else text

    # ---- calls

    def _call(self, call: Call) -> tuple[str, int]:
        name = call.function
        if self.target is Target.CUDA:
            return f"{name}({', '.join(self._arguments(call))})", _POSTFIX
        if call.references:
            raise PrintError(f"{name} takes a C++ reference, which has no counterpart in OpenCL C")
        if name in OUTPUTS:
            return self._results(call)
        if name in CUDA_ONLY or "::" in name or "<" in name:
            raise PrintError(f"{name} has no counterpart in OpenCL C")
        if name in NAMES:
            return f"{NAMES[name]}({', '.join(self._arguments(call))})", _POSTFIX
        if name in BINARY and len(call.args) == 2:
            return self._print(Binary(BINARY[name], *call.args))
        if name in MATH or name in FAST:
            return f"{MATH.get(name) or FAST[name]}({', '.join(self._floats(call))})", _POSTFIX
        if name.startswith("make_"):
            return f"({opencl_type(name[5:])})({', '.join(self._arguments(call))})", _UNARY
        return self._other(call)

    def _other(self, call: Call) -> tuple[str, int]:
        name, args = call.function, self._arguments(call)
        if name == "__saturatef":
            return f"clamp({self._floats(call)[0]}, 0.0f, 1.0f)", _POSTFIX
        if name in ("lround", "lroundf"):
            return f"convert_long(round({args[0]}))", _POSTFIX
        if name == "__frcp_rn":
            return f"1.0f / {self._operand(call.args[0], _UNARY)}", _PRECEDENCE["/"]
        if name in ATOMICS:
            return f"{self._atomic(call)}({', '.join(args)})", _POSTFIX
        kinds = [infer(arg, self.types) for arg in call.args]
        if self.halves and (name in RENAMED or name in MATH.values()):
            args = [converted(text, kind, "float" if kind in HALVES else "")
                    for text, kind in zip(args, kinds, strict=True)]  # fmt: skip
            kinds = ["float" if kind in HALVES else kind for kind in kinds]
        if name == "abs" and kinds:
            return self._absolute(args[0], kinds[0])
        if (name in ("min", "max") or name + "f" in MATH) and kinds and "" not in kinds:
            return self._overloaded(name, args, kinds)
        return f"{RENAMED.get(name, name)}({', '.join(args)})", _POSTFIX

    def _results(self, call: Call) -> tuple[str, int]:
        """``sincos`` gives back what CUDA's writes through its first pointer; the others are alike."""
        value, *pointers = self._arguments(call)
        name = OUTPUTS[call.function]
        if name != "sincos":
            return f"{name}({value}, {', '.join(pointers)})", _POSTFIX
        return f"*({pointers[0]}) = sincos({value}, {pointers[1]})", _SELECT

    def _atomic(self, call: Call) -> str:
        """OpenCL's own 32-bit function, else the helper for that type."""
        pointer = call.args[0]
        kind = infer(pointer.operand, self.types) if isinstance(pointer, Unary) else ""
        suffix = ATOMICS[call.function]
        if kind in HALVES:
            raise PrintError(f"{call.function} of {kind} has no counterpart in OpenCL C")
        if kind in ("int", "unsigned int") and suffix:
            return f"atomic_{suffix}"
        return f"evo_{call.function}" + (f"_{kind}" if kind in ("float", "double") else "")

    def _absolute(self, arg: str, kind: str) -> tuple[str, int]:
        if kind in ("float", "double"):
            return f"fabs({arg})", _POSTFIX
        return f"({opencl_type(kind or 'int')})abs({arg})", _UNARY

    def _overloaded(self, name: str, args: list[str], kinds: list[str]) -> tuple[str, int]:
        """``min``, ``pow``, ``exp``: OpenCL wants arguments of one type, and floating ones for math."""
        common = kinds[0] if len(set(kinds)) == 1 else infer(_sum_of(kinds), dict(zip("abcdefgh", kinds, strict=False)))
        if (name not in ("min", "max") and common in INTEGER_TYPES) or (name == "pow" and len(set(kinds)) > 1):
            common = "double"
        if name in ("min", "max") and common in ("float", "double"):
            name = f"f{name}"
        cast = [
            arg if kind == common else f"({opencl_type(common)})({arg})" for arg, kind in zip(args, kinds, strict=True)
        ]
        return f"{name}({', '.join(cast)})", _POSTFIX

    def _floats(self, call: Call) -> list[str]:
        """Arguments of a single-precision function, converted where they are of another type."""
        result = []
        for arg in call.args:
            text, kind = self.text(arg), infer(arg, self.types)
            if kind in HALVES:
                text = converted(text, kind, "float")
            elif isinstance(arg, Const) and kind == "int":
                text = f"{text}.0f" if text.isdigit() else f"(float)({text})"
            elif kind not in ("float", "") and not kind.endswith("*"):
                text = f"(float)({text})"
            result.append(text)
        return result

    def _arguments(self, call: Call) -> list[str]:
        return [self.text(arg.operand if position in call.references and isinstance(arg, Unary) else arg)
                for position, arg in enumerate(call.args)]  # fmt: skip


def _sum_of(kinds: list[str]) -> Expr:
    total: Expr = Var("a")
    for name in "bcdefgh"[: len(kinds) - 1]:
        total = Binary("+", total, Var(name))
    return total
