"""Nodes are equal by shape whatever made them, keep nothing that another process would take for true, and are shared
where a rewrite changes nothing.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from genome.ir.expr import (
    Binary,
    Call,
    Cast,
    Const,
    Expr,
    Index,
    Member,
    Select,
    Unary,
    Var,
    accesses,
    calls,
    children,
    names,
    rewrite,
    substitute,
    walk,
)
from genome.ir.print_tokens import tokenize, words
from genome.ir.rewrite_stmt import map_body, map_stmts, substitute_body
from genome.ir.stmt import Assign, Body, Decl, If, Loop, flatten, used_names

NAMES = st.sampled_from(["a", "b", "i", "k", "A"])
LEAVES = st.one_of(st.builds(Var, NAMES), st.builds(Const, st.sampled_from(["0", "1", "2.5f"])))
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(Binary, st.sampled_from(["+", "*", "<"]), inner, inner),
        st.builds(Unary, st.just("-"), inner),
        st.builds(Index, st.sampled_from(["A", "B"]), st.tuples(inner)),
        st.builds(Call, st.sampled_from(["fabsf", "atomicAdd"]), st.tuples(inner, inner)),
        st.builds(Select, inner, inner, inner),
        st.builds(Cast, st.sampled_from(["int", "float"]), inner, st.booleans()),
        st.builds(Member, inner, st.just("x")),
    ),
    max_leaves=12,
)


def spelled(expr: Expr) -> str:
    """Shape and leaves as text: what equality must agree with."""
    return repr(expr)


@given(EXPRESSIONS, EXPRESSIONS)
def test_equality_is_that_of_shapes(one: Expr, other: Expr) -> None:
    assert (one == other) == (spelled(one) == spelled(other))
    if one == other:
        assert hash(one) == hash(other)
    assert rewrite(one, lambda node: type(node)(*[getattr(node, field) for field in node.__match_args__])) == one


@given(EXPRESSIONS)
def test_what_is_kept_with_a_node_is_what_a_walk_finds(expr: Expr) -> None:
    def visit(node: Expr) -> list[Expr]:
        return [node, *(inner for child in children(node) for inner in visit(child))]

    nodes = visit(expr)
    assert list(walk(expr)) == nodes
    assert accesses(expr) == tuple(node for node in nodes if isinstance(node, Index))
    assert calls(expr) == tuple(node for node in nodes if isinstance(node, Call))
    used = [node.name if isinstance(node, Var) else node.array for node in nodes if isinstance(node, (Var, Index))]
    assert names(expr) == tuple(dict.fromkeys(used))


@given(EXPRESSIONS, st.dictionaries(NAMES, LEAVES))
def test_substitution_is_a_rewrite_that_shares_what_it_leaves(expr: Expr, values: dict[str, Expr]) -> None:
    new = substitute(expr, values)
    assert new == rewrite(expr, lambda node: values.get(node.name, node) if isinstance(node, Var) else node)
    if not any(isinstance(node, Var) and node.name in values for node in walk(expr)):
        assert new is expr


def test_statements_that_a_rewrite_leaves_alone_stay_the_same_objects() -> None:
    kept = Assign(Index("A", (Var("i"),)), Var("x"), line=7)
    body: Body = (
        Loop("i", Const("0"), Var("n"), (kept, If(Var("c"), (Assign(Var("x"), Var("k")),))), line=3),
        Decl("y", "int", init=Var("i")),
    )
    assert map_body(body, lambda expr: expr) is body
    assert map_stmts(body, lambda stmt: (stmt,)) is body
    changed = substitute_body(body, {"k": Const("4")})
    assert next(stmt for stmt in flatten(changed) if stmt == kept) is kept
    assert changed[1] is body[1]
    assert "k" in used_names(body) and "k" not in used_names(changed)
    assert [stmt.line for stmt in flatten(changed)] == [stmt.line for stmt in flatten(body)]


def test_a_line_tells_no_two_statements_apart() -> None:
    assert Assign(Var("x"), Var("y"), line=1) == Assign(Var("x"), Var("y"), line=2)
    assert Assign(Var("x"), Var("y")) != Assign(Var("x"), Var("y"), "+=")
    assert Var("x") != Const("x")


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=3, max_size=6))
def test_statements_are_as_equal_when_they_are_compared_again(shapes: list[tuple[int, int]]) -> None:
    made = [Loop("i", Const("0"), Var(f"n{upper}"), (Assign(Var(f"s{target}"), Const("1"), "+="),))
            for upper, target in shapes]  # fmt: skip
    for _ in range(3):
        for one, shape in zip(made, shapes, strict=True):
            assert [one == other for other in made] == [shape == other for other in shapes]


def test_a_pickled_node_is_found_again_in_a_process_that_hashes_otherwise() -> None:
    body = (Loop("i", Const("0"), Var("n"), (Assign(Index("A", (Var("i"),)), Const("1")),), line=4),)
    hash(body)
    program = f"""
import pickle
from genome.ir.expr import Const, Index, Var
from genome.ir.stmt import Assign, Loop
(loop,) = pickle.loads({pickle.dumps(body)!r})
fresh = Loop("i", Const("0"), Var("n"), (Assign(Index("A", (Var("i"),)), Const("1")),))
assert {{fresh: 1}}[loop] == 1 and loop.line == 4
"""
    environment = {**os.environ, "PYTHONHASHSEED": "4", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)


@given(st.lists(st.sampled_from(["a", "u8", "L", " ", "\n", "//", "/*", "*/", '"', "'", "\\", "#define x", "1e5f", ".5",
                                 ".", "x1", "$", "->*", "<<=", "/=", "1'000", "\\\n"])))  # fmt: skip
def test_the_words_of_a_text_are_its_word_tokens(parts: list[str]) -> None:
    text = "".join(parts)
    assert words(text) == {token.text for token in tokenize(text) if token.kind == "word"}
