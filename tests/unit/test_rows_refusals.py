"""Near misses of the rewrites of rows: each is refused with its reason, and with the grant that would help."""

from __future__ import annotations

import pytest

from genome.genes import Gene, Genome, Site
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, Assumptions, KernelSpec, LaunchSpec, ProblemSize, Role
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant

FIRST = "float top = x[r * 64]; for (int j = 1; j < 64; j++) top = fmaxf(top, x[r * 64 + j]);"
SECOND = "float sum = 0.0f; for (int k = 0; k < 64; k++) sum += x[r * 64 + k];"
THIRD = "for (int m = 0; m < 64; m++) y[r * 64 + m] = x[r * 64 + m] * sum;"


def spec_of(body: str, **grants: bool) -> KernelSpec:
    shape = (SizeExpr("rows * 64"),)
    source = (
        "__global__ void k(float* x, float* y, int rows, int n) {\n"
        f"int r = blockIdx.x * blockDim.x + threadIdx.x;\nif (r < rows) {{\n{body}\n}}\n}}"
    )
    args = (ArgSpec("x", "float32", Role.INOUT, shape), ArgSpec("y", "float32", Role.INOUT, shape),
            ArgSpec("rows", "int32", value=SizeExpr("rows")), ArgSpec("n", "int32", value=SizeExpr("n")))  # fmt: skip
    return KernelSpec("k", source, "k", args, LaunchSpec((32, 1, 1), (SizeExpr("rows"),)),
                      (ProblemSize((("rows", 70), ("n", 64))),), assumptions=Assumptions(**grants))  # fmt: skip


def outcome(spec: KernelSpec, *genes: Gene) -> tuple[str, str]:
    """(source, reason of the last gene: empty where it applied)."""
    variant = lower(spec, Genome(genes), BUILTIN, Target.CUDA, DeviceLimits())
    assert isinstance(variant, Variant), variant
    reasons = {item.gene: item.reason for item in variant.skipped}
    return variant.source, reasons.get(genes[-1], "")


def gene(name: str, label: str, **params: int) -> Gene:
    return Gene.of(name, Site(label, label), **params)


def test_rows_that_are_read_twice_stay_in_registers() -> None:
    source, reason = outcome(spec_of(SECOND + THIRD, no_alias=True), gene("keep", "x"))
    assert not reason
    assert source.count("x[r * 64") == 1


KEPT = {
    "a write between": (SECOND + "x[r * 64 + 5] = 1.0f;" + THIRD, "written between"),
    "a write in the last loop": (SECOND + THIRD.replace("y[", "x["), "written between"),
    "an atomic between": (SECOND + "atomicAdd(&x[r], 1.0f);" + THIRD, "written between"),
    "another address": (SECOND + THIRD.replace("x[r * 64 + m]", "x[r * 64 + 63 - m]"), "no two loops"),
    "an address that changes": (
        "int b = r * 64;" + SECOND.replace("r * 64", "b") + "b = 0;" + THIRD.replace("x[r * 64", "x[b"),
        "address in x changes"),
    "a condition on the first": (SECOND.replace("sum +=", "if (k > n) sum +="), "no two loops"),
    "a first loop that may not read": (SECOND.replace("sum +=", "if (k > n) sum +=") + THIRD, "may not read"),
    "a trip count that differs": (SECOND.replace("< 64", "< 32") + THIRD, "no two loops"),
    "a trip count that is not known": (SECOND.replace("< 64", "< n") + THIRD.replace("< 64", "< n"), "no two loops"),
    "too many": (SECOND.replace("< 64", "< 200") + THIRD.replace("< 64", "< 200"), "more than 128"),
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_values_are_kept_only_while_they_are_those_of_memory(name: str) -> None:
    body, words = KEPT[name]
    _, reason = outcome(spec_of(body, no_alias=True), gene("keep", "read.passes[0]" if "no two" in words else "x"))
    assert words in reason or ("no two" in words and "there is no site" in reason)


def test_keeping_names_the_grant() -> None:
    between = SECOND + "y[r] = sum;" + THIRD
    assert "assume.no_alias" in outcome(spec_of(between), gene("keep", "x"))[1]
    assert not outcome(spec_of(between, no_alias=True), gene("keep", "x"))[1]


def test_a_later_loop_that_changes_the_row_is_left_out() -> None:
    body = SECOND + SECOND.replace("sum", "more").replace("k", "q") + "x[r * 64] = sum;" + THIRD
    source, reason = outcome(spec_of(body, no_alias=True), gene("keep", "x"))
    assert not reason
    assert "x[r * 64 + m]" in source


def test_a_peeled_iteration_goes_back() -> None:
    source, reason = outcome(spec_of(FIRST + "y[r] = top;"), gene("unpeel", "j"))
    assert not reason
    assert "int j = 0;" in source


PEELED = {
    "another start": (FIRST.replace("top = x[r * 64]", "top = x[r * 64 + 1]"), "does not start from"),
    "another function": (FIRST.replace("top = x", "top = 2 * x"), "does not start from"),
    "a sum": (FIRST.replace("fmaxf(top, x[r * 64 + j])", "top + x[r * 64 + j]"), "one more value"),
    "a store": (FIRST.replace("top = fmaxf", "y[j] = top = fmaxf"), ""),
    "a start that is changed": (FIRST.replace("for", "top += 1; for"), "does not start from"),
    "memory that may change": (FIRST.replace("for", "y[r] = 1.0f; for"), "does not start from"),
    "two below": (FIRST.replace("j = 1", "j = 2"), "does not start from"),
}  # fmt: skip


@pytest.mark.parametrize("name", PEELED)
def test_an_iteration_that_would_change_something_stays_out(name: str) -> None:
    body, words = PEELED[name]
    _, reason = outcome(spec_of(body + "y[r] = top;"), gene("unpeel", "j"))
    assert reason and words in reason
