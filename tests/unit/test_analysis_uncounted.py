"""What the analyses say of loops that end by a condition or by break."""

from __future__ import annotations

import pytest

from genome.analysis.analyse import analyse
from genome.analysis.dependence import FissionError, Variation, fission
from genome.analysis.facts import BranchKind, KernelFacts, Uniformity
from genome.analysis.iterations import independent
from genome.analysis.proof import Standing
from genome.analysis.races import race
from genome.analysis.uses import Use
from genome.ir.expr import Const, Var
from genome.ir.kernel import Kernel
from genome.ir.print_source import name_types
from genome.ir.stmt import Decl, Loop, LoopRole, Repeat, flatten
from genome.source.frontend import parse_kernel
from genome.spec import Assumptions

BLOCK = (32, 1, 1)
HEAD = (
    "__global__ void k(const int* p, float* x, float* y, int n) { __shared__ float s[32]; int t = threadIdx.x, v = 0;"
)


def kernel(body: str) -> Kernel:
    return parse_kernel(f"{HEAD} {body} }}", "k")


def facts(body: str) -> KernelFacts:
    found = kernel(body)
    assert any(isinstance(stmt, Repeat) for stmt in flatten(found.body))
    return analyse(found, Assumptions(no_alias=True), BLOCK)


SWEEP = "v = 0; while (v < {bound}) {{ v += 1 + p[v]; s[t] = x[v]; {first} y[t] += s[31 - t]; {second} }}"
SYNC = "__syncthreads();"


@pytest.mark.parametrize(
    "bound, reached", [("n", True), ("p[3]", True), ("s[0]", True), ("t", False), ("s[t]", False), ("y[0]", False)]
)
def test_a_barrier_inside_needs_a_uniform_way_out(bound: str, reached: bool) -> None:
    found = facts(SWEEP.format(bound=bound, first=SYNC, second=SYNC))
    assert [barrier.reached.standing is not Standing.DOUBTED for barrier in found.barriers] == [reached, reached]


def test_a_barrier_behind_a_break_of_some_threads_is_doubted() -> None:
    found = facts(f"while (v < n) {{ v += 2; {SYNC} if (p[t] == v) break; }}")
    assert [barrier.reached.holds for barrier in found.barriers] == [False]


def test_a_barrier_behind_the_loop_is_reached_by_all() -> None:
    found = facts(f"while (v < t) {{ v += 1 + p[v]; }} {SYNC}")
    assert [barrier.reached.holds for barrier in found.barriers] == [True]


@pytest.mark.parametrize("first, second, told", [(SYNC, SYNC, 0), ("", SYNC, 1), (SYNC, "", 1), ("", "", 1)])
def test_turns_race_with_each_other(first: str, second: str, told: int) -> None:
    """With one barrier alone a thread overtakes others: whether it does, hangs on a further turn."""
    body = SWEEP.format(bound="n", first=first, second=second)
    assert len({race.array for race in facts(body).races}) == told
    assert (race(kernel(body)) == "s") == bool(told)


def test_a_race_with_the_turn_before_is_never_sure() -> None:
    (found,) = facts(SWEEP.format(bound="n", first=SYNC, second="")).races
    assert found.proof.standing is Standing.DOUBTED


def test_what_is_set_inside_differs_where_threads_leave_at_different_turns() -> None:
    found = facts("int w = 0; while (v < t) { v += p[v]; w += 3; } if (w > 5) y[0] = 1.0f; if (n > 5) y[1] = 1.0f;")
    assert [(branch.kind, branch.uniformity) for branch in found.branches] == [
        (BranchKind.LOOP, Uniformity.DIVERGENT), (BranchKind.IF, Uniformity.DIVERGENT),
        (BranchKind.IF, Uniformity.GRID),
    ]  # fmt: skip


def test_reads_and_writes_inside_are_seen() -> None:
    found = facts("while (v < n) { v += p[v]; y[t] += 1.0f; }")
    seen = {use.array: (use.read, use.written) for use in found.uses}
    assert seen == {
        "p": (Use.SOMEWHERE, Use.NEVER), "x": (Use.NEVER, Use.NEVER), "y": (Use.SOMEWHERE, Use.SOMEWHERE),
    }  # fmt: skip
    assert not found.opaque
    (index,) = [access for access in found.accesses if access.array == "p"]
    assert index.form is None and index.proof.reason.startswith("v is set again")
    assert index.uncounted


def test_work_is_not_known_before_it_runs() -> None:
    work = facts("do { v += p[v]; y[t] += 1.0f; } while (v < n); x[t] = 1.0f;").work
    assert work.proof.standing is Standing.DOUBTED
    assert "turns" in work.proof.reason
    assert work.bytes_written.at({}, unknown=0) == 4
    assert work.bytes_written.at({}, unknown=5) == 24
    assert work.flops.at({}, unknown=5) == 5


def test_iterations_of_a_loop_around_are_judged_by_what_turns_inside_do() -> None:
    own = "for (int j = 0; j < n; j++) { int w = j; while (w > 3) { w = w / 2 - p[w]; } y[j] = w; }"
    carried = "for (int j = 0; j < n; j++) { int w = 0; while (w < 9) { w += 1 + p[w]; v = v * 3 + w; } y[j] = v; }"
    facts_of = [analyse(kernel(text), block=BLOCK).loops[0] for text in (own, carried)]
    assert [fact.independent.standing for fact in facts_of][1] is Standing.DOUBTED
    loop = next(stmt for stmt in kernel(own).body if isinstance(stmt, Loop))
    found = independent(loop, frozenset({"p", "x", "y"}), frozenset({"n"}), True, name_types(kernel(own)))
    assert found.reductions == ()


def test_a_sum_inside_is_a_reduction_unless_it_decides_when_to_leave() -> None:
    loop = "for (int j = 0; j < n; j++) { int w = j; while ({}) { w = w / 2 - p[w]; f += x[w]; } }"
    text = f"float f = 0.0f; {loop} y[t] = f;"
    free, steering = (analyse(kernel(text.replace("{}", c, 1)), block=BLOCK).loops[0] for c in ("w > 3", "f < w"))
    assert free.reductions == ("f",)
    assert steering.reductions == ()


LANE = Loop("o", Const("0"), Const("4"), (), role=LoopRole.INSTANCE, unroll=0)


def test_fission_leaves_it_in_one_piece() -> None:
    loop = kernel("float f = 1.0f; while (v < n) { v += 1 + p[v]; f *= x[v + o]; } y[t] = f;").body[1:]
    assert Variation(loop, ["o"]).of_name("f") == {"o"}
    parts = fission(loop, (LANE,))
    (whole,) = [part for part in parts if any(isinstance(stmt, Repeat) for stmt in flatten((part,)))]
    assert isinstance(whole, Loop) and len(whole.body) == 1 and isinstance(whole.body[0], Repeat)


def test_fission_refuses_a_barrier_inside() -> None:
    body = (Decl("w", "int", init=Var("o")), *kernel(f"while (v < n) {{ v += p[v]; {SYNC} }}").body)
    with pytest.raises(FissionError, match="loop that ends by a condition"):
        fission(body, (LANE,))


@pytest.mark.parametrize("wait, told", [("", {"m"}), (SYNC, set())])
def test_threads_race_for_a_shared_scalar(wait: str, told: set[str]) -> None:
    body = f"__shared__ int m; while (v < n) {{ v += 1 + p[v]; if (t == 0) m = v; {wait} y[t] += m; {SYNC} }}"
    assert {race.array for race in facts(body).races} == told


@pytest.mark.parametrize("end, reached", [("m == 0 && a < n", True), ("m == 0 && v < n", False)])
def test_a_block_agrees_on_a_shared_scalar(end: str, reached: bool) -> None:
    turn = f"{SYNC} if (p[t] > n) m = 1; a++; v += p[t]; {SYNC}"
    found = facts(f"__shared__ int m; int a = 0; do {{ {turn} }} while ({end});")
    assert [barrier.reached.holds for barrier in found.barriers] == [reached, reached]
