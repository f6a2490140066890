"""Whatever interchange, fission, fusion and jamming accept computes what the written order computes, step by step."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import given, settings
from hypothesis import strategies as st

from genome.genes import Genome
from genome.limits import DeviceLimits
from genome.moves import moves
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, KernelSpec, LaunchSpec, ProblemSize, Role
from genome.transforms.builtin import BUILTIN
from genome.variant import Target

SIDE, MOST = 4, 200
KERNEL = "__global__ void f(long long* a, const long long* b) {{ if (threadIdx.x == 0) {{ {body} }} }}"
Index = tuple[int, int, int]
Update = tuple[Index, Index]

index = st.tuples(st.integers(-2, 6), st.integers(-2, 6), st.integers(0, 9))
update = st.tuples(index, index)


def place(form: Index) -> str:
    return f"a[{form[0]} * i + {form[1]} * j + {form[2]} + 40]"


def text(number: int, step: Update) -> str:
    return f"{place(step[0])} = {place(step[1])} * {number + 3} + i * 7 + j;"


def accepted(body: str, transform: str, label: str, **params: int) -> bool:
    args = (ArgSpec("a", "int64", Role.INOUT, (SizeExpr("200"),)), ArgSpec("b", "int64", Role.IN, (SizeExpr("1"),)))
    launch = LaunchSpec((32, 1, 1), grid=(SizeExpr("1"),))
    spec = KernelSpec("f", KERNEL.format(body=body), "f", args, launch, (ProblemSize(()),))
    found = moves(spec, Genome(), BUILTIN, Target.CUDA, DeviceLimits(), only={transform})
    values = [move.domain for move in found if move.site.label == label]
    return any(all(value in domain[name] for name, value in params.items()) for domain in values)


def run(order: Iterable[tuple[int, int, int]], steps: tuple[Update, ...]) -> list[int]:
    memory = list(range(MOST))
    for number, i, j in order:
        (to, source) = steps[number]
        at, read = (form[0] * i + form[1] * j + form[2] + 40 for form in (to, source))
        memory[at] = memory[read] * (number + 3) + i * 7 + j
    return memory


@settings(max_examples=60, deadline=None)
@given(update)
def test_an_accepted_interchange_keeps_every_value(step: Update) -> None:
    body = f"for (int i = 0; i < {SIDE}; i++) for (int j = 0; j < {SIDE}; j++) {text(0, step)}"
    if accepted(body, "interchange", "i"):
        rows = [(i, j) for i in range(SIDE) for j in range(SIDE)]
        columns = ((0, i, j) for j in range(SIDE) for i in range(SIDE))
        assert run(((0, i, j) for i, j in rows), (step,)) == run(columns, (step,))


@settings(max_examples=60, deadline=None)
@given(update)
def test_iterations_that_run_together_keep_every_value(step: Update) -> None:
    body = f"for (int i = 0; i < {SIDE}; i++) for (int j = 0; j < {SIDE}; j++) {text(0, step)}"
    if accepted(body, "unroll_jam", "i", factor=2):
        apart = [(0, i, j) for i in range(SIDE) for j in range(SIDE)]
        for pair in ((0, 1), (1, 0)):
            jammed = [(0, 2 * half + i, j) for half in range(SIDE // 2) for j in range(SIDE) for i in pair]
            assert run(jammed, (step,)) == run(apart, (step,))


@settings(max_examples=60, deadline=None)
@given(update, update)
def test_what_is_split_or_joined_keeps_every_value(first: Update, second: Update) -> None:
    first, second = (tuple((form[0], 0, form[2]) for form in step) for step in (first, second))  # type: ignore[misc]
    one, other = (text(number, step).replace("j", "0") for number, step in enumerate((first, second)))
    head = f"for (int i = 0; i < {SIDE}; i++)"
    together = [(number, i, 0) for i in range(SIDE) for number in (0, 1)]
    apart = [(number, i, 0) for number in (0, 1) for i in range(SIDE)]
    same = run(together, (first, second)) == run(apart, (first, second))
    assert same or not accepted(f"{head} {{ {one} {other} }}", "fission", "i", at=1)
    assert same or not accepted(f"{head} {one} {head} {other}", "fusion", "i")


def test_the_generators_reach_both_verdicts() -> None:
    nest = f"for (int i = 0; i < {SIDE}; i++) for (int j = 0; j < {SIDE}; j++) "
    assert accepted(nest + text(0, ((4, 1, 0), (4, 1, 0))), "interchange", "i")
    assert not accepted(nest + text(0, ((4, 1, 0), (4, 1, -3))), "interchange", "i")
    assert accepted(nest + text(0, ((4, 1, 0), (4, 1, 0))), "unroll_jam", "i", factor=2)
    assert not accepted(nest + text(0, ((4, 1, 0), (4, 1, -4))), "unroll_jam", "i", factor=2)
