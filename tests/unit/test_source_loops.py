"""Loops with a fixed step, counted by their turns: executed and compared with the same loops in Python."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from genome.ir.kernel import Kernel
from genome.ir.print_source import print_kernel
from genome.ir.stmt import Loop, Opaque, flatten
from genome.source.frontend import parse_kernel
from genome.source.verbatim import verbatim_kernel
from genome.variant import Target

FORMS = [
    "for (int i = a; i < b; i += s) h = h * 31 + i;",
    "for (int i = a; i <= b; i += s) h = h * 31 + i;",
    "for (int i = a; b > i; i = s + i) h = h * 31 + i;",
    "for (int i = b; i > a; i -= s) h = h * 31 + i;",
    "for (int i = b; i >= a; i = i - s) h = h * 31 + i;",
    "for (int i = b; i >= a; --i) h = h * 31 + i;",
    "for (int i = b; i > 0; i >>= 1) h = h * 31 + i;",
    "for (int i = b; i >= 3; i /= 2) h = h * 31 + i;",
    "for (unsigned i = b; i; i = i >> 2) h = h * 31 + i;",
    "for (int i = 1; i < b; i *= 2) h = h * 31 + i;",
    "for (int i = s; i <= b; i <<= 2) h = h * 31 + i;",
    "for (int i = 48; i > 0; i /= 2) h = h * 31 + i;",
    "for (int i = a, j = b; i < b; i += s, j -= 3) h = h * 31 + i * j;",
    "int i; for (i = a; i < b; i++) h = h * 31 + i; h = h * 31 + i;",
    "int i; for (i = b; i > 0; i /= 2) h = h * 31 + i; h = h * 31 + i;",
    "int i = a; while (i < b) { h = h * 31 + i; i += s; } h = h * 31 + i;",
    "int i = b; while (i > a) { h = h * 31 + i; i--; }",
    "int i = a; for (int t = 0; t < 2; t++) { while (i < b) { h = h * 31 + i; i += s; } i -= 5; }",
    "unsigned long long i = a; for (; i < b; i += s) h = h * 31 + (int)i;",
]

UNSIGNED = [
    "for (unsigned i = 5; i > -1; i--) h = h * 31 + i;",
    "for (unsigned i = 5; i > b; i--) h = h * 31 + i;",
    "for (unsigned i = 9; i > b; i -= 2) h = h * 31 + i;",
    "for (unsigned i = 9; i > 0 && i < 20; i -= 2) h = h * 31 + i;",
    "for (unsigned i = 7; i >= b; i--) h = h * 31 + i;",
    "for (size_t i = 7; i > b; i--) h = h * 31 + i;",
    "for (unsigned i = -1; i; i >>= 1) h = h * 31 + i;",
    "for (unsigned i = 0x80000000; i > 3; i /= 4) h = h * 31 + i;",
    "for (unsigned i = a; i < 9u; i++) h = h * 31 + i;",
    "for (long long i = -3; i < b; i += s) h = h * 31 + (int)i;",
    "for (int i = 5; i > -3u; i--) h = h * 31 + i;",
]
"""Comparisons that take what is below zero for a large number."""


def simulated(form: int, a: int, b: int, s: int) -> int:
    """What ``h`` of that form is in the end: Python's own loops."""
    h = 0

    def seen(values: Iterator[int] | range | list[int]) -> int:
        nonlocal h
        last = 0
        for value in values:
            h, last = ctypes.c_int32(h * 31 + value).value, value
        return last

    def halved(value: int, least: int, bits: int) -> list[int]:
        return list(itertools.takewhile(lambda v: v >= least, (value >> (bits * t) for t in range(40))))

    def doubled(value: int, most: int, bits: int) -> list[int]:
        return list(itertools.takewhile(lambda v: v <= most, (value << (bits * t) for t in range(40))))

    upwards, downwards = range(a, b, s), range(b, a, -s)
    behind = a if a >= b else a + len(upwards) * s
    match form:
        case 0 | 2 | 18:
            seen(upwards)
        case 1:
            seen(range(a, b + 1, s))
        case 3:
            seen(downwards)
        case 4 | 5:
            seen(range(b, a - 1, -s if form == 4 else -1))
        case 6 | 14:
            seen(halved(b, 1, 1))
            if form == 14:
                seen([min(b, 0)])
        case 7:
            seen(halved(b, 3, 1))
        case 8:
            seen(halved(b, 1, 2))
        case 9 | 10:
            seen(doubled(1, b - 1, 1) if form == 9 else doubled(s, b, 2))
        case 11:
            seen([48, 24, 12, 6, 3, 1])
        case 12:
            seen([i * (b - 3 * t) for t, i in enumerate(upwards)])
        case 13:
            seen([*range(a, b), max(a, b)])
        case 15:
            seen([*upwards, behind])
        case 16:
            seen(range(b, a, -1))
        case 17:
            seen([*upwards, *range(behind - 5, b, s)])
    return h


def parsed(form: str) -> Kernel:
    return parse_kernel(
        f"""__global__ void k(const int* first, const int* last, const int* by, int* out, int n) {{
        int t = blockIdx.x * blockDim.x + threadIdx.x;
        if (t < n) {{ const int a = first[t], b = last[t], s = by[t]; int h = 0; {{ {form} }} out[t] = h; }} }}""",
        "k",
    )


def run(text: str, arrays: list[np.ndarray]) -> np.ndarray:
    cl = pytest.importorskip("pyopencl")
    try:
        device = cl.get_platforms()[0].get_devices()[0]
    except (cl.Error, IndexError):
        pytest.skip("no OpenCL device")
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    buffers = [cl.Buffer(context, cl.mem_flags.COPY_HOST_PTR, hostbuf=array) for array in arrays]
    program = cl.Program(context, text).build(cache_dir=False)
    count = len(arrays[0])
    program.k(queue, (-(-count // 16) * 16,), (16,), *buffers, np.int32(count))
    cl.enqueue_copy(queue, arrays[-1], buffers[-1])
    return arrays[-1]


def test_every_form_computes_what_python_computes() -> None:
    """All forms in one program: a form a slot of the output."""
    cases = [(a, b, s) for a in (0, 1, 5) for b in (0, 1, 2, 7, 8, 9, 64, 100) for s in (1, 2, 3, 7)]
    body = "\n".join(
        f"{{ int h = 0; {form} out[t * {len(FORMS)} + {number}] = h; }}" for number, form in enumerate(FORMS)
    )
    kernel = parse_kernel(
        f"""__global__ void k(const int* first, const int* last, const int* by, int* out, int n) {{
        int t = blockIdx.x * blockDim.x + threadIdx.x;
        if (t < n) {{ const int a = first[t], b = last[t], s = by[t]; {body} }} }}""",
        "k",
    )
    assert not any(isinstance(stmt, Opaque) for stmt in flatten(kernel.body))
    columns = [np.array(column, np.int32) for column in zip(*cases, strict=True)]
    found = run(print_kernel(kernel, Target.OPENCL), [*columns, np.full(len(cases) * len(FORMS), -1, np.int32)])
    for (a, b, s), row in zip(cases, found.reshape(len(cases), len(FORMS)), strict=True):
        expected = [simulated(form, a, b, s) for form in range(len(FORMS))]
        assert list(row) == expected, (a, b, s)


def test_constant_loops_have_a_constant_number_of_turns() -> None:
    (loop,) = [stmt for stmt in flatten(parsed(FORMS[11]).body) if isinstance(stmt, Loop)]
    assert loop.trip == 6


@pytest.mark.parametrize("form", [
    "for (int i = a; i < b; i += s) { s2 = i; i += 1; }",
    "for (int i = a; i < b; i += s) { if (h > 3) break; h++; }",
    "int i = a; while (i < b) { if (h > 3) continue; h++; i += s; }",
    "int i = a; int* p = &i; while (i < b) { *p += 1; i += s; }",
    "int m = s; for (int i = a; i < b; i += m) m++;",
    "for (int i = a; i < b; i -= 1) h++;",
    "for (unsigned i = b; i >= 1; i -= 2) h++;",
    "for (float i = a; i < b; i += s) h++;",
    "for (int i = a, j = i; i < b; i++, j++) h += j;",
    "for (int i = b; i > 0; i >>= s) h++;",
    "for (int i = b; i != 0; i /= 2) h++;",
    "for (unsigned char i = a; i < b; i += s) h++;",
])  # fmt: skip
def test_loops_that_are_not_counted_stay_text(form: str) -> None:
    assert not any(isinstance(stmt, Loop) for stmt in flatten(parsed(f"int s2 = 0; {form} h += s2;").body))


def test_variable_of_loops_keeps_its_type() -> None:
    kernel = parsed("unsigned char i; for (i = 0; i < b; i++) h += i;")
    (loop,) = [stmt for stmt in flatten(kernel.body) if isinstance(stmt, Loop)]
    assert loop.ctype == "unsigned char"


def test_text_that_needs_a_variable_of_loops_finds_it_declared() -> None:
    kernel = parsed("int i; for (i = 0; i < b; i++) { if (h > 9) break; asm(); h += i; }")
    printed = print_kernel(kernel, Target.CUDA)
    assert printed.index("int i;") < printed.index("for (i = 0;")


def test_unsigned_comparisons_mean_what_the_text_says() -> None:
    """Against the text itself, which the device's compiler reads."""
    cases = [(a, b, s) for a in (-2, 0, 5) for b in (-7, -1, 1, 6, 8) for s in (1, 3)]
    body = "\n".join(
        f"{{ int h = 0; {form} out[t * {len(UNSIGNED)} + {number}] = h; }}" for number, form in enumerate(UNSIGNED)
    )
    source = f"""__global__ void k(const int* first, const int* last, const int* by, int* out, int n) {{
        int t = blockIdx.x * blockDim.x + threadIdx.x;
        if (t < n) {{ const int a = first[t], b = last[t], s = by[t]; {body} }} }}"""
    columns = [np.array(column, np.int32) for column in zip(*cases, strict=True)]
    found, expected = (
        run(
            print_kernel(read(source, "k"), Target.OPENCL),
            [*columns, np.full(len(cases) * len(UNSIGNED), -1, np.int32)],
        )
        for read in (parse_kernel, verbatim_kernel)
    )
    wrong = {UNSIGNED[at % len(UNSIGNED)] for at in np.flatnonzero(found != expected)}
    assert not wrong
