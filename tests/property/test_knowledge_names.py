"""Digest and features of a kernel do not depend on the names in its source."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from genome.sizes import SizeExpr
from genome.source.frontend import parse_kernel
from genome.spec import ArgSpec, KernelSpec, LaunchSpec, ProblemSize, Role
from knowledge.features import kernel_record

SOURCE = """
__global__ void smooth(const float* data, float* out, int width, int height) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (col >= width || row >= height) return;
    float total = 0.0f;
    for (int step = 0; step < width; ++step) {
        float value = data[row * width + step];
        total += value * data[step * width + col];
    }
    out[row * width + col] = total > 0.0f ? total : expf(total);
}
"""
NAMES = ("data", "out", "width", "height", "col", "row", "total", "step", "value")
W, H = SizeExpr("W"), SizeExpr("H")

identifiers = st.lists(
    st.from_regex(r"[a-z][a-z0-9]{0,6}_", fullmatch=True), min_size=len(NAMES), max_size=len(NAMES), unique=True
)


def record_of(names: dict[str, str]) -> tuple[str, tuple[float, ...]]:
    source = re.sub(r"[A-Za-z_]\w*", lambda word: names.get(word.group(), word.group()), SOURCE)
    data, out, width, height = (names.get(name, name) for name in NAMES[:4])
    args = (
        ArgSpec(data, "float32", Role.IN, (H, W)), ArgSpec(out, "float32", Role.OUT, (H, W)),
        ArgSpec(width, "int32", value=W), ArgSpec(height, "int32", value=H),
    )  # fmt: skip
    size = ProblemSize((("W", 64), ("H", 64)))
    spec = KernelSpec("smooth", source, "smooth", args, LaunchSpec((16, 16, 1), (W, H)), (size,))
    record = kernel_record(spec, parse_kernel(source, "smooth"))
    return record.digest, record.features


@settings(max_examples=25, deadline=None)
@given(identifiers)
def test_renaming_changes_nothing(fresh: list[str]) -> None:
    assert record_of(dict(zip(NAMES, fresh, strict=True))) == record_of({})
