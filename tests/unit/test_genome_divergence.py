"""A barrier is refused wherever threads of one block may go different ways, and nowhere else."""

from __future__ import annotations

import pytest

from genome.analysis.divergence import divergent_barrier
from genome.ir.expr import Binary, Const, Expr, Index, Var
from genome.ir.kernel import Kernel, Param
from genome.ir.stmt import Assign, Barrier, Body, Decl, If, Loop, Opaque, Space

LID, BLOCK, N = Var("lid"), Var("base"), Var("n")
ZERO, HALF = Const("0"), Const("16")
TILE = Decl("tile", "float", (32,), space=Space.SHARED)
PROLOGUE = (
    Decl("base", "int", init=Binary("*", Var("blockIdx.x"), Const("32"))),
    Decl("lid", "int", init=Var("threadIdx.x")),
)


def kernel(*body: object) -> Kernel:
    params = (Param("x", "float", pointer=True), Param("y", "float", pointer=True), Param("n", "int"))
    statements: Body = tuple(body)  # type: ignore[arg-type]
    return Kernel("k", params, (), statements, prologue=PROLOGUE, shared=(TILE,), mapped=True, threads=(("lid", 32),))


def less(a: Expr, b: Expr) -> Expr:
    return Binary("<", a, b)


def at(array: str, index: Expr) -> Index:
    return Index(array, (index,))


STORE = Assign(at("tile", LID), at("x", LID))

DIVERGENT: dict[str, tuple[object, ...]] = {
    "thread index": (If(less(LID, HALF), (Barrier(),)),),
    "else branch": (If(less(LID, HALF), (), (Barrier(),)),),
    "builtin": (If(less(Var("threadIdx.x"), HALF), (Barrier(),)),),
    "loop bound": (Loop("k", ZERO, LID, (Barrier(),)),),
    "loop start": (Loop("k", LID, N, (Barrier(),)),),
    "through a declaration": (Decl("t", "int", init=Binary("+", LID, BLOCK)), If(less(Var("t"), N), (Barrier(),))),
    "through control": (
        Decl("t", "int", init=ZERO), If(less(LID, HALF), (Assign(Var("t"), N),)), If(less(Var("t"), N), (Barrier(),)),
    ),
    "found in a later pass": (
        Decl("a", "int", init=ZERO), Decl("b", "int", init=ZERO),
        Loop("k", ZERO, N, (If(less(Var("a"), N), (Barrier(),)), Assign(Var("a"), Var("b")), Assign(Var("b"), LID))),
    ),
    "a value from memory": (If(less(at("x", LID), N), (Barrier(),)),),
    "memory that the kernel writes": (Assign(at("y", BLOCK), N), If(less(at("y", BLOCK), N), (Barrier(),))),
    "opaque text": (
        Decl("t", "int", init=ZERO), Opaque("t = f();", writes=("t",)), If(less(Var("t"), N), (Barrier(),)),
    ),
}  # fmt: skip

UNIFORM: dict[str, tuple[object, ...]] = {
    "no condition": (STORE, Barrier()),
    "block index": (If(less(BLOCK, N), (STORE, Barrier())),),
    "counted loop": (Loop("k", ZERO, N, (STORE, Barrier(), Assign(at("y", LID), at("tile", ZERO)), Barrier())),),
    "nested loops": (Loop("k", ZERO, N, (Loop("j", Var("k"), N, (Barrier(),)),)),),
    "a read of untouched memory": (Loop("k", at("x", BLOCK), N, (Barrier(),)),),
    "no barrier at all": (If(less(LID, HALF), (STORE,)),),
    "barrier behind the condition": (If(less(LID, HALF), (STORE,)), Barrier()),
}


@pytest.mark.parametrize("name", DIVERGENT)
def test_threads_that_part_ways_meet_no_barrier(name: str) -> None:
    assert divergent_barrier(kernel(*DIVERGENT[name])) is not None


@pytest.mark.parametrize("name", UNIFORM)
def test_a_barrier_for_the_whole_block_stands(name: str) -> None:
    assert divergent_barrier(kernel(*UNIFORM[name])) is None
