"""Random kernels: what the analyses say of them is what a run thread by thread does."""

from __future__ import annotations

import random

import pytest

from tests.interpret.trace import OutOfBounds
from tests.interpret.truth import Truth, check_all, kernel_of

_ROUNDS = 8


class Writer:
    """Writes one random kernel: nested and triangular loops, conditions, locals that change, reductions, atomics."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[str] = []
        self.integers = ["i", "j", "n", "m", "1", "2", "3"]
        self.floats = ["0.5f", "f"]
        self.fixed: set[str] = set()  # integers that no statement may set
        self.count = 0

    def text(self) -> str:
        self.block(0, self.rng.randrange(3, 7))
        guard = self.rng.choice(["if (i < n && j < m)", "if (i < n)", ""])
        body = "\n".join(self.lines)
        return f"""__global__ void f(const float* x, const int* p, float* y, int* h, int n, int m, float f) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int j = blockIdx.y * blockDim.y + threadIdx.y;
  {guard} {{
{body}
    y[i * 40 + j] = f;
  }}
}}"""

    def fresh(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def index(self) -> str:
        rng, terms = self.rng, []
        for _ in range(rng.randrange(1, 4)):
            name = rng.choice(self.integers)
            terms.append(rng.choice([name, f"{name} * {rng.randrange(2, 9)}", f"{name} * n", f"{name} / 2", name]))
        if rng.random() < 0.15:
            terms.append(f"p[{rng.choice(self.integers)}]")
        return " + ".join(terms)

    def value(self, depth: int = 2) -> str:
        rng = self.rng
        if depth == 0:
            return rng.choice([*self.floats, f"x[{self.index()}]", f"x[{self.index()}]"])
        left, right = self.value(depth - 1), self.value(depth - 1)
        match rng.randrange(7):
            case 0:
                return f"fmaf({left}, {right}, f)"
            case 1:
                return f"({self.condition()} ? {left} : {right})"
            case 2:
                return f"sqrtf({left})"
            case 3:
                return self.value(0)
        return f"({left} {rng.choice('+-*')} {right})"

    def condition(self) -> str:
        rng = self.rng
        simple = f"{rng.choice(self.integers)} {rng.choice(['<', '>', '==', '!='])} {rng.choice(self.integers)}"
        return rng.choice([simple, simple, f"x[{self.index()}] > 4.0f", f"({simple} && n > 2)"])

    def block(self, depth: int, length: int) -> None:
        integers, floats = list(self.integers), list(self.floats)
        for _ in range(length):
            self.statement(depth)
        self.integers, self.floats = integers, floats

    def statement(self, depth: int) -> None:
        rng, pad = self.rng, "  " * (depth + 2)
        kind = rng.choice(["float", "int", "store", "sum", "if", "for", "for", "atomic", "change"])
        if kind == "float":
            name, value = self.fresh("v"), self.value()
            self.lines.append(f"{pad}float {name} = {value};")
            self.floats.append(name)
        elif kind == "int":
            name, value = self.fresh("k"), self.index()
            self.lines.append(f"{pad}int {name} = {value};")
            self.integers.append(name)
        elif kind == "store":
            self.lines.append(f"{pad}y[{self.index()}] {rng.choice(['=', '+=', '*='])} {self.value()};")
        elif kind == "atomic":
            self.lines.append(f"{pad}atomicAdd(&h[{self.index()}], 1);")
        elif kind == "sum" and len(self.floats) > 2:
            self.lines.append(f"{pad}{rng.choice(self.floats[2:])} += {self.value()};")
        elif kind == "change":
            own = [name for name in self.integers if name.startswith("k")]
            if own:
                self.lines.append(f"{pad}{rng.choice(own)} {rng.choice(['=', '+='])} {self.index()};")
        elif kind == "if" and depth < 3:
            self.lines.append(f"{pad}if ({self.condition()}) {{")
            self.block(depth + 1, rng.randrange(1, 3))
            if rng.random() < 0.4:
                self.lines.append(f"{pad}}} else {{")
                self.block(depth + 1, rng.randrange(1, 3))
            self.lines.append(f"{pad}}}")
        elif kind == "for" and depth < 3:
            name = self.fresh("q")
            start = rng.choice(["0", "0", "1", rng.choice(self.integers)])
            end = rng.choice(["n", "m", "4", "3", f"{rng.choice(self.integers)} + 1"])
            self.lines.append(f"{pad}for (int {name} = {start}; {name} < {end}; {name} += {rng.choice([1, 1, 2])}) {{")
            self.integers.append(name)
            self.block(depth + 1, rng.randrange(1, 3))
            self.integers.remove(name)
            self.lines.append(f"{pad}}}")


def check(seed: int) -> bool:
    """Checks one kernel; False where it leaves its arrays."""
    kernel = kernel_of(Writer(seed).text(), "f")
    try:
        truth = Truth(kernel, (2, 1), (4, 3), {"n": 6, "m": 3, "f": 0.25})
    except OutOfBounds:
        return False
    check_all(truth)
    return True


@pytest.mark.parametrize("start", range(0, 2 * _ROUNDS, _ROUNDS))
def test_random_kernels_do_what_their_facts_say(start: int) -> None:
    assert sum(check(seed) for seed in range(start, start + _ROUNDS)) > _ROUNDS // 2
