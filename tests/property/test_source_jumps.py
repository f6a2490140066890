"""Random nests of loops, switches and jumps: the normal form computes what the text does."""

from __future__ import annotations

import random

import numpy as np
import pytest

from genome.ir.kernel import Kernel
from genome.ir.print_source import print_kernel
from genome.ir.stmt import Opaque, flatten
from genome.source.frontend import parse_kernel
from genome.source.verbatim import verbatim_kernel
from genome.variant import Target

FORMS = 24
"""Programs of a kernel: one compilation runs them all."""


class Writer:
    """Writes statements over ``v`` and ``r``; every loop has a count of its own that ends it in the end."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.loops = rng, 0

    def value(self) -> str:
        return self.rng.choice(["v", "r", "v + 1", "r % 7", "v * 3 % 11", "(v ^ r) & 15", "5"])

    def condition(self) -> str:
        choices = [f"{self.value()} > {self.rng.randint(0, 9)}", f"{self.value()} % {self.rng.randint(2, 5)} == 1"]
        return self.rng.choice([*choices, f"{self.value()} < {self.value()}", "v & 1"])

    def statements(self, depth: int, jumps: tuple[str, ...]) -> str:
        return " ".join(self.statement(depth, jumps) for _ in range(self.rng.randint(1, 3)))

    def statement(self, depth: int, jumps: tuple[str, ...]) -> str:
        kind = self.rng.random()
        if jumps and kind < 0.22:
            return f"if ({self.condition()}) {{ {self.rng.choice(['', 'r += 3; '])}{self.rng.choice(jumps)}; }}"
        if depth <= 0 or kind < 0.5:
            return self.rng.choice([f"r = {self.value()} + r;", f"v = ({self.value()}) % 23;", "r++;", "v += 2;"])
        if kind < 0.68:
            other = f" else {{ {self.statements(depth - 1, jumps)} }}" if self.rng.random() < 0.5 else ""
            return f"if ({self.condition()}) {{ {self.statements(depth - 1, jumps)} }}{other}"
        return self.switch(depth, jumps) if kind < 0.76 else self.loop(depth)

    def switch(self, depth: int, jumps: tuple[str, ...]) -> str:
        inside = ("break", *(jump for jump in jumps if jump != "break"))
        cases = [f"case {number}: {self.statements(depth - 1, inside)} {self.rng.choice(['', 'break;'])}"
                 for number in range(self.rng.randint(1, 3))]  # fmt: skip
        rest = [f"default: {self.statements(0, ())}"] if self.rng.random() < 0.5 else []
        return f"switch (({self.value()}) % 4) {{ {' '.join([*cases, *rest])} }}"

    def loop(self, depth: int) -> str:
        self.loops += 1
        count = f"f{self.loops}"
        inside = self.statements(depth - 1, ("break", "continue", "break", "continue", "return"))
        return self.rng.choice([
            f"{{ int {count} = 0; while ({self.condition()} && {count} < 9) {{ {count}++; {inside} }} }}",
            f"{{ int {count} = 0; do {{ {count}++; {inside} }} while ({self.condition()} && {count} < 9); }}",
            f"{{ int {count} = 0; for (;;) {{ if (++{count} > 8) break; {inside} }} }}",
            f"for (int {count} = 0; {count} < {self.rng.randint(2, 8)}; {count}++) {{ {inside} r += {count}; }}",
        ])  # fmt: skip


def source(seed: int) -> str:
    writer = Writer(random.Random(seed))
    cases = "\n".join(f"if (i % {FORMS} == {number}) {{ {writer.statements(3, ())} }}" for number in range(FORMS))
    return f"""__global__ void k(int* y) {{
int i = blockIdx.x * blockDim.x + threadIdx.x, v = i / {FORMS}, r = 0;
{cases}
y[i] = r * 31 + v; }}"""


def run(kernel: Kernel) -> np.ndarray:
    cl = pytest.importorskip("pyopencl")
    try:
        context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
    except (cl.Error, IndexError):
        pytest.skip("no OpenCL device")
    queue = cl.CommandQueue(context)
    result = np.full(32 * FORMS, -77, np.int32)
    buffer = cl.Buffer(context, cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR, hostbuf=result)
    program = cl.Program(context, print_kernel(kernel, Target.OPENCL)).build(cache_dir=False)
    program.k(queue, result.shape, (32,), buffer)
    cl.enqueue_copy(queue, result, buffer)
    return result


@pytest.mark.parametrize("seed", range(2))
def test_the_normal_form_computes_what_the_text_does(seed: int) -> None:
    text = source(seed)
    kernel = parse_kernel(text, "k")
    assert not any(isinstance(stmt, Opaque) for stmt in flatten(kernel.body))
    expected = run(verbatim_kernel(text, "k"))
    wrong = sorted({int(i) % FORMS for i in np.nonzero(run(kernel) != expected)[0]})
    assert not wrong, [text.splitlines()[2 + number] for number in wrong]
