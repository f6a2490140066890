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
        "int b = r * 64;" + SECOND.replace("r * 64", "b") + "if (n > 3) b = 0;" + THIRD.replace("x[r * 64", "x[b"),
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


EXPONENTIAL = (
    FIRST.replace("j = 1", "j = 0") + "float sum = 0.0f; for (int k = 0; k < 64; k++) sum += expf(x[r * 64 + k] - top);"
)
SQUARES = (
    SECOND + "float mean = sum / 64; float far = 0.0f;"
    "for (int m = 0; m < 64; m++) { float d = x[r * 64 + m] - mean; far += d * d; }"
)


def test_a_sum_of_exponentials_joins_the_maximum() -> None:
    source, reason = outcome(spec_of(EXPONENTIAL + "y[r] = sum;", reassociation=True), gene("online", "sum"))
    assert not reason
    assert source.count("for (") == 1


def test_squared_distances_join_the_sum() -> None:
    source, reason = outcome(spec_of(SQUARES + "y[r] = far;", reassociation=True), gene("moments", "far"))
    assert not reason
    assert source.count("for (") == 1


ONLINE = {
    "a maximum that is added as well": (EXPONENTIAL.replace("- top)", "- top) + top"), "no site"),
    "a second power": (EXPONENTIAL.replace("sum +=", "sum += expf(-x[r * 64 + k] - top) *"), "no site"),
    "another sign": (EXPONENTIAL.replace("x[r * 64 + k] - top", "top - x[r * 64 + k]"), "no site"),
    "fewer iterations": (EXPONENTIAL.replace("k < 64", "k < 63"), "same iterations"),
    "a start above zero": (EXPONENTIAL.replace("sum = 0.0f", "sum = 1.0f"), "start from zero"),
    "a sum that was begun": (EXPONENTIAL.replace("0.0f;", "0.0f; sum += y[r];"), "start from zero"),
    "a store": (EXPONENTIAL.replace("sum +=", "y[k] = 1.0f, sum +="), ""),
    "a store of the power": (
        EXPONENTIAL.replace("sum += expf(x[r * 64 + k] - top);",
                            "{ float e = expf(x[r * 64 + k] - top); y[r * 64 + k] = e; sum += e; }"), ""),
    "an operand that changes": (
        EXPONENTIAL.replace("float sum", "int at = r; if (n > 3) at += 1; float sum")
        .replace("r * 64 + k", "at * 64 + k"),
        "at changes"),
}  # fmt: skip


@pytest.mark.parametrize("name", ONLINE)
def test_exponentials_that_cannot_be_rescaled_stay_apart(name: str) -> None:
    body, words = ONLINE[name]
    _, reason = outcome(spec_of(body + "y[r] = sum;", reassociation=True, no_alias=True), gene("online", "sum"))
    assert reason and words in reason


MOMENTS = {
    "other values": (SQUARES.replace("d = x[r * 64 + m]", "d = x[r * 64 + 63 - m]"), "other values"),
    "absolute distances": (SQUARES.replace("d * d", "d"), "no site"),
    "a weight": (SQUARES.replace("d * d", "d * d * y[m]"), "no site"),
    "a condition": (SQUARES.replace("far +=", "if (d > 0) far +="), "no site"),
    "a sum that was begun": (SQUARES.replace("sum = 0.0f", "sum = 2.0f"), "start from zero"),
    "fewer iterations": (SQUARES.replace("m < 64", "m < 60"), "same iterations"),
}  # fmt: skip


@pytest.mark.parametrize("name", MOMENTS)
def test_distances_that_cannot_be_moved_stay_apart(name: str) -> None:
    body, words = MOMENTS[name]
    _, reason = outcome(spec_of(body + "y[r] = far;", reassociation=True, no_alias=True), gene("moments", "far"))
    assert reason and words in reason


@pytest.mark.parametrize(("body", "name", "label"), [(EXPONENTIAL, "online", "sum"), (SQUARES, "moments", "far")])
def test_one_pass_names_its_grants(body: str, name: str, label: str) -> None:
    assert "assume.reassociation" in outcome(spec_of(body + f"y[r] = {label};"), gene(name, label))[1]
    between = body.replace(f"float {label} = 0.0f;", f"float {label} = 0.0f; y[r] = 1.0f;")
    assert "assume.no_alias" in outcome(spec_of(between, reassociation=True), gene(name, label))[1]
