"""Every example compiles for real architectures on a machine without a GPU, and the compiler's figures are read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evaluator.backend import BackendFailure, Binary
from evaluator.cache import DiskCache
from evaluator.cuda.compile import compile_variant
from evaluator.cuda.cubin import parameter_sizes, read_log
from evaluator.cuda.device_code import SOURCE
from evaluator.cuda.nvrtc import Nvrtc, NvrtcMissing
from evaluator.cuda.occupancy import ARCHITECTURES
from evaluator.plan import BoundLaunch, Call, bind
from evaluator.result import Status
from genome.ir.type_sizes import SHARED_ALIGNMENT
from genome.limits import DeviceLimits
from genome.sizes import SizeExpr
from genome.spec import KernelSpec
from genome.variant import GridAxis, Launch, Target, Variant
from tests.contract.walks import EXAMPLES, example, walk

TARGETS = ("sm_80", "sm_90")
LIMITS = DeviceLimits()
SPILLING = """extern "C" __global__ void k(const float* a, float* b, int n) {
  float t[64];
  #pragma unroll
  for (int i = 0; i < 64; i++) t[i] = a[threadIdx.x * 64 + i];
  for (int j = 0; j < n; j++) {
    #pragma unroll
    for (int i = 0; i < 64; i++) t[i] = t[i] * t[(i + 7) % 64] + t[(i + 13) % 64];
  }
  #pragma unroll
  for (int i = 0; i < 64; i++) b[threadIdx.x * 64 + i] = t[i];
}"""


@pytest.fixture(scope="module")
def nvrtc() -> Nvrtc:
    try:
        return Nvrtc()
    except NvrtcMissing as missing:
        pytest.skip(str(missing))


def built(nvrtc: Nvrtc, architecture: str, spec: KernelSpec, variant: Variant) -> Binary:
    sizes = [size for size in (*spec.sizes, *spec.check_sizes) if variant.guard.holds(size.env)]
    return compile_variant(
        nvrtc, architecture, variant, [bind(spec, variant, s) for s in sizes], "", lambda stage: None
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_compile_with_their_resources(nvrtc: Nvrtc, name: str) -> None:
    """The kernel as it is for every architecture; variants for one of them each, in turn."""
    spec = example(name).spec
    variants = {variant.digest(): variant for variant in (walk(spec, seed, 3 * seed, LIMITS) for seed in range(4))}
    assert len(variants) >= 3
    for number, variant in enumerate(variants.values()):
        for architecture in (TARGETS[number % len(TARGETS)],) if number else TARGETS:
            compiles_with_its_resources(nvrtc, spec, variant, architecture)


def compiles_with_its_resources(nvrtc: Nvrtc, spec: KernelSpec, variant: Variant, architecture: str) -> None:
    try:
        binary = built(nvrtc, architecture, spec, variant)
    except BackendFailure as failure:
        assert failure.status is Status.LIMIT, variant.source
        return
    resources = binary.resources
    assert binary.payload[:4] == b"\x7fELF"
    assert resources.registers is not None and 4 <= resources.registers <= 255
    assert resources.spills_bytes is not None and resources.private_bytes is not None
    declared = max(launch.static_shared_bytes for launch in variant.launches)
    arrays = variant.source.count("__shared__")  # the last one of a kernel ends where it ends
    assert resources.shared_bytes is not None
    assert declared - SHARED_ALIGNMENT * arrays <= resources.shared_bytes <= declared
    assert resources.occupancy is None or 0.0 < resources.occupancy <= 1.0


def simple(text: str, *args: str, block: int = 64, options: tuple[str, ...] = ()) -> Variant:
    axis = GridAxis(SizeExpr("1"))
    return Variant("k", Target.CUDA, text, (Launch("k", (axis, axis, axis), (block, 1, 1), args),), options=options)


def call(*args: object, block: int = 64, shared: int = 0) -> Call:
    return Call((BoundLaunch("k", (1, 1, 1), (block, 1, 1), args, shared),), {}, {}, {})  # type: ignore[arg-type]


def compiled(nvrtc: Nvrtc, variant: Variant, *calls: Call) -> Binary:
    return compile_variant(nvrtc, "sm_90", variant, calls, "", lambda stage: None)


def test_spills_are_seen(nvrtc: Nvrtc) -> None:
    free = compiled(nvrtc, simple(SPILLING, "a", "b", "n")).resources
    capped = compiled(nvrtc, simple(SPILLING, "a", "b", "n", options=("--maxrregcount=32",))).resources
    assert free.spills_bytes == 0 and free.registers is not None and free.registers > 64
    assert capped.spills_bytes and capped.spills_bytes > 64 and capped.registers == 32
    assert capped.private_bytes and capped.private_bytes > 0


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("a", "b"), "takes 3 arguments, the launch passes 2"),
        (("a", "b", np.int64(1)), "argument 3 of kernel 'k' has 4 bytes, the launch passes 8"),
        (("a", np.int32(1), np.int32(1)), "argument 2 of kernel 'k' has 8 bytes, the launch passes 4"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(nvrtc: Nvrtc, args: tuple[object, ...], words: str) -> None:
    with pytest.raises(BackendFailure) as caught:
        compiled(nvrtc, simple(SPILLING, "a", "b", "n"), call(*args))
    assert caught.value.status is Status.COMPILE_ERROR and words in caught.value.message


def test_a_block_that_does_not_fit_is_refused(nvrtc: Nvrtc) -> None:
    with pytest.raises(BackendFailure) as caught:
        compiled(nvrtc, simple(SPILLING, "a", "b", "n"), call("a", "b", np.int32(1), block=1024))
    assert caught.value.status is Status.LIMIT and "does not fit" in caught.value.message


def test_too_much_static_shared_memory_is_a_limit(nvrtc: Nvrtc) -> None:
    body = "__shared__ float t[20000]; t[threadIdx.x] = a[0]; a[1] = t[n];"
    text = f'extern "C" __global__ void k(float* a, int n) {{ {body} }}'
    with pytest.raises(BackendFailure) as caught:
        compiled(nvrtc, simple(text, "a", "n"))
    assert caught.value.status is Status.LIMIT and "80000 bytes" in caught.value.message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('extern "C" __global__ void k(float* a) {\n a[0] = nowhere; }', "kernel.cu(2): error"),
        ("__global__ void k(float* a) { a[0] = 1.0f; }", "no kernel named k"),
    ],
)
def test_errors_of_the_source(nvrtc: Nvrtc, text: str, words: str) -> None:
    with pytest.raises(BackendFailure) as caught:
        compiled(nvrtc, simple(text, "a"))
    assert caught.value.status is Status.COMPILE_ERROR and words in caught.value.message


def test_the_backends_own_kernels_compile(nvrtc: Nvrtc) -> None:
    for architecture in TARGETS:
        result = nvrtc.compile(SOURCE, "device_code.cu", (f"-arch={architecture}", "--ptxas-options=-v"))
        assert result.ok, result.log
        assert set(read_log(result.log)) == {"copy", "peak", "sweep", "hold"}
        assert parameter_sizes(result.cubin)["peak"] == (8, 4, 4)


@pytest.mark.parametrize(
    ("architecture", "threads", "registers", "shared", "blocks"),
    [
        ("sm_80", 256, 32, 0, 8),
        ("sm_80", 256, 64, 0, 4),
        ("sm_80", 128, 168, 0, 3),
        ("sm_80", 32, 16, 0, 32),
        ("sm_80", 128, 32, 48 * 1024, 3),
        ("sm_90", 256, 32, 100 * 1024, 2),
        ("sm_90", 1024, 64, 0, 1),
        ("sm_90", 1024, 65, 0, 0),
        ("sm_86", 256, 32, 0, 6),
        ("sm_90", 64, 32, 228 * 1024, 0),
    ],
)
def test_resident_blocks(architecture: str, threads: int, registers: int, shared: int, blocks: int) -> None:
    """Worked by hand from the tables of the CUDA C++ Programming Guide."""
    facts = ARCHITECTURES[architecture]
    assert facts.resident_blocks(threads, registers, shared) == blocks
    assert facts.occupancy(threads, registers, shared) == pytest.approx(blocks * threads / facts.threads)


def test_a_cached_compilation_is_the_same(nvrtc: Nvrtc, tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, 1 << 20)
    first, second = Nvrtc(), Nvrtc()
    assert first.version == nvrtc.version
    first.use_cache(cache)
    second.use_cache(cache)
    options = ("-arch=sm_90", "--ptxas-options=-v")
    fresh = first.compile(SPILLING, "k.cu", options)
    again = second.compile(SPILLING, "k.cu", options)
    assert not fresh.cached and again.cached
    assert (fresh.cubin, fresh.log) == (again.cubin, again.log)
    assert read_log(again.log)["k"].registers > 0
    for source, changed in ((SPILLING + "\n", options), (SPILLING, ("-arch=sm_80", *options[1:]))):
        assert not second.compile(source, "k.cu", changed).cached


def test_failures_and_sources_that_include_files_are_compiled_again(nvrtc: Nvrtc, tmp_path: Path) -> None:
    nvrtc = Nvrtc()  # skipped where there is none
    nvrtc.use_cache(DiskCache(tmp_path / "cache", 1 << 20))
    (tmp_path / "header.h").write_text("#define VALUE 1.0f\n")
    text = '#include "header.h"\nextern "C" __global__ void k(float* a) { *a = VALUE; }'
    options = ("-arch=sm_90", f"-I{tmp_path}")
    first = nvrtc.compile(text, "k.cu", options)
    (tmp_path / "header.h").write_text("#define VALUE 2.0f\n")
    second = nvrtc.compile(text, "k.cu", options)
    assert first.ok and second.ok and first.cubin != second.cubin
    assert not any(nvrtc.compile("nonsense", "k.cu", options).cached for _ in range(2))
