"""Alignments that a kernel asks for survive: as text where the engine has no word for them."""

from __future__ import annotations

import pytest

from genome.ir.print_source import print_kernel
from genome.source.frontend import parse_kernel
from genome.source.opening import open_kernel
from genome.source.round_trip import round_trip
from genome.variant import Target

KERNEL = """__global__ void k(float* y, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    {declaration}
    s[threadIdx.x % 4] = y[i];
    if (i < n) y[i] = s[threadIdx.x % 4];
}}"""
WORDS = {
    "alignas(16) float s[4];": "16) float s[4]",
    "__align__(16) float s[4];": "16) float s[4]",
    "float s[4] __attribute__((aligned(16)));": "aligned(16)",
    "__shared__ __align__(128) float s[4];": "128) float s[4]",
    "__shared__ alignas(8) float s[4];": "float s[4]",
    "alignas(16) __shared__ float s[4];": "16) float s[4]",
}


@pytest.mark.parametrize("declaration", WORDS)
def test_the_alignment_is_kept(declaration: str) -> None:
    source = KERNEL.format(declaration=declaration)
    text = print_kernel(parse_kernel(source, "k"), Target.CUDA)
    assert WORDS[declaration] in text.replace("__align__( ", "__align__(")


@pytest.mark.parametrize("declaration", WORDS)
def test_it_is_printed_back_as_it_was(declaration: str) -> None:
    back = round_trip(open_kernel(KERNEL.format(declaration=declaration), "k", "kernel.cu", (), (), ()), "kernel.cu")
    number = next(word for word in ("128", "16", "8") if word in declaration)
    assert f"({number})" in back.verbatim


def test_alignment_is_no_name_of_opaque_text() -> None:
    source = """struct Pair { float a, b; __device__ Pair() {} }; __global__ void k(float* y) {
        __shared__ Pair __align__(8) one[sizeof(Pair)]; __shared__ Pair __align__(8) two[4];
        y[0] = one[0].a + two[0].b; }"""
    printed = print_kernel(parse_kernel(source, "k"), Target.CUDA)
    assert "__align___2" not in printed
    assert printed.count("__align__(8)") == 2
