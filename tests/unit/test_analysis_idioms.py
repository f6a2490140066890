"""Idioms are found whatever names, argument order, loop order and layout a kernel has, and not on near misses."""

from __future__ import annotations

from pathlib import Path

import pytest

from evo.campaign import load_campaign
from genome.analysis.analyse import analyse
from genome.analysis.casts import mark_rounding
from genome.analysis.facts import Idiom, IdiomName
from genome.genes import Gene, Genome, Site
from genome.limits import DeviceLimits
from genome.lower import seal
from genome.replay import replay
from genome.source.frontend import parse_kernel
from genome.transforms.base import Context
from genome.transforms.builtin import BUILTIN
from genome.variant import Target

EXAMPLES = Path(__file__).parents[2] / "examples"
_X = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
_XY = f"{_X} int j = blockIdx.y * blockDim.y + threadIdx.y;"


def found(parameters: str, body: str, axes: str = _X) -> dict[IdiomName, Idiom]:
    kernel = mark_rounding(parse_kernel(f"__global__ void f({parameters}) {{ {axes}\n{body} }}", "f"))
    return {idiom.name: idiom for idiom in analyse(kernel).idioms}


IN_OUT = "const float* x, float* y, int n"
THREE = "const float* a, const float* b, float* c, int m, int n, int k"

KERNELS: dict[str, list[tuple[str, str, str]]] = {
    "map": [
        (IN_OUT, "if (i < n) y[i] = sqrtf(x[i]) + 1.0f;", _X),
        ("int h, int w, float s, float* q, const float* p", "if (j < h && i < w) { float t = p[j * w + i]; "
         "t = t * s; q[j * w + i] = t > 0.0f ? t : 0.0f; }", _XY),
        ("float* z, const float* bias, int rows, int cols",
         "if (i < rows) for (int q = 0; q < cols; q++) z[q * rows + i] += bias[q];", _X),
        ("float* y, int n", "if (i < n) { y[3 * i] = 0.5f * i; }", _X),
    ],
    "row reduction": [
        (IN_OUT, "if (i < n) { float s = 0.0f; for (int q = 0; q < n; q++) s += x[i * n + q]; y[i] = s; }", _X),
        ("int c, float* top, int r, const float* m", "if (i < r) { float t = -1e30f; "
         "for (int q = 0; q < c; q++) { float v = fabsf(m[q * r + i]); if (v > t) t = v; } top[i] = t; }", _X),
        ("float* y, const float* x, int n, int c", "if (i < c && j < n) atomicAdd(&y[j], x[j * c + i]);", _XY),
        ("const int* start, const float* v, const float* x, const int* col, float* y, int n",
         "if (i < n) { float s = 0.0f; for (int q = start[i]; q < start[i + 1]; q++) s += v[q] * x[col[q]]; "
         "y[i] = s; }", _X),
    ],
    "full reduction": [
        ("const float* x, float* t, int n", "if (i < n) atomicAdd(t, x[i]);", _X),
        ("int n, int* best, const int* v", "if (i < n) atomicMax(&best[0], v[n - 1 - i]);", _X),
        ("const float* x, const float* w, float* t, int n", "if (i < n) { float s = 0.0f; "
         "for (int q = 0; q < 8; q++) s += x[i * 8 + q] * w[i * 8 + q]; atomicAdd(&t[2], s); }", _X),
    ],
    "contraction": [
        (THREE, "if (i < n && j < m) { float s = 0.0f; for (int q = 0; q < k; q++) s += a[j * k + q] * b[q * n + i];"
         " c[j * n + i] = s; }", _XY),
        ("int k, int n, float* out, int m, const double* p, const double* q", "if (i < m && j < n) { double s = 0.0; "
         "for (int t = 0; t < k; t++) { double l = p[t * m + i]; double r = q[j * k + t]; s = fma(l, r, s); } "
         "out[i * n + j] = s; }", _XY),
        (THREE, "if (i < n) for (int q = 0; q < k; q++) for (int r = 0; r < m; r++) "
         "c[r * n + i] += a[q * m + r] * b[q * n + i];", _X),
        ("const float* a, const float* x, float* y, int m, int n", "if (i < n && j < m) "
         "atomicAdd(&y[j], a[j * n + i] * x[i]);", _XY),
    ],
    "stencil": [
        (IN_OUT, "if (i > 0 && i < n - 1) y[i] = x[i - 1] - 2.0f * x[i] + x[i + 1];", _X),
        ("int p, float* v, const float* u, int h, int w", "if (i < w && j < h) { float c = u[(j + 1) * p + i + 1]; "
         "float s = u[(j + 2) * p + i + 1] + u[j * p + i + 1]; v[j * w + i] = s - 2.0f * c; }", _XY),
        ("const float* w, const float* x, float* y, int n, int taps",
         "if (i < n) { float s = 0.0f; for (int q = 0; q < taps; q++) s += w[q] * x[i + q]; y[i] = s; }", _X),
        (IN_OUT, "if (i < n) y[i] = x[max(i - 1, 0)] + x[i] + x[min(i + 1, n - 1)];", _X),
    ],
    "permutation": [
        ("const float* x, float* y, int w, int h", "if (i < w && j < h) y[i * h + j] = x[j * w + i];", _XY),
        ("int n, float* b, const float* a", "if (i < n) b[n - 1 - i] = a[i];", _X),
        ("const float* x, float* y, int h, int w", "if (i < h) for (int q = 0; q < w; q++) { float v = x[i * w + q]; "
         "y[q * h + i] = v; }", _X),
        ("const int* where, const float* x, float* y, int n", "if (i < n) y[where[i]] = x[i];", _X),
    ],
    "histogram": [
        ("const unsigned char* d, unsigned int* h, int n", "if (i < n) atomicAdd(&h[d[i]], 1u);", _X),
        ("float* grid, int n, const int* cell, const float* mass",
         "if (i < n) { int c = cell[i]; atomicAdd(&grid[3 * c + 1], mass[i]); }", _X),
        ("const float* x, int* h, int n, float scale",
         "if (i < n) for (int q = 0; q < 4; q++) { int b = (int)(x[i * 4 + q] * scale); atomicMax(&h[b], q); }", _X),
    ],
    "scan": [
        ("const float* x, float* y, int r, int c", "if (i < c && j < r) { float s = 0.0f; "
         "for (int q = 0; q <= i; q++) s += x[j * c + q]; y[j * c + i] = s; }", _XY),
        (IN_OUT, "if (i < n) { float s = 0.0f; for (int q = 0; q < n; q++) { s += x[q * n + i]; y[q * n + i] = s; } }",
         _X),
        ("int n, float* acc, const float* v",
         "if (i < n) for (int q = 1; q < n; q++) acc[i * n + q] = acc[i * n + q - 1] + v[i * n + q];", _X),
    ],
    "all pairs": [
        ("const float* p, float* f, int n", "if (i < n) { float s = 0.0f; float me = p[i]; "
         "for (int q = 0; q < n; q++) { float d = p[q] - me; s += d * rsqrtf(d * d + 1.0f); } f[i] = s; }", _X),
        ("int count, int* near, float r, const float* px, const float* py", "if (i < count) { int c = 0; "
         "for (int q = 0; q < count; q++) { float dx = px[i] - px[q]; float dy = py[i] - py[q]; "
         "float inside = dx * dx + dy * dy < r ? 1.0f : 0.0f; c += (int)inside; } near[i] = c; }", _X),
        ("const float4* b, float* e, int n", "if (i < n) { float s = 1e30f; for (int q = 0; q < n; q++) "
         "s = fminf(s, fabsf(b[q].x - b[i].x)); e[i] = s; }", _X),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("name", "number"), [(name, n) for name, cases in KERNELS.items() for n in range(len(cases))])
def test_idioms_are_found(name: str, number: int) -> None:
    parameters, body, axes = KERNELS[name][number]
    assert IdiomName(name) in found(parameters, body, axes)


NEAR_MISSES: dict[str, list[tuple[str, str, str]]] = {
    "map": [
        (IN_OUT, "if (i < n) y[i] = x[i] + x[n - 1 - i];", _X),  # two places
        (IN_OUT, "if (i < n) for (int q = 0; q < n; q++) y[i] = x[i * n + q];", _X),  # the last one wins
        (IN_OUT, "if (i < n) { float s = 0.0f; for (int q = 0; q < n; q++) s += x[i * n + q]; y[i] = s; }", _X),
    ],
    "row reduction": [
        (IN_OUT, "if (i < n) { float s = 0.0f; for (int q = 0; q < n; q++) s = s * 0.5f + x[i * n + q]; "
         "y[i] = s; }", _X),
        (IN_OUT, "if (i < n) { float s = 0.0f; for (int q = 0; q < n; q++) s = x[i * n + q]; y[i] = s; }", _X),
    ],
    "full reduction": [
        # every thread sums the weights for itself
        ("const float* w, float* y, int n, int k", "if (i < n) { float s = 0.0f; for (int q = 0; q < k; q++) "
         "s += w[q]; y[i] = s; }", _X),
        ("const float* x, float* t, int n", "if (i < n) atomicAdd(&t[i], x[i]);", _X),
        ("const float* x, float* t, int n", "if (i < n) atomicExch(&t[0], x[i]);", _X),
    ],
    "contraction": [
        # the same elements of both factors belong to one row
        ("const float* a, const float* b, float* y, int n",
         "if (i < n) { float s = 0.0f; for (int q = 0; q < n; q++) s += a[i * n + q] * b[i * n + q]; y[i] = s; }", _X),
        (THREE, "if (i < n && j < m) { float s = 0.0f; for (int q = 0; q < k; q++) s += a[j * k + q] + b[q * n + i];"
         " c[j * n + i] = s; }", _XY),
        (THREE, "if (i < n && j < m) { float s = 0.0f; for (int q = 0; q < k; q++) s = fmaxf(s, a[j * k + q] * "
         "b[q * n + i]); c[j * n + i] = s; }", _XY),
    ],
    "stencil": [
        (IN_OUT, "if (i < n) y[i] = x[2 * i] + x[2 * i + 1];", _X),  # pairs do not overlap
        (IN_OUT, "if (i < n / 2) y[i] = x[i] + x[i + n / 2];", _X),  # a butterfly
        ("const float* p, float* y, int n", "if (i < n) y[i] = p[3 * i] * p[3 * i + 1] + p[3 * i + 2];", _X),
        (IN_OUT, "if (i < n) { float s = 0.0f; for (int q = 0; q < 8; q++) s += x[i * 8 + q]; y[i] = s; }", _X),
        # the block takes a tile in each iteration: its threads and the loop run along one dimension
        (IN_OUT, "float s = 0.0f; for (int q = 0; q < n; q += 8) s += x[blockIdx.y + (q + threadIdx.y) * n]; y[0] = s;",
         ""),
    ],
    "permutation": [
        (IN_OUT, "if (i < n) y[i] = x[i];", _X),  # a copy
        ("const float* x, float* y, int w, int h", "if (i < w && j < h) y[i * h + j] = 2.0f * x[j * w + i];", _XY),
    ],
    "histogram": [
        ("int* h, int n, int m", "if (i < n) atomicAdd(&h[i * m], 1);", _X),
        ("const int* d, int* h, int n", "if (i < n) h[d[i]] = 1;", _X),
    ],
    "scan": [
        ("const float* x, float* y, int r, int c", "if (i < c && j < r) { float s = 0.0f; "
         "for (int q = 0; q <= i; q++) s += x[j * c + q]; y[i * r + j] = s; }", _XY),  # it ends elsewhere
        (IN_OUT, "if (i < n) { float s = 0.0f; for (int q = 0; q < n; q++) s += x[q * n + i]; "
         "for (int q = 0; q < n; q++) y[q * n + i] = x[q * n + i] / s; }", _X),
        ("int n, float* a", "if (i < n) for (int q = 1; q < n; q++) a[i * n + q] = a[i * n + q - 1] * 0.5f;", _X),
        (IN_OUT, "if (i < n) { float s = 0.0f; for (int q = 4; q < n; q++) { s += x[i * n + q]; s -= x[i * n + q - 4]; "
         "y[i * n + q] = s; } }", _X),  # a moving window
    ],
    "all pairs": [
        ("const float* p, const int* near, float* f, int n", "if (i < n) { float s = 0.0f; float me = p[i]; "
         "for (int q = 0; q < 8; q++) { float d = p[near[i * 8 + q]] - me; s += d * d; } f[i] = s; }", _X),
        ("const float* x, float* y, int n", "__shared__ float part[64]; part[threadIdx.x] = x[threadIdx.x]; "
         "__syncthreads(); float v = part[threadIdx.x]; for (int q = 1; q < 64; q++) v = fmaxf(v, part[q]); y[0] = v;",
         ""),  # partial results
        ("const float* p, const float* o, float* f, int n", "if (i < n) { float s = 0.0f; float me = p[i]; "
         "for (int q = 0; q < n; q++) { float d = o[q] - me; s += d * d; } f[i] = s; }", _X),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "number"), [(name, n) for name, cases in NEAR_MISSES.items() for n in range(len(cases))]
)
def test_near_misses_are_not_taken_for_idioms(name: str, number: int) -> None:
    parameters, body, axes = NEAR_MISSES[name][number]
    assert IdiomName(name) not in found(parameters, body, axes)


@pytest.mark.parametrize(("name", "idiom"), [("matmul", "contraction"), ("softmax", "row reduction"),
                                             ("stencil", "stencil"), ("histogram", "histogram")])  # fmt: skip
def test_idioms_outlive_transforms(name: str, idiom: str) -> None:
    spec = load_campaign(EXAMPLES / name / "campaign.yaml").spec
    label = {"matmul": "c", "stencil": "x", "softmax": "r", "histogram": "i"}[name]
    genes = (Gene.of("block_shape", Site(label, "parallel.x"), threads=32),
             Gene.of("coarsen_strided", Site(label, "parallel.x"), factor=2))  # fmt: skip
    result = replay(spec, Genome(genes), BUILTIN, Context(spec, Target.CUDA, DeviceLimits()))
    assert len(result.applied) == 2
    assert IdiomName(idiom) in {found.name for found in analyse(seal(result.kernel)).idioms}
