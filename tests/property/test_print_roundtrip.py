"""Printed expressions and statements read back to what they were, and OpenCL computes what the tree says."""

from __future__ import annotations

import ast
import operator

from hypothesis import given, settings
from hypothesis import strategies as st

from genome.ir.expr import Binary, Call, Cast, Const, Expr, Index, Member, Select, Unary, Var
from genome.ir.print_expr import ExprPrinter
from genome.ir.print_source import print_kernel
from genome.ir.print_tokens import render, tokenize
from genome.ir.stmt import Assign, Decl
from genome.source.frontend import parse_kernel
from genome.variant import Target

NAMES = ["a", "b", "c", "n", "m"]
BINARY = ["+", "-", "*", "/", "%", "<<", ">>", "<", ">", "<=", ">=", "==", "!=", "&", "|", "^", "&&", "||"]

leaves = st.one_of(
    st.sampled_from([Var(name) for name in NAMES]),
    st.sampled_from([Const(text) for text in ("0", "1", "17", "0x1fu", "2.5f", "1e-6", "3ull", "'a'")]),
    st.sampled_from([Member(Var("v"), "x"), Index("p", (Var("n"),))]),
)


def nodes(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return st.one_of(
        st.builds(Binary, st.sampled_from(BINARY), children, children),
        st.builds(Unary, st.sampled_from(["-", "!", "~"]), children),
        st.builds(Select, children, children, children),
        st.builds(Cast, st.sampled_from(["int", "float", "unsigned int", "long long", "half"]), children),
        st.builds(lambda part: Index("p", (part,)), children),
        st.builds(lambda one, two: Index("t", (one, two)), children, children),
        st.builds(lambda one, two: Call("fmaf", (one, two, one)), children, children),
        st.builds(lambda part: Member(Index("q", (part,)), "y"), children),
    )


expressions = st.recursive(leaves, nodes, max_leaves=12)


def read_back(text: str) -> Expr:
    source = f"""struct V {{ float x, y; }};
    __global__ void k(const float* p, V* q, float* out, V v, int a, int b, int c, int n, int m) {{
        __shared__ float t[4][4];
        out[0] = {text};
    }}"""
    (stmt,) = parse_kernel(source, "k").body
    assert isinstance(stmt, Assign), text
    return stmt.value


@settings(max_examples=300, deadline=None)
@given(expressions)
def test_printed_expression_reads_back(expr: Expr) -> None:
    back = read_back(ExprPrinter(Target.CUDA).text(expr))
    assert back in (expr, Cast("float", expr, True)), "the conversion of a half to out's type is written out"


arithmetic = st.recursive(
    st.sampled_from([Var("a"), Var("b"), Const("2"), Const("5")]),
    lambda part: st.one_of(
        st.builds(Binary, st.sampled_from(["+", "-", "*", "&", "|", "^"]), part, part),
        st.builds(Binary, st.just("<<"), part, st.just(Const("1"))),
        st.builds(Unary, st.sampled_from(["-", "~"]), part),
    ),
    max_leaves=12,
)

TABLE = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "<<": operator.lshift,
}  # fmt: skip
PYTHON = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<",
}  # fmt: skip


def value(expr: Expr, env: dict[str, int]) -> int:
    match expr:
        case Const(text=text):
            return int(text)
        case Var(name=name):
            return env[name]
        case Unary(op=op, operand=operand):
            return -value(operand, env) if op == "-" else ~value(operand, env)
        case Binary(op=op, left=left, right=right):
            return TABLE[op](value(left, env), value(right, env))
    raise AssertionError(expr)


def python_value(node: ast.expr, env: dict[str, int]) -> int:
    match node:
        case ast.Constant(value=int(number)):
            return number
        case ast.Name(id=name):
            return env[name]
        case ast.UnaryOp(op=op, operand=operand):
            inner = python_value(operand, env)
            return -inner if isinstance(op, ast.USub) else ~inner
        case ast.BinOp(left=left, op=op, right=right):
            return TABLE[PYTHON[type(op)]](python_value(left, env), python_value(right, env))
    raise AssertionError(node)


@settings(max_examples=300, deadline=None)
@given(arithmetic)
def test_parentheses_keep_the_value(expr: Expr) -> None:
    """For operators that C and Python bind alike, Python's own reading of the text gives the tree's value."""
    env = {"a": 7, "b": -3}
    tree = ast.parse(ExprPrinter(Target.CUDA).text(expr), mode="eval").body
    assert python_value(tree, env) == value(expr, env)


STATEMENTS = [
    "float v = x[i];",
    "int t = i * 2;",
    "y[i] = 0.5f;",
    "y[i] += x[i + 1];",
    "for (int j = 0; j < n; j++) y[i] += x[j];",
    "if (x[i] > 0.0f) y[i] = 1.0f; else y[i] = 2.0f;",
    "{ float v = 2.0f; y[i] *= v; }",
    "while (y[i] > 9.0f) y[i] *= 0.5f;",
    "for (int j = 0; j < 4; ++j) { if (j == 2) continue; y[i] -= j; }",
    "y[i]++;",
    "#pragma unroll 2\nfor (int q = 1; q <= n; q += 2) { int z = q + i; y[z] = x[z]; }",
    "atomicAdd(&y[i], 1.0f);",
    "const float* row = x + i * n; y[i] = row[1];",
    "if (n < 3) return;",
    "switch (n) { case 1: y[i] = 1; break; default: break; }",
]
statements = st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=6, unique=True)
PIECES = ["a", "1", "+", "++", "-", "->", "(", ")", "float4", ".5f", "<<", "<<=", "\n", " ", "::", '"s"']


@settings(max_examples=150, deadline=None)
@given(statements, st.booleans())
def test_printed_kernel_is_a_fixed_point_with_unique_names(parts: list[str], guarded: bool) -> None:
    inner = "\n".join(parts)
    body = f"if (i < n) {{\n{inner}\n}}" if guarded else f"if (i >= n) return;\n{inner}"
    source = f"""__global__ void k(const float* x, float* y, int n) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        {body}
    }}"""
    kernel = parse_kernel(source, "k")
    printed = print_kernel(kernel, Target.CUDA)
    assert kernel.axes
    assert print_kernel(parse_kernel(printed, "k"), Target.CUDA) == printed
    declared = [stmt.name for stmt in kernel.body if isinstance(stmt, Decl)]
    assert len(declared) == len(set(declared))
    print_kernel(kernel, Target.OPENCL)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=20))
def test_tokens_survive_rendering(parts: list[str]) -> None:
    tokens = tokenize(" ".join(parts))
    again = tokenize(render(token._replace(space="") for token in tokens))
    assert [token.text for token in again] == [token.text for token in tokens]
