"""Laws of expressions of sizes, polynomials, genomes and footprints."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genome.analysis.footprint import FootprintError, Range, footprint, union
from genome.genes import Gene, Genome, Site
from genome.ir.expr import Binary, Const, Expr, Unary, Var, substitute
from genome.ir.poly import multiple_of, poly, simplify
from genome.sizes import ExpressionError, SizeExpr

NAMES = ("i", "j", "k", "n")


def expressions(depth: int = 4) -> st.SearchStrategy[Expr]:
    leaves = st.sampled_from([Var(name) for name in NAMES]) | st.integers(0, 9).map(lambda n: Const(str(n)))
    return st.recursive(
        leaves,
        lambda inner: (
            st.builds(Binary, st.sampled_from("+-*"), inner, inner) | st.builds(lambda e: Unary("-", e), inner)
        ),
        max_leaves=2**depth,
    )


def value(expr: Expr, env: dict[str, int]) -> int:
    match expr:
        case Var(name):
            return env[name]
        case Const():
            assert expr.value is not None
            return expr.value
        case Unary(_, operand):
            return -value(operand, env)
        case Binary(op, left, right):
            a, b = value(left, env), value(right, env)
            return a + b if op == "+" else a - b if op == "-" else a * b
    raise AssertionError(expr)


ENVS = st.fixed_dictionaries({name: st.integers(-7, 7) for name in NAMES})


@given(expressions(), ENVS)
def test_the_normal_form_has_the_same_value(expr: Expr, env: dict[str, int]) -> None:
    assert value(simplify(expr), env) == value(expr, env)


@given(expressions(), expressions())
def test_addition_commutes_in_normal_form(a: Expr, b: Expr) -> None:
    assert poly(Binary("+", a, b)) == poly(Binary("+", b, a))
    assert poly(Binary("*", a, b)) == poly(Binary("*", b, a))


@given(expressions(), ENVS, st.sampled_from(NAMES))
def test_a_coefficient_splits_the_polynomial(expr: Expr, env: dict[str, int], name: str) -> None:
    split = poly(expr).coefficient(name)
    if split is None:
        return
    factor, rest = (value(part.to_expr(), env) for part in split)
    assert factor * env[name] + rest == value(expr, env)


@given(expressions(), ENVS)
def test_a_multiple_divides_every_value(expr: Expr, env: dict[str, int]) -> None:
    factor = multiple_of(poly(expr), {"k": 4, "n": 6})
    env = {**env, "k": env["k"] * 4, "n": env["n"] * 6}
    result = value(expr, env)
    assert result == 0 if factor == 0 else result % factor == 0


@given(expressions(), expressions(), ENVS)
def test_substitution_is_evaluation_in_steps(expr: Expr, other: Expr, env: dict[str, int]) -> None:
    assert value(substitute(expr, {"i": other}), env) == value(expr, {**env, "i": value(other, env)})


@given(expressions())
def test_equal_expressions_have_equal_hashes(expr: Expr) -> None:
    copy = substitute(substitute(expr, {"i": Var("zz")}), {"zz": Var("i")})
    assert copy == expr
    assert hash(copy) == hash(expr)


@given(
    st.lists(st.tuples(st.sampled_from(["1", "2", "4", "n", "n+2", "2*n"]), st.integers(1, 4), st.integers(0, 3)),
             min_size=1, max_size=3),
    st.integers(0, 5),
)  # fmt: skip
def test_a_footprint_is_a_box_around_every_address(parts: list[tuple[str, int, int]], offset: int) -> None:
    scales = {"1": Const("1"), "2": Const("2"), "4": Const("4"), "n": Var("n"),
              "n+2": Binary("+", Var("n"), Const("2")), "2*n": Binary("*", Const("2"), Var("n"))}  # fmt: skip
    subscript: Expr = Binary("+", Var("base"), Const(str(offset)))
    ranges = {}
    for number, (scale, count, first) in enumerate(parts):
        ranges[f"v{number}"] = Range(count, first)
        subscript = Binary("+", subscript, Binary("*", scales[scale], Var(f"v{number}")))
    try:
        box = footprint(subscript, ranges)
    except FootprintError:
        return
    env = {"n": 1009, "base": 17}
    strides = [value(stride.to_expr(), env) for stride in box.strides]
    inside = {
        value(box.base.to_expr(), env) + sum(s * d for s, d in zip(strides, digits, strict=True))
        for digits in itertools.product(*(range(box.size(d)) for d in range(len(strides))))
    }
    touched = {
        value(subscript, {**env, **dict(zip(ranges, digits, strict=True))})
        for digits in itertools.product(*(range(r.first, r.first + r.count) for r in ranges.values()))
    }
    assert touched <= inside
    assert min(inside) == min(touched)
    assert max(inside) == max(touched), "a box must not reach beyond the last touched address"


@given(st.integers(-3, 3), st.integers(-3, 3))
def test_a_union_holds_both_translates(up: int, right: int) -> None:
    def read(row: int, column: int) -> Expr:
        row_expr = Binary("+", Var("y"), Const(str(row + 3)))
        return Binary("+", Binary("*", row_expr, Var("n")), Binary("+", Var("x"), Const(str(column + 3))))

    ranges = {"x": Range(4), "y": Range(2)}
    boxes = [footprint(read(0, 0), ranges), footprint(read(up, right), ranges)]
    box, offsets = union(boxes)
    assert list(map(min, zip(*offsets, strict=True))) == [0, 0]
    assert (offsets[1][0] - offsets[0][0], offsets[1][1] - offsets[0][1]) == (up, right)
    assert [box.size(0), box.size(1)] == [2, 4]


GENES = st.builds(
    lambda name, label, role, params: Gene.of(name, Site(label, role), **params),
    st.sampled_from(["strip", "unroll", "block_shape"]),
    st.text("abcxyz_", min_size=1, max_size=6),
    st.sampled_from(["", "reduction[0]", "parallel.x"]),
    st.dictionaries(st.sampled_from(["factor", "threads", "mode"]), st.integers(0, 64) | st.booleans() | st.text("ab")),
)


@given(st.lists(GENES, max_size=6))
def test_a_genome_survives_a_json_round_trip(genes: list[Gene]) -> None:
    genome = Genome(tuple(genes))
    again = Genome.from_json(json.loads(json.dumps(genome.to_json())))
    assert again == genome
    assert again.digest() == genome.digest()


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"transform": "x"},
        {"transform": "x", "site": 3, "params": {}},
        {"transform": "x", "site": {"label": "k"}, "params": {"f": [1]}},
        7,
        None,
    ],
)
def test_malformed_genes_are_refused(data: object) -> None:
    with pytest.raises(ValueError):
        Gene.from_json(data)  # type: ignore[arg-type]


def _joined(left: str, op: str, right: str) -> str:
    return f"({left} {op} {right})"


SIZES = st.recursive(
    st.sampled_from(["M", "N"]) | st.integers(0, 20).map(str),
    lambda inner: (
        st.builds(_joined, inner, st.sampled_from(["+", "-", "*"]), inner)
        | st.builds(_joined, inner, st.sampled_from(["//", "%"]), st.integers(1, 9).map(str))
    ),
    max_leaves=8,
)


@given(SIZES, st.integers(1, 30), st.integers(1, 30))
def test_size_expressions_agree_with_python(text: str, m: int, n: int) -> None:
    expected = eval(text, {"__builtins__": {}}, {"M": m, "N": n})
    assert SizeExpr(text).evaluate({"M": m, "N": n}) == expected


@pytest.mark.parametrize(
    "text", ["f(N)", "N.real", "N / 2", "N ** 2", "1.5", "'a'", "[N]", "N if M else 1", "", "N +", "True", "lambda: 1",
             "__import__('os')", "(" * 500 + "N" + ")" * 500])  # fmt: skip
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        SizeExpr(text)


def test_unknown_sizes_and_zero_divisors_are_errors_of_their_own() -> None:
    with pytest.raises(ExpressionError, match="unknown size"):
        SizeExpr("Q + 1").evaluate({"N": 1})
    with pytest.raises(ExpressionError, match="divides by zero"):
        SizeExpr("4 // N").evaluate({"N": 0})
