"""Masks, masked tiles, register windows and fused sums refuse the near miss, say why, and what would grant it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genome.genes import Gene, Genome, Site
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, Assumptions, KernelSpec, LaunchSpec, ProblemSize, Role
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant

HEAD = """
__global__ void f(const float* a, const float* w, const int* at, float* y, int n, int m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = 0.0f;
"""


def spec_of(body: str, **grants: bool) -> KernelSpec:
    args = (ArgSpec("a", "float32", Role.IN, (SizeExpr("n"), SizeExpr("m"))),
            ArgSpec("w", "float32", Role.IN, (SizeExpr("m"),)), ArgSpec("at", "int32", Role.IN, (SizeExpr("n"),)),
            ArgSpec("y", "float32", Role.INOUT, (SizeExpr("n"),)),
            ArgSpec("n", "int32", value=SizeExpr("n")), ArgSpec("m", "int32", value=SizeExpr("m")))  # fmt: skip
    assumptions = replace(Assumptions(no_alias=True, reassociation=True), **grants)  # type: ignore[arg-type]
    return KernelSpec("f", HEAD + body + "\n    y[i] = s;\n  }\n}\n", "f", args,
                      LaunchSpec((64, 1, 1), (SizeExpr("n"),)), (ProblemSize((("n", 256), ("m", 8))),),
                      assumptions=assumptions)  # fmt: skip


def gene(transform: str, label: str, **params: int) -> Gene:
    return Gene.of(transform, Site(label, label), **params)


def reason(spec: KernelSpec, *genes: Gene) -> str:
    """Why the last gene does not apply; empty if it does."""
    variant = lower(spec, Genome(genes), BUILTIN, Target.CUDA, DeviceLimits())
    assert isinstance(variant, Variant), variant
    assert {item.gene for item in variant.skipped} <= {genes[-1]}
    return variant.skipped[0].reason if variant.skipped else ""


LOOP = "for (int k = 0; k < m; k++) "
TAPS = "for (int k = 0; k < 3; k++) "
MASK = gene("masked_reads", "a")
TILED = (gene("coarsen_blocked", "i", factor=2), gene("register_tile", "instances"))
BORDER = "i + k >= 1 && i + k < n + 1"

MASKS = {
    "the other factor may lie outside": (
        LOOP + "if (i + k < n) s += a[i + k] * w[i + k];", "w may be read outside of its extent"),
    "a term that does not vanish": (LOOP + "if (k > i) s += a[i * m + k] + w[k];", "no site a"),
    "a product instead of a sum": (LOOP + "if (k > i) s *= a[i * m + k];", "no site a"),
    "another branch": (LOOP + "if (k > i) s += a[k]; else s += 1.0f;", "no site a"),
    "a sum in memory": (LOOP + "if (k > i) y[i] += a[k];", "no site a"),
    "a condition that the sum decides": (LOOP + "if (s < 4.0f) s += a[i * m + k];", "no site a"),
    "a division that the condition protects": (
        LOOP + "if (m > k) s += a[i * m + k] * (float)(m / (m - k));", "no site a"),
    "an index of the other factor from memory": (
        LOOP + "if (k > i) s += a[i * m + k] * w[at[i]];", "w may be read outside of its extent"),
    "a sum that is shared": (
        "__shared__ float t; " + LOOP + "if (k > i) t += a[i * m + k];", "no site a"),
}  # fmt: skip


@pytest.mark.parametrize("name", MASKS)
def test_a_mask_is_refused(name: str) -> None:
    body, said = MASKS[name]
    assert said in reason(spec_of(body), MASK)


def test_a_mask_names_its_grant() -> None:
    body = LOOP + "if (k > i) s += a[i * m + k] * w[k];"
    assert reason(spec_of(body), MASK) == ""
    assert "assume.reassociation" in reason(spec_of(body, reassociation=False), MASK)


def test_a_mask_is_guarded_by_the_extents_that_it_relies_on() -> None:
    spec = spec_of(LOOP + "if (k > i) s += a[i * m + k] * w[2 * k];")
    assert "w may be read outside" in reason(spec, MASK)
    args = tuple(replace(arg, shape=(SizeExpr("m + 7"),)) if arg.name == "w" else arg for arg in spec.args)
    variant = lower(replace(spec, args=args), Genome((MASK,)), BUILTIN, Target.CUDA, DeviceLimits())
    assert isinstance(variant, Variant)
    assert not variant.skipped
    assert variant.guard.holds({"n": 64, "m": 8})  # the last index is 2 * 7, the extent 15
    assert not variant.guard.holds({"n": 64, "m": 9})


TILES = {
    "a mask of another kind": (
        TAPS + "if ((i + k) % 2 == 0) s += a[i + k] * 2.0f;", "the condition is no affine function"),
    "a mask that does not follow the element": (
        TAPS + "if (k <= i) s += a[i + k] * 2.0f;", "in another way than the element does"),
    "a mask that steps otherwise": (
        TAPS + "if (i + k < n) s += a[8 * i + 4 * k] * 2.0f;", "in another way than the element does"),
    "gaps between the elements": (
        TAPS + "if (5 * i + 2 * k < n) s += a[5 * i + 2 * k] * 2.0f;", "leave gaps"),
    "a mask from memory": (TAPS + "if (i + k < at[0]) s += a[i + k] * 2.0f;", "the address or its mask depends on"),
    "an address from memory": (
        TAPS + f"if ({BORDER}) s += a[at[i] + k] * 2.0f;", "not affine in i_thread"),
    "a loop whose end is not known": (LOOP + f"if ({BORDER}) s += a[i + k - 1] * 2.0f;", "no constant trip count"),
    "a loop that leaves elements out": (
        "for (int k = 0; k < 4; k += 2) " + f"if ({BORDER}) s += a[i + k - 1] * 2.0f;", "leaves elements out"),
    "a comparison that wraps round below zero": (
        "for (unsigned k = 0; k < 3; k++) if (i + k - 1 < n) s += a[i + k - 1] * 2.0f;", "in a type that its position"),
    "an unmasked read beside": (
        TAPS + "{ if (i + k < n) s += a[i + k] * 2.0f; s += a[i]; }", "without a mask"),
}  # fmt: skip


@pytest.mark.parametrize("name", TILES)
def test_a_masked_tile_is_refused(name: str) -> None:
    body, said = TILES[name]
    assert said in reason(spec_of(body), MASK, *TILED, gene("masked_tile", "a", pad=0))


def test_a_masked_tile_is_made() -> None:
    body = TAPS + f"if ({BORDER}) s += a[i + k - 1] * 2.0f;"
    assert reason(spec_of(body), MASK, *TILED, gene("masked_tile", "a", pad=0)) == ""


WINDOWS = {
    "written in between": (
        TAPS + "{ s += y[i + k]; y[i] = s; }", "y", 1, "y is written where it is read"),
    "read under a condition": (TAPS + "if (k > i) s += a[i + k];", "a", 1, "under a condition"),
    "a condition inside": (TAPS + "s += k > i ? a[i + k] : 0.0f;", "a", 1, "under a condition"),
    "an index that changes": (
        "int p = i; " + TAPS + "{ s += a[p]; p += 3; }", "a", 1, "the address depends on p"),
    "an index from memory": (TAPS + "s += a[at[i + k]];", "a", 1, "not affine"),
    "gaps": (
        TAPS + "for (int j = 0; j < 2; j++) s += a[64 * i + 5 * k + 2 * j];", "a", 2, "leave gaps"),
    "a barrier": (TAPS + "{ s += a[i + k]; __syncthreads(); }", "a", 1, "barrier"),
    "an atomic": (TAPS + "{ s += a[i + k]; atomicAdd(&y[0], s); }", "a", 1, "an atomic"),
    "an end that is not known": (LOOP + "s += a[i + k];", "a", 1, "no site a"),
    "too many elements": ("for (int k = 0; k < 200; k++) s += a[i + k];", "a", 1, "larger than"),
    "more loops than there are": (TAPS + "s += a[i + k];", "a", 2, "no loops of constant trip"),
}  # fmt: skip


@pytest.mark.parametrize("name", WINDOWS)
def test_a_window_is_refused(name: str) -> None:
    body, array, depth, said = WINDOWS[name]
    assert said in reason(spec_of(body), gene("register_window", array, depth=depth))


def test_a_window_names_its_grant() -> None:
    body = TAPS + "{ s += a[i + k]; y[i] = s; }"
    window = gene("register_window", "a", depth=1)
    assert reason(spec_of(body), window) == ""
    assert "assume.no_alias" in reason(spec_of(body, no_alias=False), window)


def test_nothing_is_loaded_that_the_text_would_not_read() -> None:
    """A star leaves the corners of its box out: it becomes three windows, of which none holds a corner."""
    source = """
    __global__ void f(const float* a, float* y, int n, int m) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= 1 && i < m - 1)
        for (int r = 0; r < 1; r++) y[i] = a[i] + a[i + m - 1] + a[i + m] + a[i + m + 1] + a[i + 2 * m];
    }"""
    spec = replace(spec_of(""), source=source)
    spec = replace(spec, args=tuple(arg for arg in spec.args if arg.name not in ("w", "at")))
    genes = (*TILED, gene("register_window", "a", depth=1))
    variant = lower(spec, Genome(genes), BUILTIN, Target.CUDA, DeviceLimits())
    assert isinstance(variant, Variant)
    assert not variant.skipped
    assert [variant.source.count(f"a_window{part}[") > 0 for part in ("", "_2", "_3", "_4")] == [
        True,
        True,
        True,
        False,
    ]
    assert "[4]" in variant.source


SUMS = {
    "nothing but products": "s = a[i] * a[i] + w[0] * w[0];",
    "fused as it is": "s = a[i] * a[i] + w[0] + w[1] * w[1];",
    "integers": "s = (float)(n * n + m * m + i);",
    "two precisions": "s = a[i] * a[i] + w[0] * w[0] + 0.5;",
    "a difference of products alone": "s = a[i] * a[i] - w[0] * w[0] - w[1];",
}


@pytest.mark.parametrize("name", SUMS)
def test_a_sum_is_left_as_it_is(name: str) -> None:
    assert "no site sums" in reason(spec_of(SUMS[name]), gene("fused_sums", "sums"))


def test_a_sum_names_its_grant() -> None:
    body = "s = a[i] * a[i] + w[0] * w[0] + 0.5f;"
    assert reason(spec_of(body), gene("fused_sums", "sums")) == ""
    assert "assume.reassociation" in reason(spec_of(body, reassociation=False), gene("fused_sums", "sums"))
