"""What an expression does happens, and happens once: the normal form executed against the text it was read from."""

from __future__ import annotations

import numpy as np
import pytest

from genome.ir.kernel import Kernel
from genome.ir.print_source import print_kernel
from genome.ir.stmt import Loop, Opaque, flatten, written_names
from genome.source.frontend import parse_kernel
from genome.source.verbatim import verbatim_kernel
from genome.variant import Target

THREADS = 16
FORMS = (
    "r = (atomicAdd(&c[i], 3), 5);",
    "(void)atomicAdd(&c[i], 3); (void)r;",
    "int k = v; r = k++ + 2, (void)atomicSub(&c[i], k), r *= 2;",
    "int k = v; y[i] = c[i] = k++; r = k;",
    "int k = v, b; r += b = k++; r += b * 10 + k * 100;",
    "int k = v, b, d; r = b = d = k += 2; r += b + d + k;",
    "int k = v; short e; r = e = k++ + 70000; r += k;",
    "float f; int k = v; r = f = c[i] = ++k; r += f;",
    "int q[2]; int k = v; q[0] = q[1] = k--; r = q[0] * 100 + q[1] * 10 + k;",
    "for (int j = 0, k = 0; j < 4; j++, (void)atomicAdd(&c[i], j)) r += k++;",
    "int k = 9; while ((atomicAdd(&c[i], 2), k -= 2) > v) r += k;",
    "if ((r = 4, atomicExch(&c[i], v)) != 7) r += 3; else r -= c[i];",
)
"""Statements over ``v`` (the thread), ``r`` (the result) and the elements ``y[i]`` and ``c[i]`` of the thread."""


def source() -> str:
    cases = "\n".join(f"    if (i % {len(FORMS)} == {number}) {{ {form} }}" for number, form in enumerate(FORMS))
    return f"""__global__ void k(int* y, int* c, int* out) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x, v = i / {len(FORMS)}, r = 0;
{cases}
    out[i] = r;
}}"""


def run(kernel: Kernel) -> list[np.ndarray]:
    cl = pytest.importorskip("pyopencl")
    devices = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    if not devices:
        pytest.skip("no OpenCL device")
    context = cl.Context(devices[:1])
    queue = cl.CommandQueue(context)
    arrays = [np.full(THREADS * len(FORMS), 7 + number, np.int32) for number in range(3)]
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers = [cl.Buffer(context, flags, hostbuf=array) for array in arrays]
    program = cl.Program(context, print_kernel(kernel, Target.OPENCL)).build(cache_dir=False)
    program.k(queue, arrays[0].shape, (THREADS,), *buffers)
    for array, buffer in zip(arrays, buffers, strict=True):
        cl.enqueue_copy(queue, array, buffer)
    return arrays


def test_effects_happen_once() -> None:
    kernel = parse_kernel(source(), "k")
    assert not any(isinstance(stmt, Opaque) for stmt in flatten(kernel.body))
    expected = run(verbatim_kernel(source(), "k"))
    assert len({tuple(array) for array in expected}) == 3
    for found, wanted in zip(run(kernel), expected, strict=True):
        wrong = {FORMS[i % len(FORMS)] for i in np.flatnonzero(found != wanted)}
        assert not wrong


HEAD = "__global__ void kernel(float* y, int* c, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; "


@pytest.mark.parametrize("body", [
    "int k = 0; atomicAdd(&k, 1); c[i] = k;",
    "for (int j = 0; j < n; j++) { atomicAdd(&j, 2); c[i] += j; }",
    "atomicMax(&n, 3); for (int j = 0; j < n; j++) c[i] += j;",
    "int2 k = make_int2(0, 0); atomicAdd(&k.x, 1); c[i] = k.x;",
])  # fmt: skip
def test_what_an_atomic_adds_to_a_variable_of_the_thread_is_not_lost(body: str) -> None:
    kernel = parse_kernel(f"{HEAD}{body} }}", "kernel")
    (written,) = (stmt.writes for stmt in flatten(kernel.body) if isinstance(stmt, Opaque))
    assert {"k", "j", "n"} & set(written)
    text = print_kernel(kernel, Target.CUDA)
    assert "+= 2" not in text and "c[i] = 0" not in text and "&0" not in text
    assert not any(isinstance(stmt, Loop) and stmt.var == "j" for stmt in flatten(kernel.body) if "&j" in body)


def test_an_atomic_on_a_shared_variable_is_understood() -> None:
    kernel = parse_kernel(f"{HEAD} __shared__ int f; int k = atomicAdd(&f, 1); c[k] = i; }}", "kernel")
    assert not any(isinstance(stmt, Opaque) for stmt in flatten(kernel.body))


@pytest.mark.parametrize("pointer", [
    "volatile float* v = s;",
    "volatile float* v; v = s;",
    "volatile float* v = s + 1; v += 2;",
    "volatile float* v = (volatile float*)s;",
    "const volatile float* u = s; volatile float* v = (volatile float*)u;",
])  # fmt: skip
def test_what_is_read_again_each_time_stays_so(pointer: str) -> None:
    kernel = parse_kernel(f"{HEAD} __shared__ float s[64]; {pointer} v[i] += v[i + 16]; v[i] += v[i + 8]; }}", "kernel")
    text = print_kernel(kernel, Target.CUDA)
    assert "volatile float" in text
    assert text.count("v[i") == 4
    assert "s" in written_names(kernel.body)
