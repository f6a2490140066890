"""Indices in printing form hold the values they had, and end with what varies fastest."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from genome.ir.expr import Binary, Cast, Const, Expr, Index, Unary, Var
from genome.ir.index_form import settle_indices
from genome.ir.kernel import Kernel, Param
from genome.ir.poly import simplify
from genome.ir.print_expr import ExprPrinter
from genome.ir.stmt import Assign, Body, Decl, Loop
from genome.variant import Target

BASE, THREAD, FIRST = Var("c_block"), Var("c_thread"), "c_first"
START = Binary("+", BASE, Binary("*", THREAD, Const("4")))
INTEGERS = {"int": (32, True), "unsigned int": (32, False), "long": (64, True), "long long": (64, True),
            "size_t": (64, False), "unsigned long long": (64, False)}  # fmt: skip
RANKS = ("int", "unsigned int", "long", "long long", "size_t", "unsigned long long")
TYPES = {"c_block": "int", "c_thread": "int", "c_inner": "int", "k": "int", "n": "int", "wide": "long long",
         "u": "unsigned int", "size": "size_t", FIRST: "int"}  # fmt: skip
NAMES = tuple(name for name in TYPES if name != FIRST)
LITERALS = ("0", "1", "3", "40", "2u", "4294967295u", "5ll")

leaves = st.one_of(st.sampled_from([Var(name) for name in NAMES]), st.sampled_from(LITERALS).map(Const))


def _grow(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return st.one_of(
        st.builds(Binary, st.sampled_from(["+", "+", "-", "*"]), inner, inner),
        st.builds(Cast, st.sampled_from(["long", "size_t", "unsigned int", "int"]), inner),
        st.builds(Unary, st.just("-"), inner),
        st.just(START),
    )


def kernel(subscript: Expr) -> Kernel:
    store = Assign(Index("y", (subscript,)), Const("1.0f"))
    inner = Loop("c_inner", Const("0"), Const("4"), (store,))
    body: Body = (Loop("k", Const("0"), Var("n"), (inner,)),)
    params = (Param("y", "float", pointer=True), Param("n", "int"), Param("wide", "long long"),
              Param("u", "unsigned int"), Param("size", "size_t"))  # fmt: skip
    prologue = (Decl("c_block", "int", init=Const("8")), Decl("c_thread", "int", init=Const("3")))
    first = Decl(FIRST, "int", init=START, const=True)
    return Kernel("f", params, (), body, prologue=prologue, firsts=(first,), mapped=True)


def settled(subscript: Expr) -> Expr:
    loop = settle_indices(kernel(subscript)).body[0]
    assert isinstance(loop, Loop) and isinstance(loop.body[0], Loop)
    store = loop.body[0].body[0]
    assert isinstance(store, Assign) and isinstance(store.target, Index)
    return store.target.subscripts[0]


BEFORE = Binary("+", Var("k"), Const("4294967295u"))  # k - 1, as 32 unsigned bits
WRAPS = Binary("+", Binary("+", Binary("*", Var("n"), Var("size")), BEFORE), Const("1"))


class Undefined(Exception):
    """Signed arithmetic overflowed: the source may not count on anything."""


def convert(number: int, ctype: str) -> int:
    """C's conversion to an integer type."""
    bits, signed = INTEGERS[ctype]
    number &= (1 << bits) - 1
    return number - (1 << bits) if signed and number >> (bits - 1) else number


def value(expr: Expr, names: dict[str, int], strict: bool) -> tuple[int, str]:
    """(value, type) by C's rules on a 64-bit machine, from a reading of the standard of its own.

    Args:
        expr: The expression.
        names: Values of its variables.
        strict: Whether signed overflow is an error, as in C; else it wraps round, as the hardware's does.
    """
    match expr:
        case Var(name):
            return names[name], TYPES[name]
        case Const(text):
            kind = "long long" if text.endswith("ll") else "unsigned int" if text.endswith("u") else "int"
            return int(text.rstrip("ul")), kind
        case Unary("-", operand):
            number, kind = value(operand, names, strict)
            return fit(-number, kind, strict), kind
        case Cast(ctype, operand):
            return convert(value(operand, names, strict)[0], ctype), ctype
        case Binary(op, left, right):
            (a, one), (b, other) = value(left, names, strict), value(right, names, strict)
            kind = max(one, other, key=RANKS.index)
            a, b = convert(a, kind), convert(b, kind)
            return fit(a + b if op == "+" else a - b if op == "-" else a * b, kind, strict), kind
    raise AssertionError(expr)


def fit(number: int, kind: str, strict: bool) -> int:
    if strict and INTEGERS[kind][1] and convert(number, kind) != number:
        raise Undefined
    return convert(number, kind)


@settings(max_examples=600)
@given(st.recursive(leaves, _grow, max_leaves=12), st.lists(st.integers(0, 90), min_size=8, max_size=8))
@example(WRAPS, [9] * 8)
def test_an_index_keeps_its_value(subscript: Expr, numbers: list[int]) -> None:
    names = dict(zip(NAMES, numbers, strict=True))
    names[FIRST] = value(START, names, True)[0]
    try:
        expected, kind = value(subscript, names, True)
    except Undefined:
        return
    got, other = value(settled(subscript), names, False)
    address = 2**64 - 1
    assert got & address == expected & address, (kind, other)


@given(st.recursive(leaves, _grow, max_leaves=12), st.lists(st.integers(0, 90), min_size=8, max_size=8))
@example(WRAPS, [9] * 8)
def test_a_normal_form_keeps_its_value(subscript: Expr, numbers: list[int]) -> None:
    names = dict(zip(NAMES, numbers, strict=True))
    try:
        expected, _ = value(subscript, names, True)
    except Undefined:
        return
    if 0 <= expected < 2**31:  # what an index of an array can be
        got, _ = value(simplify(subscript), names, False)
        assert got == expected


def text(subscript: Expr) -> str:
    return ExprPrinter(Target.CUDA, {}).text(settled(subscript))


def plus(*terms: Expr) -> Expr:
    result = terms[0]
    for term in terms[1:]:
        result = Binary("+", result, term)
    return result


def test_the_instance_comes_last_and_the_start_by_name() -> None:
    row = Binary("*", Var("k"), Var("n"))
    inner = Var("c_inner")
    assert text(Binary("+", row, plus(BASE, inner, Binary("*", THREAD, Const("4"))))) == "c_first + k * n + c_inner"
    assert text(plus(inner, Const("1"), row, START)) == "c_first + k * n + c_inner + 1"
    assert text(Binary("-", plus(inner, START), Const("1"))) == "c_first + c_inner - 1"


def test_a_multiple_of_the_start_is_found() -> None:
    spread = plus(Binary("*", BASE, Var("n")), Binary("*", Binary("*", THREAD, Const("4")), Var("n")), Var("k"))
    assert text(spread) == "c_first * n + k"


def test_a_start_that_nothing_uses_is_not_declared() -> None:
    names = [stmt.name for stmt in settle_indices(kernel(Var("k"))).prologue if isinstance(stmt, Decl)]
    assert names == ["c_block", "c_thread"]


def test_sums_of_64_bits_stay_so_from_their_first_term() -> None:
    assert text(plus(Cast("size_t", Var("k")), Var("c_inner"), Var("n"))) == "(size_t)n + (size_t)k + c_inner"
