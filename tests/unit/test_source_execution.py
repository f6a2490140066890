"""Kernels as people write them: read, printed, executed on a CPU and compared with numpy; printed CUDA compiled."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from genome.ir.print_source import print_kernel
from genome.source.frontend import parse_kernel
from genome.source.verbatim import verbatim_kernel
from genome.variant import Target

SOURCES = Path(__file__).parents[1] / "golden" / "source"
Array = np.ndarray


def run_opencl(text: str, entry: str, args: Sequence[Array | np.generic], grid: tuple[int, ...], block: tuple[int, ...],
               options: Sequence[str] = ()) -> list[Array]:  # fmt: skip
    """Runs the kernel once and returns the arrays afterwards."""
    cl = pytest.importorskip("pyopencl")
    try:
        device = cl.get_platforms()[0].get_devices()[0]
    except (cl.Error, IndexError):
        pytest.skip("no OpenCL device")
    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers = [cl.Buffer(context, flags, hostbuf=arg) if isinstance(arg, np.ndarray) else arg for arg in args]
    program = cl.Program(context, text).build(list(options), cache_dir=False)
    getattr(program, entry)(queue, tuple(g * b for g, b in zip(grid, block, strict=True)), block, *buffers)
    results = []
    for arg, buffer in zip(args, buffers, strict=True):
        if isinstance(arg, np.ndarray):
            out = np.empty_like(arg)
            cl.enqueue_copy(queue, out, buffer)
            results.append(out)
    queue.finish()
    return results


def nvrtc_log(text: str, arch: str = "sm_80") -> str | None:
    """None when NVRTC accepts the text, else its log. Skips where the library is not installed."""
    library = _nvrtc()
    program = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
    options = (ctypes.c_char_p * 2)(f"--gpu-architecture={arch}".encode(), b"--std=c++17")
    status = library.nvrtcCompileProgram(program, 2, options)
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return None if status == 0 else log.value.decode()


def _nvrtc() -> ctypes.CDLL:
    for folder in map(Path, sys.path):
        for path in sorted(folder.glob("nvidia/cu*/lib/libnvrtc.so.*")) + sorted(
            folder.glob("nvidia/cuda_nvrtc/lib/libnvrtc.so.*")
        ):
            return ctypes.CDLL(str(path))
    pytest.skip("the nvidia-cuda-nvrtc wheel is not installed")


def read(name: str) -> tuple[str, str, tuple[str, ...]]:
    text = (SOURCES / f"{name}.cu").read_text()
    entry = re.search(r"// entry: (\w+)", text)
    template = re.search(r"// template: (.*)", text)
    assert entry is not None
    return text, entry[1], tuple(template[1].split(",")) if template else ()


def printed(name: str, target: Target) -> tuple[str, str]:
    text, entry, arguments = read(name)
    return print_kernel(parse_kernel(text, entry, path=f"{name}.cu", template_args=arguments), target), entry


def verbatim(name: str, target: Target) -> tuple[str, str]:
    text, entry, arguments = read(name)
    return print_kernel(verbatim_kernel(text, entry, path=f"{name}.cu", template_args=arguments), target), entry


FORMS = [printed, verbatim]
Form = Callable[[str, Target], tuple[str, str]]
i32 = np.int32


def sample(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.fixture(params=FORMS, ids=["parsed", "verbatim"])
def form(request: pytest.FixtureRequest) -> Form:
    return request.param


@pytest.mark.parametrize("m, n, k", [(13, 17, 11), (32, 32, 16)])
def test_matmul(form: Form, m: int, n: int, k: int) -> None:
    text, entry = form("matmul", Target.OPENCL)
    a, b, c = sample(m, k), sample(k, n, seed=1), np.full((m, n), np.nan, np.float32)
    out = run_opencl(text, entry, [a, b, c, i32(m), i32(n), i32(k)], (-(-n // 8), -(-m // 4)), (8, 4))[2]
    np.testing.assert_allclose(out, a.astype(np.float64) @ b, rtol=1e-4, atol=1e-5)


def test_transpose(form: Form) -> None:
    text, entry = form("transpose", Target.OPENCL)
    x, y = sample(19, 23), np.full((23, 19), np.nan, np.float32)
    out = run_opencl(text, entry, [y, x, np.uint32(19), np.uint32(23)], (3, 5), (8, 4))[0]
    np.testing.assert_array_equal(out, x.T)


def test_stencil_leaves_the_border_alone(form: Form) -> None:
    text, entry = form("stencil", Target.OPENCL)
    x, y = sample(21, 18), np.full((21, 18), 7.0, np.float32)
    out = run_opencl(text, entry, [x, y, i32(18), i32(21)], (3, 6), (8, 4))[1]
    wide = x.astype(np.float64)
    expected = np.full((21, 18), 7.0)
    expected[1:-1, 1:-1] = 0.25 * (wide[1:-1, :-2] + wide[1:-1, 2:] + wide[:-2, 1:-1] + wide[2:, 1:-1])
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


def test_nbody_with_a_struct() -> None:
    text, entry = printed("nbody", Target.OPENCL)
    bodies, out = sample(37, 4), np.zeros((37, 3), np.float32)
    out = run_opencl(text, entry, [bodies, out, i32(37), np.float32(0.1)], (3,), (16,))[1]
    wide = bodies.astype(np.float64)
    gap = wide[None, :, :3] - wide[:, None, :3]
    weight = wide[None, :, 3] * ((gap**2).sum(-1) + np.float64(np.float32(0.1)) ** 2) ** -1.5
    np.testing.assert_allclose(out, (gap * weight[..., None]).sum(1), rtol=2e-3, atol=2e-3)


def test_gelu_template(form: Form) -> None:
    text, entry = form("gelu", Target.OPENCL)
    x, y = sample(1000), np.zeros(1000, np.float32)
    out = run_opencl(text, entry, [x, y, np.uint64(1000)], (16,), (64,))[1]
    v = x.astype(np.float64)
    np.testing.assert_allclose(out, 0.5 * v * (1 + np.tanh(0.7978845608 * (v + 0.044715 * v**3))), rtol=1e-4, atol=1e-6)


def test_softmax(form: Form) -> None:
    text, entry = form("softmax", Target.OPENCL)
    x, y = sample(11, 29), np.zeros((11, 29), np.float32)
    out = run_opencl(text, entry, [x, y, i32(11), i32(29)], (3,), (4,))[1]
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=1e-5)


def test_tiled_matmul_with_shared_memory(form: Form) -> None:
    text, entry = form("tiled_matmul", Target.OPENCL)
    n = 37
    a, b, c = sample(n, n), sample(n, n, seed=1), np.zeros((n, n), np.float32)
    out = run_opencl(text, entry, [a, b, c, i32(n)], (3, 3), (16, 16))[2]
    np.testing.assert_allclose(out, a.astype(np.float64) @ b, rtol=1e-3, atol=1e-4)


def test_reduction_with_dynamic_shared_memory_and_float_atomics(form: Form) -> None:
    text, entry = form("reduce", Target.OPENCL)
    x, total = sample(1000), np.zeros(1, np.float32)
    out = run_opencl(text, entry, [x, total, i32(1000)], (4,), (64,), ["-DEVO_SHARED_BYTES=256"])[1]
    np.testing.assert_allclose(out[0], x.astype(np.float64).sum(), rtol=1e-3, atol=1e-3)


def test_histogram_with_integer_atomics(form: Form) -> None:
    text, entry = form("histogram", Target.OPENCL)
    data = np.random.default_rng(0).integers(0, 256, 5000, dtype=np.uint8)
    out = run_opencl(text, entry, [data, np.zeros(256, np.uint32), i32(5000)], (79,), (64,))[1]
    np.testing.assert_array_equal(out, np.bincount(data, minlength=256))


def test_opaque_statements_and_helpers_with_pointers(form: Form) -> None:
    text, entry = form("opaque", Target.OPENCL)
    x = np.array([3.0, -1.0, 0.5, 9.0, 1.0], np.float32)
    y = np.full(15, 7.0, np.float32)
    out = run_opencl(text, entry, [x, y, i32(5)], (1,), (8,))[1]
    expected = np.full(15, 7.0)
    for i, value in enumerate(x.astype(np.float64)):
        if value < 0:
            continue
        v, count = value, 0
        while v > 1:
            v, count = v / 2, count + 1
        w = [v, 1.0, 0.0]
        for k in (0, 2):
            expected[i * 3 + k] = w[k] + x[:3].mean(dtype=np.float64) + sum(w) / 3
        expected[i * 3 + 1] = count
        expected[i * 3] += 1
    np.testing.assert_allclose(out, expected, rtol=1e-5)


@pytest.mark.parametrize("name", sorted(p.stem for p in SOURCES.glob("*.cu") if not p.name.endswith(".out.cu")))
def test_printed_cuda_compiles(form: Form, name: str) -> None:
    text, _ = form(name, Target.CUDA)
    log = nvrtc_log(text)
    assert log is None, f"{log}\n{text}"


def test_names_that_opencl_reserves(form: Form) -> None:
    """``kernel`` is a keyword and ``dot`` a function of OpenCL C; both are ordinary names in CUDA."""
    text, entry = form("names", Target.OPENCL)
    x, weights, y = sample(64), sample(3, seed=1), np.zeros(64, np.float32)
    out = run_opencl(text, entry, [x, weights, y, i32(64)], (4,), (16,))[2]
    expected = np.convolve(x.astype(np.float64), weights[::-1], mode="valid")
    np.testing.assert_allclose(out[1:-1], expected, rtol=1e-4, atol=1e-5)
    assert out[0] == out[-1] == 0


GLOBAL = "blockIdx.x * blockDim.x + threadIdx.x"

MISREAD = {
    "axis declared narrow": (
        f"""__global__ void k(const float* x, float* y, int n) {{
        unsigned char c = {GLOBAL}; int i = {GLOBAL}; if (i < n) y[i] = x[c]; }}""", 1000),
    "axis cast narrow": (
        f"""__global__ void k(const float* x, float* y, int n) {{
        int c = (unsigned char)({GLOBAL}); int i = {GLOBAL}; if (i < n) y[i] = x[c]; }}""", 1000),
    "factor cast narrow": (
        """__global__ void k(const float* x, float* y, int n) {
        int i = (unsigned char)blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i]; }""", 300 * 32),
    "axis cast to bool": (
        f"""__global__ void k(const float* x, float* y, int n) {{
        int i = {GLOBAL}; int h = (bool)({GLOBAL}); if (i < n) y[i] = x[h]; }}""", 100),
    "widened in place": (
        f"""__global__ void k(const float* x, float* y, int n) {{
        int i = {GLOBAL}; if (i < n) y[i] = (float)((((size_t){GLOBAL}) * 1073741824) >> 20); }}""", 1000),
    "widened behind a negative term": (
        f"""__global__ void k(const float* x, float* y, int n) {{
        int i = {GLOBAL}; long long far = n; int back = -7;
        if (i < n) y[i] = (float)(back + blockIdx.x * blockDim.x + far + threadIdx.x); }}""", 100),
    "added to a sum that wraps": (
        f"""__global__ void k(const float* x, float* y, int n) {{
        int i = {GLOBAL}; unsigned a = 4294967290u, b = n;
        if (i < n) y[i] = (float)((size_t){GLOBAL} + (a + b)); }}""", 100),
    "unsigned bound that wraps": (
        f"""__global__ void k(const float* x, float* y, unsigned n) {{
        int i = {GLOBAL}; if (i + 2 < n) y[i] = x[i]; }}""", 1),
    "unsigned bound below zero": (
        f"""__global__ void k(const float* x, float* y, unsigned n) {{
        int i = {GLOBAL}; if (i - 1 < n) y[i] = x[i]; }}""", 5),
    "unsigned inclusive bound that wraps": (
        f"""__global__ void k(const float* x, float* y, unsigned n) {{
        int i = {GLOBAL}; if (i <= n - 2u && i < n) y[i] = x[i]; }}""", 1),
    "float bound": (
        f"""__global__ void k(const float* x, float* y, int n) {{
        int i = {GLOBAL}; if (i <= 0.5f * n) y[i] = x[i]; }}""", 5),
    "narrow cast of the axis": (
        f"""__global__ void k(const float* x, float* y, int n) {{
        int i = {GLOBAL}; if ((unsigned char)i < 10 && i < n) y[i] = x[i]; }}""", 512),
    "narrow cast alone": (
        f"""__global__ void k(const float* x, float* y, int n) {{
        int i = {GLOBAL}; if ((unsigned char)i < 10) y[i] = x[i]; }}""", 512),
    "signed cast of an unsigned axis": (
        f"""__global__ void k(const float* x, float* y, int n) {{
        unsigned i = {GLOBAL}; if ((int)i < n - 8) y[i] = x[i]; }}""", 5),
    "loop to a float bound": (
        f"""__global__ void k(const float* x, float* y, int n) {{
        int i = {GLOBAL}; if (i < n) {{ float s = 0.0f;
        for (int j = 0; j <= 0.5f * n; j++) s += x[j]; y[i] = s; }} }}""",
        5),
    "loop from a float": (
        f"""__global__ void k(const float* x, float* y, int n) {{
        int i = {GLOBAL}; if (i < n) {{ float s = 0.0f;
        for (int j = 0.7f * n; j < n; j++) s += x[j]; y[i] = s; }} }}""",
        5),
    "loop over a float": (
        f"""__global__ void k(const float* x, float* y, int n) {{
        int i = {GLOBAL}; if (i < n) {{ float s = 0.0f;
        for (float t = 0.5f; t < n; t += 1) s += t * x[i]; y[i] = s; }} }}""",
        5),
    "loop from below zero to an unsigned bound": (
        f"""__global__ void k(const float* x, float* y, unsigned n) {{
        int i = {GLOBAL}; if (i < n) {{ float s = 0.0f;
        for (int j = -2; j < n; j++) s += x[j + 2]; y[i] = s; }} }}""",
        5),
    "loop to an unsigned bound": (
        f"""__global__ void k(const float* x, float* y, unsigned n) {{
        int i = {GLOBAL}; if (i < n) {{ float s = 0.0f;
        for (int j = 1; j <= n - 1u; j++) s += x[j]; y[i] = s; }} }}""",
        3),
}  # fmt: skip


@pytest.mark.parametrize("case", MISREAD)
def test_parsed_form_computes_what_the_text_says(case: str) -> None:
    """Index arithmetic that wraps, narrows or widens: the normal form against the user's own words."""
    source, n = MISREAD[case]
    size = np.uint32(n) if "unsigned n" in source else i32(n)
    x = sample(max(n, 2048))
    outputs = []
    for read_form in (parse_kernel, verbatim_kernel):
        text = print_kernel(read_form(source, "k"), Target.OPENCL)
        blocks = max(2, -(-n // 32))
        outputs.append(run_opencl(text, "k", [x, np.full_like(x, 7.0), size], (blocks,), (32,))[1])
    np.testing.assert_array_equal(outputs[0], outputs[1])
