"""Types, casts and polynomials of integer expressions, held to C's arithmetic as the interpreter computes it."""

from __future__ import annotations

import random
from collections.abc import Mapping

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from genome.analysis.casts import mark_rounding
from genome.ir.expr import Binary, Call, Cast, Const, Expr, Index, Select, Unary, Var, children
from genome.ir.kernel import Kernel, Param
from genome.ir.poly import multiple_of, poly, simplify
from genome.ir.stmt import Assign
from genome.ir.types import infer
from tests.interpret.c_values import LONG, Type, Undefined, Unsupported, convert, literal, type_of
from tests.interpret.expressions import Expressions
from tests.interpret.trace import Thread, Trace

SCALARS = {"i": "int", "j": "int", "n": "int", "u": "unsigned int", "w": "size_t", "l": "long long", "f": "float"}
PARAMS = (Param("out", "long long", pointer=True), *(Param(name, ctype) for name, ctype in SCALARS.items()))
NAMES = Expressions(Kernel("k", PARAMS, (), ()))
TYPES = {param.name: param.ctype for param in PARAMS}


def evaluated(expr: Expr, values: Mapping[str, float]) -> int:
    """The expression, converted to 64 bits."""
    env = {name: convert(values.get(name, 0), type_of(ctype)) for name, ctype in SCALARS.items()}
    thread = Thread(Trace(()), (0, 0, 0), (0, 0, 0), env, {}, random.Random(0))
    return int(convert(NAMES.expr(expr, 0)[0](thread), LONG))


def typed(expr: Expr) -> Type:
    return NAMES.expr(expr, 0)[1]


@given(st.integers(0, 2**64 - 1), st.sampled_from(["", "u", "l", "ul", "ll", "ull", "U", "LL"]),
       st.sampled_from(["{}", "0x{:x}", "0{:o}"]))  # fmt: skip
@example(0xFFFFFFFF, "", "0x{:x}")
@example(2**32, "u", "{}")
def test_a_literal_has_the_first_type_that_holds_it(value: int, suffix: str, form: str) -> None:
    text = form.format(value) + suffix
    assume(form != "{}" or value < 2**63 or "u" in suffix.lower())  # C has no type for the others
    assume("u" in suffix.lower() or value < 2**63)
    assert type_of(infer(Const(text), {})) == literal(text)[1], text


leaves = st.one_of(
    st.sampled_from([Var(name) for name in SCALARS]),
    st.sampled_from([Const(text) for text in ("0", "1", "3", "7", "2u", "5ll", "0x10", "1.5f", "4294967295u")]),
)


def branches(part: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return st.one_of(
        st.builds(Binary, st.sampled_from(["+", "-", "*", "+", "*", "/", "<", "=="]), part, part),
        st.builds(lambda a, by: Binary("<<", Cast("int", a), by), part, st.sampled_from([Const("1"), Const("3")])),
        st.builds(Unary, st.sampled_from(["-", "+"]), part),
        st.builds(Cast, st.sampled_from(["int", "size_t", "long long", "unsigned int", "float", "short"]), part),
        st.builds(Select, part, part, part),
        st.builds(lambda a, b: Call("min", (a, b)), part, part),
    )


expressions = st.recursive(leaves, branches, max_leaves=8)
values = st.fixed_dictionaries({name: st.integers(0, 9) for name in "ijnuwl"}) | st.fixed_dictionaries(
    {name: st.integers(0, 70_000) for name in "ijnuwl"}
)


@settings(max_examples=150, deadline=None)
@given(expressions)
def test_the_type_of_an_expression_is_cs_or_unknown(expr: Expr) -> None:
    said = infer(expr, TYPES)
    try:
        real = typed(expr)
    except Unsupported:
        assume(False)
    assert said == "" or type_of(said) == real or (said == "bool" and real.itemsize == 4), (expr, said, real)


def marked(expr: Expr) -> Expr:
    kernel = mark_rounding(Kernel("k", PARAMS, (), (Assign(Index("out", (Const("0"),)), expr),)))
    (stmt,) = kernel.body
    assert isinstance(stmt, Assign)
    return stmt.value


@settings(max_examples=200, deadline=None)
@given(expressions, values)
@example(
    Binary("*", Binary("*", Var("w"), Var("i")), Var("j")), {"i": 70_000, "j": 70_000, "w": 3, "n": 1, "u": 1, "l": 1}
)
@example(Binary("*", Var("n"), Binary("+", Binary("*", Var("l"), Var("i")), Var("j"))),
         {"i": 70_000, "j": 7, "w": 3, "n": 70_000, "u": 1, "l": 2})  # fmt: skip
def test_the_normal_form_keeps_the_value(expr: Expr, env: dict[str, int]) -> None:
    """Wherever no signed arithmetic of the source overflows: C leaves that open."""
    expr = marked(expr)
    try:
        expected = evaluated(expr, env)
        assume(not overflows(expr, env))
    except (Undefined, Unsupported):
        assume(False)
    assume(infer(expr, TYPES) not in ("", "float", "double"))
    assert evaluated(simplify(expr), env) == expected, simplify(expr)


def overflows(expr: Expr, env: Mapping[str, int]) -> bool:
    """True if an integer operation of the expression has a result that its type does not hold."""
    if any(overflows(child, env) for child in children(expr)):
        return True
    if not isinstance(expr, Binary | Unary | Cast) or typed(expr).kind == "f":
        return False
    exact = exact_value(expr, env)
    return exact is not None and exact != evaluated(expr, env)


def exact_value(expr: Expr, env: Mapping[str, int]) -> int | None:
    """The operation on the operands' own values without a limit of bits."""
    match expr:
        case Binary("+" | "-" | "*" | "<<" as op, left, right):
            a, b = evaluated(left, env), evaluated(right, env)
            return a << b if op == "<<" else {"+": a + b, "-": a - b, "*": a * b}[op]
        case Unary("-", operand):
            return -evaluated(operand, env)
        case Cast(_, operand) if typed(operand).kind != "f":
            return evaluated(operand, env)
    return None


@settings(max_examples=100, deadline=None)
@given(expressions, values, st.fixed_dictionaries({name: st.integers(1, 6) for name in "ijn"}))
def test_a_divisor_of_a_polynomial_divides_its_value(expr: Expr, env: dict[str, int], by: dict[str, int]) -> None:
    expr = marked(expr)
    env = env | {name: env[name] // factor * factor for name, factor in by.items()}
    try:
        assume(infer(expr, TYPES) not in ("", "float", "double") and not overflows(expr, env))
        value = evaluated(expr, env)
    except (Undefined, Unsupported):
        assume(False)
    divisor = multiple_of(poly(expr), by)
    assert value == 0 if divisor == 0 else value % divisor == 0
