"""Indices in printing form hold the values they had, and end with what varies fastest."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from genome.ir.expr import Binary, Cast, Const, Expr, Index, Unary, Var
from genome.ir.index_form import settle_indices
from genome.ir.kernel import Kernel, Param
from genome.ir.print_expr import ExprPrinter
from genome.ir.stmt import Assign, Body, Decl, Loop
from genome.variant import Target

BASE, THREAD, FIRST = Var("c_block"), Var("c_thread"), "c_first"
START = Binary("+", BASE, Binary("*", THREAD, Const("4")))
NAMES = ("c_block", "c_thread", "c_inner", "k", "n", "wide")

leaves = st.one_of(
    st.sampled_from([Var(name) for name in NAMES]), st.integers(0, 40).map(lambda number: Const(str(number)))
)


def _grow(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return st.one_of(
        st.builds(Binary, st.sampled_from(["+", "+", "-", "*"]), inner, inner),
        st.builds(Cast, st.sampled_from(["long", "size_t"]), inner),
        st.builds(Unary, st.just("-"), inner),
        st.just(START),
    )


def kernel(subscript: Expr) -> Kernel:
    store = Assign(Index("y", (subscript,)), Const("1.0f"))
    inner = Loop("c_inner", Const("0"), Const("4"), (store,))
    body: Body = (Loop("k", Const("0"), Var("n"), (inner,)),)
    params = (Param("y", "float", pointer=True), Param("n", "int"), Param("wide", "long long"))
    prologue = (Decl("c_block", "int", init=Const("8")), Decl("c_thread", "int", init=Const("3")))
    first = Decl(FIRST, "int", init=START, const=True)
    return Kernel("f", params, (), body, prologue=prologue, firsts=(first,), mapped=True)


def settled(subscript: Expr) -> Expr:
    loop = settle_indices(kernel(subscript)).body[0]
    assert isinstance(loop, Loop) and isinstance(loop.body[0], Loop)
    store = loop.body[0].body[0]
    assert isinstance(store, Assign) and isinstance(store.target, Index)
    return store.target.subscripts[0]


def value(expr: Expr, names: dict[str, int]) -> int:
    """The address modulo 2**64, as the hardware adds it: sums in which nothing overflows are the same in any width."""
    match expr:
        case Var(name):
            return names[name]
        case Const():
            assert expr.value is not None
            return expr.value
        case Unary("-", operand):
            return -value(operand, names)
        case Cast(_, operand):
            return value(operand, names)
        case Binary("+", left, right):
            return value(left, names) + value(right, names)
        case Binary("-", left, right):
            return value(left, names) - value(right, names)
        case Binary("*", left, right):
            return value(left, names) * value(right, names)
    raise AssertionError(expr)


@given(st.recursive(leaves, _grow, max_leaves=12), st.lists(st.integers(0, 90), min_size=6, max_size=6))
def test_an_index_keeps_its_value(subscript: Expr, numbers: list[int]) -> None:
    names = dict(zip(NAMES, numbers, strict=True))
    names[FIRST] = value(START, names)
    assert value(settled(subscript), names) == value(subscript, names)


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
