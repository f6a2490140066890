"""Random small kernels as text: loops, conditions, barriers, shared arrays, atomics, affine indices and others.

Every kernel is a whole CUDA function over ``x`` and ``y`` (float), ``h`` and ``p`` (int), ``n`` and ``m`` (sizes), for
blocks of 4 x 2 threads.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from tests.interpret.trace import Launch

GRID, BLOCK = (2, 2), (4, 2)
ELEMENTS = 64


@dataclass(frozen=True)
class Taste:
    """What may occur in a kernel.

    Attributes:
        shared, barriers, atomics: Whether there are any.
        stores: Arrays that are written.
        axes: Whether global indices may be used.
        indexed: Whether they always are, and nothing else of a thread's place in the launch.
        straight: Whether barriers stand at the top level or under uniform control only.
    """

    shared: bool = True
    barriers: bool = True
    atomics: bool = True
    stores: tuple[str, ...] = ("y", "h")
    axes: bool = True
    indexed: bool = False
    straight: bool = False


@dataclass
class _Writer:
    draw: st.DrawFn
    taste: Taste
    lines: list[str] = field(default_factory=list)
    integers: list[str] = field(default_factory=list)
    floats: list[str] = field(default_factory=list)
    count: int = 0

    def pick(self, *choices: str) -> str:
        return self.draw(st.sampled_from(choices))

    def fresh(self, base: str) -> str:
        self.count += 1
        return f"{base}{self.count}"

    @property
    def places(self) -> list[str]:
        """What tells a thread from others."""
        return self.integers if self.taste.indexed else [*self.integers, "threadIdx.x", "threadIdx.y"]

    def put(self, depth: int, text: str) -> None:
        self.lines.append("    " * (depth + 1) + text)

    def whole(self) -> str:
        """An index: mostly affine and not negative, now and then neither."""
        parts = [self.pick(*self.places, "n", "0", "1")]
        for _ in range(self.draw(st.integers(0, 2))):
            scale = self.pick("", "", "2 * ", "4 * ", "8 * ")
            sign = self.pick("+", "+", "+", "-")
            parts.append(f"{sign} {scale}{self.pick(*self.places, 'm', '1', '2', '3')}")
        text = " ".join(parts)
        wild = self.draw(st.integers(0, 9))
        if wild == 0:
            return f"({text}) % {self.pick('4', '8')}"
        if wild == 1:
            return f"p[{text}]"
        return f"({text}) / 2" if wild == 2 else text

    def number(self) -> str:
        """A value."""
        kind = self.draw(st.integers(0, 5))
        if kind == 0 and self.floats:
            return self.pick(*self.floats)
        if kind == 1 and self.taste.shared:
            return self.pick("s[{}]", "t[{}][{}]", "g").format(self.whole(), self.whole())
        if kind == 2:
            return f"x[{self.whole()}] + {self.pick('1.0f', '0.5f')}"
        if kind == 3:
            return f"{self.pick('x', 'y', 'moving')}[{self.whole()}]"
        return f"{self.pick('1.0f', '2.0f')} * {self.pick(*self.integers, 'n', '3')}"

    def condition(self) -> str:
        """A condition; half of them the same for all threads."""
        if self.draw(st.booleans()):
            return self.pick(
                "n < m", "m > 1", "m == 0" if self.taste.indexed else "blockIdx.x == 0", "n == 2", "p[0] > 1"
            )
        left = self.pick(*self.places)
        return f"{left} {self.pick('<', '==', '>=', '>')} {self.pick('0', '1', '2', 'n')}"

    def statement(self, depth: int, uniform: bool) -> None:
        kinds = ["store", "store", "local", "update", "wide", "effect"]
        if depth < 3:
            kinds += ["loop", "if", "while"]
        if self.taste.barriers and (uniform or not self.taste.straight):
            kinds += ["barrier", "barrier"]
        if self.taste.shared:
            kinds += ["shared", "shared"]
        if self.taste.atomics:
            kinds.append("atomic")
        getattr(self, f"_{self.pick(*kinds)}")(depth, uniform)

    def body(self, depth: int, uniform: bool, most: int = 3) -> None:
        known = len(self.integers), len(self.floats)
        for _ in range(self.draw(st.integers(1, most))):
            self.statement(depth, uniform)
        del self.integers[known[0] :], self.floats[known[1] :]

    def _store(self, depth: int, uniform: bool) -> None:
        array = self.pick(*self.taste.stores)
        value = self.whole() if array == "h" else self.number()
        self.put(depth, f"{array}[{self.whole()}] {self.pick('=', '=', '+=')} {value};")

    def _wide(self, depth: int, uniform: bool) -> None:
        """Two elements at once, through pointers to another type."""
        arrays = [name for name in (*self.taste.stores, *(("s",) if self.taste.shared else ())) if name != "h"]
        source = self.pick("x", "y", *(("s",) if self.taste.shared else ()))
        index, other = (text if "p[" not in text else "1" for text in (self.whole(), self.whole()))  # read but once
        self.put(depth, f"((float2*){self.pick(*arrays)})[{index}] = ((const float2*){source})[{other}];")

    def _effect(self, depth: int, uniform: bool) -> None:
        """An assignment inside of an expression, or a pointer that moves."""
        counters = [name for name in self.integers if name.startswith("q")]
        if counters and self.draw(st.booleans()):
            name = self.pick(*counters)
            place = self.pick(f"{name}++", f"++{name}", f"({name} = {self.pick(*self.integers)} / 2)")
            self.put(depth, f"{self.pick(*self.taste.stores)}[{place}] = 1;")
        else:
            self.put(depth, self.pick(f"moving += {self.whole()};", "moving++;", f"moving = x + {self.whole()};"))

    def _shared(self, depth: int, uniform: bool) -> None:
        target = self.pick(f"s[{self.whole()}]", f"t[{self.whole()}][{self.whole()}]", "s[threadIdx.x]",
                           "t[threadIdx.y][threadIdx.x]", "s[threadIdx.y * 4 + threadIdx.x]", "g")  # fmt: skip
        self.put(depth, f"{target} {self.pick('=', '=', '+=')} {self.number()};")

    def _atomic(self, depth: int, uniform: bool) -> None:
        function = self.pick("atomicAdd", "atomicAdd", "atomicMax", "atomicSub")
        if self.draw(st.integers(0, 3)) == 0:
            name = self.fresh("q")
            array = self.pick("h", "c") if self.taste.shared else "h"
            self.put(depth, f"int {name} = {function}(&{array}[{self.whole()}], 1) & 3;")
            self.integers.append(name)
            return
        self.put(depth, f"{function}(&{self.pick('h', 'h', 'c') if self.taste.shared else 'h'}[{self.whole()}], 1);")

    def _local(self, depth: int, uniform: bool) -> None:
        if self.draw(st.booleans()):
            name = self.fresh("q")
            self.put(depth, f"int {name} = {self.whole()};")
            self.integers.append(name)
        else:
            name = self.fresh("f")
            self.put(depth, f"float {name} = {self.number()};")
            self.floats.append(name)

    def _update(self, depth: int, uniform: bool) -> None:
        if self.floats and self.draw(st.booleans()):
            name, value = self.pick(*self.floats), self.number()
            self.put(depth, self.pick(f"{name} += {value};", f"{name} = fmaxf({name}, {value});", f"{name} = {value};",
                                      f"{name} -= {value};", f"if ({value} > {name}) {name} = {value};"))  # fmt: skip
        elif any(name.startswith("q") for name in self.integers):
            name, value = self.pick(*(n for n in self.integers if n.startswith("q"))), self.whole()
            self.put(depth, self.pick(f"{name} += {value};", f"{name} = min({name}, {value});", f"{name} = {value};",
                                      f"{name} = {name} + {value};", f"{name} ^= {value};"))  # fmt: skip

    def _loop(self, depth: int, uniform: bool) -> None:
        name = self.fresh("k")
        low = self.pick("0", "0", "0", "1", *self.integers)
        high = self.pick("2", "3", "n", "m", "n", *self.integers)
        step = self.pick("++" + name, "++" + name, f"{name} += 2")
        self.put(depth, f"for (int {name} = {low}; {name} < {high}; {step}) {{")
        self.integers.append(name)
        self.body(depth + 1, uniform and low not in self.integers[:-1] and high not in self.integers[:-1])
        self.integers.remove(name)
        self.put(depth, "}")

    def _if(self, depth: int, uniform: bool) -> None:
        condition = self.condition()
        same = uniform and not any(word in condition for word in ("threadIdx", *self.integers))
        self.put(depth, f"if ({condition}) {{")
        self.body(depth + 1, same, 2)
        if self.draw(st.booleans()):
            self.put(depth, "} else {")
            self.body(depth + 1, same, 2)
        self.put(depth, "}")

    def _while(self, depth: int, uniform: bool) -> None:
        """A loop that a condition or a jump ends; it steps first, so that it does end."""
        even = uniform and self.draw(st.booleans())
        name, end = self.fresh("w"), self.pick("2", "n", "m + 1")
        self.put(depth, f"int {name} = {self.pick('0', '1') if even else self.pick('0', *self.places)};")
        self.integers.append(name)
        form = self.pick("while", "do", "for")
        self.put(depth, {"while": f"while ({name} < {end}) {{", "do": "do {", "for": "for (;;) {"}[form])
        if form == "for":
            self.put(depth + 1, f"if ({name} >= {end}) break;")
        self.put(depth + 1, f"{name} += {self.pick('1', '2')};")
        if self.draw(st.booleans()):
            self.body(depth + 1, even, 1)
        jumps = ["break", "continue"] if self.taste.barriers else ["break", "continue", "return"]
        condition = self.pick("n < m", f"{name} > 2", "p[0] > 1") if even else self.condition()
        if self.draw(st.booleans()):
            self.put(depth + 1, f"if ({condition}) {self.pick(*jumps)};")
        self.body(depth + 1, even)
        self.put(depth, f"}} while ({name} < {end});" if form == "do" else "}")

    def _barrier(self, depth: int, uniform: bool) -> None:
        self.put(depth, "__syncthreads();")


@st.composite
def kernels(draw: st.DrawFn, taste: Taste = Taste()) -> str:
    """A kernel's text."""
    writer = _Writer(draw, taste)
    writer.lines.append("__global__ void k(const float* x, float* y, int* h, const int* p, int n, int m) {")
    writer.put(0, "const float* moving = x + 1;")
    if taste.shared:
        writer.put(0, "__shared__ float s[24];")
        writer.put(0, "__shared__ float t[4][9];")
        writer.put(0, "__shared__ int c[16];")
        writer.put(0, "__shared__ float g;")
    if taste.indexed or (taste.axes and draw(st.booleans())):
        writer.put(0, "int i = blockIdx.x * blockDim.x + threadIdx.x;")
        writer.integers.append("i")
        if draw(st.booleans()):
            writer.put(0, "int j = blockIdx.y * blockDim.y + threadIdx.y;")
            writer.integers.append("j")
        if draw(st.booleans()):
            writer.put(0, draw(st.sampled_from(["if (i >= n) return;", "if (i < 5) {"])))
    known = len(writer.lines)
    writer.body(0, True, 5)
    if writer.lines[known - 1].endswith("{") and known > 1:
        writer.put(0, "}")
    return "\n".join([*writer.lines, "}", ""])


def launches(shared_sizes: tuple[tuple[int, int], ...] = ((3, 2), (1, 3), (5, 0)), seed: int = 1) -> list[Launch]:
    """Small sizes at which a kernel is tried, with data of their own."""
    found = []
    for number, (n, m) in enumerate(shared_sizes):
        rng = np.random.default_rng(seed + number)
        arrays = {
            "x": rng.integers(-4, 5, ELEMENTS).astype(np.float32),
            "y": rng.integers(-4, 5, ELEMENTS).astype(np.float32),
            "h": rng.integers(0, 5, ELEMENTS).astype(np.int32),
            "p": rng.integers(0, 6, ELEMENTS).astype(np.int32),
        }
        found.append(Launch(GRID, BLOCK, arrays, {"n": n, "m": m}, seed=seed + number))
    return found
