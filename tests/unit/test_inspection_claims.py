"""An inspection says no more than is known: of unread text, of orders that only may hold, of who reads again."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.main import app
from evo.inspection.inspect import inspect_kernel
from evo.inspection.order import carried, orders
from evo.inspection.record import Finding, FindingKind, Inspection
from evo.inspection.words import why_opaque
from evo.kernel_guess import file_kernel
from genome.transforms.builtin import BUILTIN
from genome.variant import Target

INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"


def inspected(folder: Path, signature: str, body: str, before: str = "") -> Inspection:
    """The kernel ``k`` of a file of its own, one statement a line from line 3 on."""
    path = folder / "k.cu"
    path.write_text(f"{before}\n__global__ void k({signature}) {{\n{body}\n}}\n")
    found = file_kernel(path, "k")
    return inspect_kernel(found.spec, BUILTIN, Target.CUDA, guesses=found.guesses)


def of_kind(seen: Inspection, kind: FindingKind) -> list[Finding]:
    return [finding for finding in seen.findings if finding.kind is kind]


@pytest.mark.parametrize(
    ("before", "statement"),
    [
        ("", "v = elsewhere(v);"),
        ("", 'asm volatile("add.f32 %0, %0, %0;" : "+f"(v));'),
    ],
)
def test_what_decides_is_not_said_of_a_kernel_with_unread_text(tmp_path: Path, before: str, statement: str) -> None:
    seen = inspected(
        tmp_path, "float* a, int n", f"{INDEX}\nif (i >= n) return;\nfloat v = a[i];\n{statement}\na[i] = v;"
    )
    (work,) = of_kind(seen, FindingKind.WORK)
    assert "decide" not in work.text and "there may be more" in work.text
    assert seen.work.unseen and not seen.work.proof.holds


def test_arithmetic_on_a_variable_of_the_file_is_counted_by_the_type_of_its_other_side(tmp_path: Path) -> None:
    taps = "float s = 0.0f;\nfor (int t = 0; t < 5; ++t) s += c[t] * in[i + t];"
    body = f"{INDEX}\nif (i >= n) return;\n{taps}\nout[i] = s;"
    seen = inspected(tmp_path, "const float* in, float* out, int n", body, "__constant__ float c[5];")
    assert seen.work.at[0].flops == 5 * 2  # a product and a sum a tap
    assert not seen.work.unseen


@pytest.mark.parametrize("statement", ["a[i] = a[i - 1] + a[i];", "a[i + 2] = 2.0f * a[i];"])
def test_threads_that_surely_meet_in_global_memory_come_first(tmp_path: Path, statement: str) -> None:
    seen = inspected(tmp_path, "float* a, int n", f"{INDEX}\nif (i > 0 && i < n) {statement}")
    assert seen.findings[0].kind is FindingKind.CORRECTNESS and "race on a (line 4)" in seen.findings[0].text


@pytest.mark.parametrize(
    "statement",
    [
        "if (i < n) a[i] += 1.0f;",
        "if (i == 0) a[0] = a[0] + 1.0f;",
        "if (threadIdx.x == 0) a[blockIdx.x] += 1.0f;",
        "if (i < n / 2) a[i] = a[i + n / 2];",
        "if (i > n && i < 2 * n) a[i] -= a[n];",
    ],
)
def test_threads_that_keep_apart_are_not_said_to_race(tmp_path: Path, statement: str) -> None:
    seen = inspected(tmp_path, "float* a, int n", f"{INDEX}\n{statement}")
    assert not of_kind(seen, FindingKind.CORRECTNESS)


def test_an_element_that_one_thread_reads_again_is_not_shared_by_the_block(tmp_path: Path) -> None:
    again = "for (int t = 0; t < 4; ++t) out[i] += in[i];"
    seen = inspected(tmp_path, "const float* in, float* out, int n", f"{INDEX}\nif (i < n)\n{again}")
    assert not any("threads of a block" in finding.text for finding in of_kind(seen, FindingKind.REUSE))
    few = "if (i < n && threadIdx.y == 0) out[i] = in[blockIdx.x];"
    seen = inspected(tmp_path, "const float* in, float* out, int n", f"{INDEX}\n{few}")
    assert not of_kind(seen, FindingKind.REUSE)
    shared = "if (i < n) out[i] = in[i] + in[i + 1] + in[i + 2];"
    seen = inspected(tmp_path, "const float* in, float* out, int n", f"{INDEX}\n{shared}")
    assert any("threads of a block read each element of in" in f.text for f in of_kind(seen, FindingKind.REUSE))


@pytest.mark.parametrize(
    ("statement", "sure"),
    [
        ("for (int t = 1; t < 8; ++t) a[t + 8 * i] = a[t - 1 + 8 * i] * 0.5f;", True),
        ("for (int t = 0; t < 8; ++t) a[p[t]] = 1.0f;", False),
        ("float s = 0.0f; for (int t = 0; t < n; t += 2) s += a[p[t]];\na[i] = s;", False),  # a sum, in strides of two
    ],
)
def test_an_order_that_only_may_hold_is_called_so(tmp_path: Path, statement: str, sure: bool) -> None:
    seen = inspected(tmp_path, "float* a, const int* p, int n", f"{INDEX}\nif (i < n) {{\n{statement}\n}}")
    (loop,) = seen.loops
    assert not loop.independent.holds and bool(carried(loop, seen)) is sure
    shown = CliRunner().invoke(app, ["inspect", str(tmp_path / "k.cu")], env={"COLUMNS": "200"}).output
    assert ("perhaps not:" in shown) is not sure


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("auto f = [=](float x) { return x * 2.0f; };", "a lambda"),
        ("auto f = [&s, n] (int x) { return s + n; };", "a lambda"),
        ("for (int j = 0; j < n; j++) {\n    if (p[j] < 0) return;\n}", "it leaves the kernel from inside of a loop"),
        ("for (int j = n; j; j >>= 1) s += j;", "a loop whose count is not understood"),
        ("if (a[i] (x)) return;", "it leaves the kernel in the middle"),
    ],
)
def test_the_reason_of_unread_text_is_the_one_that_counts(text: str, why: str) -> None:
    assert why_opaque(text) == why


def test_headers_that_were_not_found_are_named_where_text_stays_unread(tmp_path: Path) -> None:
    before = '#include <cmath>\n#include <cooperative_groups.h>\n#include "sizes.h"\n#include <mine/loops.cuh>'
    body = f"{INDEX}\nif (i < n) {{ FOR_ALL(t, TERMS) a[i] += t; }}"
    seen = inspected(tmp_path, "float* a, int n", body, before)
    assert seen.missing == ("sizes.h", "mine/loops.cuh")
    assert any("Not found: sizes.h and mine/loops.cuh" in finding.text for finding in seen.findings)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "loops.cuh").write_text("#define FOR_ALL(t, n) for (int t = 0; t < n; ++t)\n")
    (tmp_path / "sizes.h").write_text("#define TERMS 4\n")
    found = file_kernel(tmp_path / "k.cu", "k", include_dirs=[str(tmp_path)])
    seen = inspect_kernel(found.spec, BUILTIN, Target.CUDA)
    assert not seen.missing and not seen.opaque and seen.loops[0].trips == "4"


def test_a_loop_is_named_by_its_site_where_its_normal_form_was_written_by_nobody(tmp_path: Path) -> None:
    stride = "for (int t = threadIdx.x; t < n; t += blockDim.x) a[t] = 0.0f;"
    seen = inspected(tmp_path, "float* a, int n", stride)
    (finding,) = of_kind(seen, FindingKind.DIVERGENCE)
    assert f"the loop over {seen.loops[0].site} (line 3)" in finding.text and "?" not in finding.text


@pytest.mark.parametrize(("bounds", "trips"), [("t = -(9 / 2); t <= 9 / 2; ++t", "9"), ("t = 0; t < 64 / 4; ++t", "16"),
                                               ("t = 0; t < n; ++t", "n")])  # fmt: skip
def test_a_number_of_iterations_is_written_as_one(tmp_path: Path, bounds: str, trips: str) -> None:
    seen = inspected(tmp_path, "float* a, int n", f"{INDEX}\nif (i < n)\nfor (int {bounds}) a[i] += 1.0f;")
    assert seen.loops[0].trips == trips


def test_many_regions_of_one_kind_are_one_finding(tmp_path: Path) -> None:
    before = "struct S { int v; __device__ int first(); __device__ int second(); };"
    body = (
        f"{INDEX}\n__shared__ float s[64];\nif (i < 9) {{ __syncthreads(); }}\nif (i < 7) {{ __syncthreads(); }}\n"
        "int u = p[i].first();\nint v = p[i].second();\na[i] = u + v;"
    )
    seen = inspected(tmp_path, "float* a, S* p, int n", body, before)
    unread = [finding.text for finding in of_kind(seen, FindingKind.OPAQUE)]
    assert [text for text in unread if "functions of the file: first and second" in text]
    assert len([text for text in unread if "of the file" in text]) == 1
    doubts = [finding for finding in of_kind(seen, FindingKind.DOUBT) if "reach" in finding.text]
    assert [finding.lines for finding in doubts] == [(5, 6)]


def test_a_pointer_that_is_compared_is_no_element_read(tmp_path: Path) -> None:
    seen = inspected(tmp_path, "float* a, float* b, int n", f"{INDEX}\nif (b != 0 && i < n) b[i] = a[i];")
    assert not [finding for finding in seen.findings if "is not known" in finding.text and "read b" in finding.text]


def test_the_end_of_an_axis_is_the_guard_or_called_a_guess(tmp_path: Path) -> None:
    guarded = inspected(tmp_path, "float* a, int n", f"{INDEX}\nif (i < n / 2) a[i] = 1.0f;")
    assert "i up to n / 2 along x" in guarded.summary[0]
    free = inspected(tmp_path, "float* a, int n", f"{INDEX}\na[i] = 1.0f;")
    assert "i up to n (a guess) along x" in free.summary[0]


@pytest.mark.parametrize("name", ["n", "t", "in", "other"])
def test_a_number_that_unread_text_declares_is_nothing_that_threads_share(tmp_path: Path, name: str) -> None:
    body = f"{INDEX}\nfloat v = a[i];\nfloat {name} = __shfl_up_sync(0xffffffffu, v, 1, 32);\na[i] = v + {name};"
    seen = inspected(tmp_path, "float* a, int count", body)
    assert not seen.races and {access.array for access in seen.accesses} == {"a"}


def test_variables_that_a_host_fills_are_named(tmp_path: Path) -> None:
    before = (
        "__constant__ float c[2][3];\n__device__ int count;\n__constant__ float given[2] = {1.0f, 2.0f};\n"
        "__constant__ float unused[4];\n__device__ float twice(float x) { return 2.0f * x; }"
    )
    seen = inspected(tmp_path, "float* a, int n", f"{INDEX}\na[i] = twice(c[1][2]) + given[1] + count;", before)
    assert seen.unfilled == ("c", "count")
    (told,) = [finding for finding in seen.findings if "no initialiser" in finding.text]
    assert told.text.startswith("c and count have no initialiser") and "`constants:`" in told.text


def test_the_order_of_a_loop_agrees_with_what_is_said_of_the_loop(tmp_path: Path) -> None:
    body = "int x = blockIdx.x * 128 + threadIdx.x;\nfor (int t = 0; t < 8; ++t) a[blockIdx.y * n + x + t * 16] = t;"
    seen = inspected(tmp_path, "float* a, int n", body)
    (loop,) = seen.loops
    assert loop.independent.holds
    assert f"iterations of {loop.site}" not in {order.between for order in orders(seen)}
