"""Arithmetic of 16-bit floats as CUDA defines it, against rational numbers: one kernel a type, one line a case."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evaluator.backend import Backend, Placement
from evaluator.plan import BoundLaunch, Call
from genome.ir.print_source import print_kernel
from genome.sizes import SizeExpr
from genome.source.frontend import parse_kernel
from genome.variant import GridAxis, Launch, Target, Variant

COUNT = 1024
FACTOR = 0.3


@dataclass(frozen=True)
class Format:
    """A type of 16 bits: its name in CUDA, in function names, its header, and its bits."""

    ctype: str
    short: str
    header: str
    exponent: int
    mantissa: int

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """What each of the 65536 patterns is, by the definition of the format."""
        bits = np.arange(1 << 16)
        sign, power = np.where(bits >> 15, -1.0, 1.0), bits >> self.mantissa & (1 << self.exponent) - 1
        rest = (bits & (1 << self.mantissa) - 1) / (1 << self.mantissa)
        bias = (1 << self.exponent - 1) - 1
        normal = np.ldexp(1.0 + rest, power - bias)
        finite = np.where(power == 0, np.ldexp(rest, 1 - bias), normal)
        special = np.where(rest == 0, np.inf, np.nan)
        return sign * np.where(power == (1 << self.exponent) - 1, special, finite)

    def nearest(self, exact: Fraction | float) -> float:
        """The value nearest to a number, the one with the even pattern of two: by looking at all of them."""
        if isinstance(exact, float) and not np.isfinite(exact):
            return exact
        finite = self._positive
        size = abs(Fraction(exact))
        above = int(np.searchsorted(finite, float(size)))
        near = [k for k in range(above - 2, above + 2) if 0 <= k < finite.size]
        beyond = Fraction(float(finite[-1])) + (Fraction(float(finite[-1])) - Fraction(float(finite[-2]))) / 2
        if size >= beyond:
            return float(np.copysign(np.inf, float(exact)))
        best = min(near, key=lambda k: (abs(Fraction(float(finite[k])) - size), k & 1))
        return float(np.copysign(finite[best], float(exact) if exact else 1.0))

    @cached_property
    def _positive(self) -> NDArray[np.float64]:
        grid = self.values[:0x8000]
        return grid[np.isfinite(grid)]


HALF = Format("__half", "half", "cuda_fp16.h", 5, 10)
BFLOAT16 = Format("__nv_bfloat16", "bfloat16", "cuda_bf16.h", 8, 7)

Exact = Callable[[Fraction, Fraction, Fraction], Fraction | float]

CASES: Mapping[str, tuple[str, Exact]] = {
    "sum": ("a[i] + b[i]", lambda a, b, c: a + b),
    "difference": ("a[i] - b[i]", lambda a, b, c: a - b),
    "product": ("a[i] * b[i]", lambda a, b, c: a * b),
    "quotient": ("a[i] / b[i]", lambda a, b, c: a / b),
    "negative": ("-a[i]", lambda a, b, c: -a),
    "smaller": ("a[i] < b[i] ? a[i] : b[i]", lambda a, b, c: min(a, b)),
    "equal": ("a[i] == b[i] || a[i] >= c[i] ? b[i] : c[i]", lambda a, b, c: b if a == b or a >= c else c),
    "fused": ("__hfma(a[i], b[i], c[i])", lambda a, b, c: a * b + c),
    "largest": ("__hmax(a[i], b[i])", lambda a, b, c: max(a, b)),
    "size": ("__habs(a[i])", lambda a, b, c: abs(a)),
    "named": ("__hsub(__hneg(a[i]), b[i])", lambda a, b, c: -a - b),
    "from an int": ("(T)(i * 1237 - 600000)", lambda a, b, c: Fraction(0)),
    "from a double": ("(T)((double)b[i] * 1.0000000001 + 0.00390625)", lambda a, b, c: Fraction(0)),
    "to an int": ("(T)((int)(a[i] / (T)64.0f) % 8)", lambda a, b, c: Fraction(0)),
    "through float": ("(float)a[i] * s + FLOAT(b[i])", lambda a, b, c: Fraction(0)),
    "scalar": ("k", lambda a, b, c: Fraction(FACTOR)),
    "root": ("hsqrt(__habs(a[i]))", lambda a, b, c: Fraction(0)),
}
"""Name -> (expression, its exact value); cases that need more than that are in ``expected``."""

LOOSE = ("quotient", "root")
"""What a GPU may compute by an approximation, to the last bit or next to it."""

FUSED = ("through float", "steps")
"""Products with a sum or a difference behind them, which a GPU's compiler may fuse."""


def source(kind: Format) -> str:
    """CUDA text: case number j writes ``y[j * n + i]``."""
    lines = [f"  y[{number} * n + i] = {text};" for number, (text, _) in enumerate(CASES.values())]
    body = "\n".join(lines).replace("FLOAT(", f"__{kind.short}2float(").replace("(T)", f"({kind.ctype})")
    arrays = ", ".join(f"const {kind.ctype}* {name}" for name in "abc")
    return f"""#include <{kind.header}>
extern "C" __global__ void cases({arrays}, {kind.ctype}* y, float s, {kind.ctype} k, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
{body}
  {kind.ctype} t = a[i];
  t += b[i];
  t *= s;
  if (t) t -= (float)c[i] * s;
  if (!t) t = s;
  y[{len(CASES)} * n + i] = t;
}}"""


def variant(kind: Format, target: Target) -> Variant:
    """The kernel parsed and printed for a target."""
    text = print_kernel(parse_kernel(source(kind), "cases"), target)
    axis = GridAxis(SizeExpr("1"))
    launch = Launch("cases", (axis, axis, axis), (64, 1, 1), tuple("abcysKn"))
    return Variant("test", target, text, (launch,))


def inputs(kind: Format) -> list[NDArray[np.uint16]]:
    """Patterns of a, b and c: of all kinds of finite numbers; sums that end near a tie are among them."""
    rng = np.random.default_rng(3)
    patterns = np.flatnonzero(np.isfinite(kind.values) & (np.abs(kind.values) < 60000.0)).astype(np.uint16)
    a, b, c = (rng.choice(patterns, COUNT) for _ in range(3))
    one = ((1 << kind.exponent - 1) - 1) << kind.mantissa
    close = np.arange(COUNT // 2, dtype=np.uint16)
    a[: COUNT // 2], b[: COUNT // 2] = one + close % 97, one + close * 7 % 89
    c[: COUNT // 4] = np.where(close[: COUNT // 4] % 2, 1, 0x8001)  # the smallest numbers: they break ties of a * b
    b[b << 1 == 0] = one
    return [a, b, c]


def expected(kind: Format) -> dict[str, NDArray[np.float64]]:
    """What each case must give: exact arithmetic, and one rounding an operation."""
    grid = kind.values
    a, b, c = ([Fraction(float(x)) for x in grid[bits]] for bits in inputs(kind))
    found = {
        name: [kind.nearest(exact(*abc)) for abc in zip(a, b, c, strict=True)] for name, (_, exact) in CASES.items()
    }
    single = np.float32(FACTOR)
    found["from an int"] = [kind.nearest(Fraction(i * 1237 - 600000)) for i in range(COUNT)]
    found["from a double"] = [kind.nearest(float(y) * 1.0000000001 + 0.00390625) for y in b]
    sixtyfourth = [kind.nearest(x / 64) for x in a]
    found["to an int"] = [float(np.fmod(np.trunc(x), 8)) for x in sixtyfourth]
    products = [np.float32(float(x)) * single for x in a]
    found["through float"] = [kind.nearest(float(p + np.float32(float(y)))) for p, y in zip(products, b, strict=True)]
    found["root"] = [kind.nearest(float(np.sqrt(float(abs(x))))) for x in a]
    found["steps"] = [_steps(kind, *abc) for abc in zip(a, b, c, strict=True)]
    return {name: np.array(values) for name, values in found.items()}


def _steps(kind: Format, a: Fraction, b: Fraction, c: Fraction) -> float:
    factor = Fraction(kind.nearest(float(np.float32(FACTOR))))
    t = kind.nearest(a + b)
    t = kind.nearest(Fraction(t) * factor) if np.isfinite(t) else t
    if t:
        part = kind.nearest(float(np.float32(float(c)) * np.float32(FACTOR)))
        t = kind.nearest(Fraction(t) - Fraction(part)) if np.isfinite(t) else t
    return t if t else float(factor)


def call_of(kind: Format) -> Call:
    """The launch of the kernel."""
    factor = np.uint16(np.flatnonzero(kind.values == kind.nearest(FACTOR))[0])
    args = ("a", "b", "c", "y", np.float32(FACTOR), factor, np.int32(COUNT))
    sizes = {"a": 2 * COUNT, "b": 2 * COUNT, "c": 2 * COUNT, "y": 2 * COUNT * (len(CASES) + 1)}
    return Call((BoundLaunch("cases", (COUNT // 64, 1, 1), (64, 1, 1), args),), sizes, {}, dict.fromkeys(sizes, 2))


def run(backend: Backend, kind: Format) -> dict[str, NDArray[np.float64]]:
    """What a device gives for each case."""
    names = [*CASES, "steps"]
    arrays, call = inputs(kind), call_of(kind)
    buffers = {name: backend.allocate(size) for name, size in call.buffers.items()}
    for name, buffer in buffers.items():
        buffer.place(Placement.TIGHT, 2)
        buffer.fill(0xFF)
        if name != "y":
            buffer.write(arrays["abc".index(name)].view(np.uint8))
    binary = backend.compile(variant(kind, backend.target), [call], "", lambda stage: None)
    backend.run(backend.load(binary), call, buffers)
    found = kind.values[buffers["y"].read().view(np.uint16)].reshape(len(names), COUNT)
    for buffer in buffers.values():
        buffer.release()
    return dict(zip(names, found, strict=True))
