"""Loops that nothing counts: what the front end makes of them, executed against the text that it read."""

from __future__ import annotations

import numpy as np
import pytest

from genome.analysis.analyse import analyse
from genome.ir.expr import Var
from genome.ir.kernel import Kernel
from genome.ir.print_source import print_kernel
from genome.ir.stmt import Barrier, Break, If, Loop, Opaque, Repeat, flatten
from genome.source.frontend import parse_kernel
from genome.source.verbatim import verbatim_kernel
from genome.variant import Target

FORMS = (
    "while (v < 50) { v += 3; if (v % 7 == 0) { r = 1; break; } r += v; }",
    "do { v++; if (v % 3 == 0) continue; r += v; } while (v < 20);",
    "for (;;) { v += 2; if (v > 30) break; r += v; }",
    "for (int j = 0; j < 20; j++) { if (j > v) { if (j % 4 == 3) break; r += 2; continue; } r += j; }",
    "for (int a = 0; a < 9; a++) for (int b = 0; b < a; b++) { if (a * b == v) { y[i] = a; return; } r += b; }",
    "while (v < 90) { int w = v; while (true) { w += 5; if (w % 4 == 1) break; if (w > 99) break; } v = w + 1; r++; }",
    "do { if (v > 10) break; r = v; if (v > 5) { r += 2; break; } r += 7; } while (0);",
    "while (halved(v) > 2) { v = halved(v); r += v; }",
    "for (int a = 0, b = v; a < b; a++, b -= 2) { r += a * b; if (r > 60) break; }",
    "while ((v & 1) == 0 && v > 0) v >>= 1; r = v;",
    "int j; for (j = v; j < 40; j++) if (j % 11 == 10) break; r = j; for (j = 0; j < 3; j++) r += j;",
    "while (v < 40) { if (v % 2) { if (v % 5 == 0) { v += 9; continue; } v++; } else { if (v == 36) break; v += 3; } }",
    "for (int j = 0; j < 8; j++) { switch (j) { case 3: r += 5; break; default: r++; } if (r > v) break; }",
    "if (v > 4) { while (v > 0) { v -= 2; if (v == 3) return; r++; } r += 100; } r += 1;",
    "switch (v % 6) { case 0: case 1: r = 1; break; case 2: r = 7; case 4: if (v > 9) break; r++; default: r += 3; }",
    "for (int j = 0; j < v; j++) { switch (j) { case 4: continue; case 3: if (j > 8) return; default: r++; } r--; }",
    "int w; while ((w = halved(v)) > 3) { v -= 2; r += w; } while (v-- > 1) r++; do { r += 2; } while (r < 9 + v);",
)  # fmt: skip
"""Statements over ``v`` (the thread) and ``r`` (the result), each run by threads of its own."""


def source(forms: tuple[str, ...] = FORMS) -> str:
    cases = "\n".join(f"    if (i % {len(forms)} == {number}) {{ {form} }}" for number, form in enumerate(forms))
    return f"""__device__ int halved(int v) {{ return v / 2; }}
__global__ void k(int* y) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x, v = i / {len(forms)}, r = 0;
{cases}
    y[i] = r;
}}"""


def run(kernel: Kernel) -> np.ndarray:
    cl = pytest.importorskip("pyopencl")
    devices = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    if not devices:
        pytest.skip("no OpenCL device")
    context = cl.Context(devices[:1])
    queue = cl.CommandQueue(context)
    result = np.full(32 * len(FORMS), -1, np.int32)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=result)
    program = cl.Program(context, print_kernel(kernel, Target.OPENCL)).build(cache_dir=False)
    program.k(queue, result.shape, (32,), buffer)
    cl.enqueue_copy(queue, result, buffer)
    return result


def test_loops_compute_what_their_text_does() -> None:
    kernel = parse_kernel(source(), "k")
    text = [stmt.text for stmt in flatten(kernel.body) if isinstance(stmt, Opaque)]
    assert not text
    np.testing.assert_array_equal(run(kernel), run(verbatim_kernel(source(), "k")))


def body(statement: str) -> Kernel:
    head = "__global__ void k(const int* p, volatile int* flag, int* x, int n) { int i = threadIdx.x, v = i;"
    return parse_kernel(f"{head} {statement} x[i] = v; }}", "k")


def test_a_condition_that_is_asked_for_first_is_printed_so() -> None:
    kernel = body("while (v < n) { v += p[v] + 1; }")
    (loop,) = [stmt for stmt in kernel.body if isinstance(stmt, Repeat)]
    assert isinstance(loop.body[0], If) and loop.body[0].orelse == (Break(),)
    assert "    while (v < n) {\n        v += p[v] + 1;\n    }\n" in print_kernel(kernel, Target.CUDA)


def test_what_follows_a_break_needs_no_else() -> None:
    printed = print_kernel(body("for (;;) { v += 2; if (v > n) break; else if (v == 5) v = p[v]; v++; }"), Target.CUDA)
    assert "        if (v > n) {\n            break;\n        }\n        if (v == 5) {" in printed
    assert "else" not in printed


def test_an_else_that_breaks_stays_one() -> None:
    kernel = body("for (;;) { v++; if (v == 3) { v += p[0]; } else if (v > n) { break; } else { v += 2; } }")
    printed = print_kernel(kernel, Target.CUDA)
    assert "} else {\n            if (v > n) {\n                break;\n            }\n            v += 2;" in printed


WAITING = (
    "while (flag[i] == 0);", "do { v = flag[0]; } while (v == 0);", "while (true) { if (flag[n] != 0) break; }",
    "int done = 0; while (!done) { if (flag[0] == i) { x[i] = 1; done = 1; } }", "for (;;) { x[0] = n; }",
)  # fmt: skip


@pytest.mark.parametrize("statement", WAITING)
def test_a_loop_that_only_another_thread_can_end_stays_text(statement: str) -> None:
    kernel = body(statement)
    assert any(isinstance(stmt, Opaque) for stmt in flatten(kernel.body))
    assert not any(isinstance(stmt, Repeat) for stmt in flatten(kernel.body))


GOING = (
    "while (v != 0) v = p[v];", "int t = 0; while (flag[0] == 0 && t < 9) t++;",
    "int a = v, b; do { b = a; a = p[b]; } while (a != b);",
    "int w = 1; while (w) { w = 0; if (x[v] > n) { x[v] -= 1; w = 1; } }",
)  # fmt: skip


@pytest.mark.parametrize("statement", GOING)
def test_a_loop_that_goes_on_by_itself_is_read(statement: str) -> None:
    kernel = body(statement)
    assert any(isinstance(stmt, Repeat) for stmt in flatten(kernel.body))
    assert not any(isinstance(stmt, Opaque) for stmt in flatten(kernel.body))


@pytest.mark.parametrize("statement", [
    "while (v < n) { asm volatile(\"\"); v++; if (v == 7) goto end; } end:;",
    "while (v < n) { switch (v) { int w; case 1: continue; } v += 2; }",
])  # fmt: skip
def test_jumps_of_text_leave_no_loop_that_is_read(statement: str) -> None:
    assert not any(isinstance(stmt, Repeat | Loop) for stmt in flatten(body(statement).body))


def test_a_loop_that_is_left_by_a_return_guards_what_follows() -> None:
    kernel = body("while (v < n) { if (p[v] == i) return; v += 2; } __syncthreads();")
    guard = kernel.body[-1]
    assert isinstance(guard, If) and any(isinstance(stmt, Barrier) for stmt in guard.then)
    assert guard.condition.operand == Var("left")  # type: ignore[attr-defined]


def test_names_that_loops_need_are_nobody_elses() -> None:
    kernel = body(
        "int left = p[0], ended = left + 1; while (v < n) { if (p[v] == left) return; v += ended; } v += left;"
    )
    printed = print_kernel(kernel, Target.CUDA)
    assert "left_2 = 1;" in printed
    assert "+ left;" in printed or "+= left;" in printed


def test_a_loop_with_very_many_ways_out_stays_text() -> None:
    ways = " ".join(f"if (p[v] == {number}) break; v++;" for number in range(500))
    kernel = body(f"while (v < n) {{ {ways} }}")
    assert [type(stmt) for stmt in kernel.body if isinstance(stmt, Opaque | Repeat)] == [Opaque]


def test_loops_inside_of_one_another_are_read_in_good_time() -> None:
    deep = "for (int a{0} = 0; a{0} < n; a{0} += 1 + p[a{0}]) {{"
    inside = "".join(deep.format(number) for number in range(20))
    kernel = body(f"{inside} v++; {'}' * 20}")
    assert sum(isinstance(stmt, Repeat) for stmt in flatten(kernel.body)) == 20


RELAX = """__global__ void k(int* y) {
    __shared__ int s[32];
    __shared__ int moved[1];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t, count = 0;
    s[t] = (i * 37) % 101;
    __syncthreads();
    do {
        if (t == 0) moved[0] = 0;
        __syncthreads();
        int left = s[t > 0 ? t - 1 : 0], here = s[t];
        __syncthreads();
        if (left > here) { s[t] = left; moved[0] = 1; }
        __syncthreads();
        if (++count > 100) break;
        int again = moved[0];
        __syncthreads();
        if (!again) break;
    } while (true);
    y[i] = s[t];
}"""


def test_barriers_inside() -> None:
    kernel = parse_kernel(RELAX, "k")
    assert not any(isinstance(stmt, Opaque) for stmt in flatten(kernel.body))
    start = (np.arange(32 * len(FORMS)) * 37 % 101).reshape(-1, 32)
    np.testing.assert_array_equal(run(kernel).reshape(-1, 32), np.maximum.accumulate(start, axis=1))
    facts = analyse(kernel, block=(32, 1, 1))
    assert len(facts.barriers) == 5 and all(barrier.reached.holds for barrier in facts.barriers)


@pytest.mark.parametrize("block", [
    "do { LEAVE y[i] = 5; } while (0);",
    "switch (i & 3) { case 0: LEAVE y[i] = 5; break; default: y[i] = 6; }",
    "switch (i & 3) { default: y[i] = 6; case 2: { LEAVE } y[i] = 5; }",
])  # fmt: skip
@pytest.mark.parametrize("leave", ["if (i > 3 && (s = 4)) break;", "if (i > 3 && (s = 4)) { s = 1; break; }"])
def test_text_that_may_leave_a_block_stays_in_it(block: str, leave: str) -> None:
    source = f"""__global__ void k(int* y) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x, s = 0; {block.replace("LEAVE", leave)} y[i] += s; }}"""
    texts = [stmt.text for stmt in flatten(parse_kernel(source, "k").body) if isinstance(stmt, Opaque)]
    assert texts
    assert all(text.startswith(("do", "switch")) for text in texts if "break" in text)
