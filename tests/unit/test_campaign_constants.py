"""``constants:`` of a campaign: against the source, in the launcher, from ``evo-tune init``, compiled for CUDA."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from evaluator.backend import BackendFailure, Binary
from evaluator.cuda.compile import compile_variant
from evaluator.cuda.cubin import variables
from evaluator.cuda.nvrtc import Nvrtc, NvrtcMissing
from evaluator.plan import Call, bind
from evo.campaign import CampaignError, load_campaign
from evo.export import best_cu, print_for
from evo.init_campaign import init_campaign
from genome.genes import Gene, Genome, Site
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.spec import KernelSpec
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant

KERNEL = """\
#define R 2
static __constant__ float taps[2 * R + 1], unused[4];
__constant__ int shift;
namespace tables { __device__ float4 rows[8]; }
__constant__ float given[2] = {1.0f, 2.0f};
struct Pair { int a, b; };
__device__ int counter;
__device__ float row(int i) { return tables::rows[i & 7].x * given[1]; }
__global__ void blur(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float s = row(i);
    for (int j = 0; j < 2 * R + 1; ++j) s += x[(i + j + shift) % n] * taps[j];
    y[i] = s;
  }
}
__constant__ Pair pair;
__global__ void odd(float* y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] = pair.a;
}
__global__ void counted(float* y, int n) {
  if (threadIdx.x < n) { y[threadIdx.x] = counter; atomicAdd(&counter, 1); }
}
"""
CAMPAIGN = """\
version: 1
kernel: {source: kernel.cu, entry: blur}
arguments:
  - {name: x, dtype: float32, shape: [n]}
  - {name: y, dtype: float32, shape: [n], role: out}
  - {name: n, dtype: int32}
constants:
  taps: {dtype: float32, shape: [5], init: normal}
  shift: {dtype: int32, value: 3}
  rows: {dtype: float32, shape: [8, 4]}
launch: {domain: n, block: 64}
sizes: [{n: 4096}]
"""


def write(folder: Path, text: str = CAMPAIGN) -> Path:
    (folder / "kernel.cu").write_text(KERNEL)
    path = folder / "campaign.yaml"
    path.write_text(text)
    return path


def loaded(folder: Path) -> KernelSpec:
    return load_campaign(write(folder)).spec


def lowered(spec: KernelSpec, genome: Genome, target: Target) -> Variant:
    variant = lower(spec, genome, BUILTIN, target, DeviceLimits())
    assert isinstance(variant, Variant)
    return variant


def compiled(variant: Variant, call: Call) -> Binary:
    try:
        return compile_variant(Nvrtc(), "sm_90", variant, [call], "", lambda stage: None)
    except NvrtcMissing:
        pytest.skip("NVRTC is not installed")


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "words"),
    [
        ("  shift: {dtype: int32, value: 3}\n", "", 7, "constants", "'shift' is missing"),
        ("  shift:", "  shfit:", 9, "constants.shfit", "did you mean 'shift'?"),
        ("int32, value: 3", "float32, value: 3", 9, "constants.shift.dtype", "expected int32"),
        ("int32, value: 3", "int32, shape: [1]", 9, "constants.shift.shape", "give it a `value:`"),
        ("int32, value: 3", "int32, value: 2147483648", 9, "constants.shift.value", "int32"),
        ("shape: [5], init: normal", "value: 1.0", 8, "constants.taps", "give it a `shape:`"),
        ("shape: [5]", "shape: [n]", 8, "constants.taps.shape", "at most 5 elements"),
        ("shape: [5]", "shape: [m]", 8, "constants.taps.shape[0]", "'m' is not a size"),
        ("[8, 4]", "[9, 4]", 10, "constants.rows.shape", "at most 32 elements"),
        ("  rows: {", "  given: {", 10, "constants.given", "no variable without an initialiser"),
        ("  rows: {", "  x: {", 10, "constants.x", "stands in `arguments:` too"),
        ("  rows: {", "  unused: {", 10, "constants.unused", "no variable without an initialiser that 'blur' uses"),
        ("init: normal", "role: out", 8, "constants.taps.role", "role"),
    ],
)
def test_mistakes_are_told_with_line_and_field(
    tmp_path: Path, old: str, new: str, line: int, field: str, words: str
) -> None:
    assert CAMPAIGN.count(old) == 1
    path = write(tmp_path, CAMPAIGN.replace(old, new))
    with pytest.raises(CampaignError) as caught:
        load_campaign(path)
    assert str(caught.value).startswith(f"{path}:{line}: {field}: ") and words in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "constants", "words"),
    [("odd", "pair: {dtype: int32, shape: [2]}", "pair' is Pair"), ("odd", "", "pair' is Pair"),
     ("counted", "counter: {dtype: int32, value: 0}", "'counted' writes 'counter'")],
)  # fmt: skip
def test_what_no_dtype_says_and_what_the_kernel_writes_are_refused(
    tmp_path: Path, entry: str, constants: str, words: str
) -> None:
    head, rest = CAMPAIGN.replace("entry: blur", f"entry: {entry}").split("constants:")
    head = head.replace("  - {name: x, dtype: float32, shape: [n]}\n", "")
    tail = rest[rest.index("launch:") :]
    path = write(tmp_path, f"{head}constants: {{{constants}}}\n{tail}")
    with pytest.raises(CampaignError, match=words):
        load_campaign(path)


def test_they_are_arguments_of_the_reference_and_of_the_evaluator(tmp_path: Path) -> None:
    spec = loaded(tmp_path)
    assert [arg.name for arg in spec.parameters] == ["x", "y", "n"]
    assert [arg.name for arg in spec.variables] == ["taps", "shift", "rows"]
    cuda = bind(spec, lowered(spec, Genome(), Target.CUDA), spec.sizes[0])
    assert len(cuda.launches[0].args) == 3
    assert [name for name, _ in cuda.variables] == ["taps", "shift", "rows"]
    opencl = bind(spec, replace(lowered(spec, Genome(), Target.CUDA), target=Target.OPENCL), spec.sizes[0])
    assert opencl.variables == () and opencl.buffers["rows"] == 8 * 4 * 4


def test_machine_code_holds_each_of_them_under_every_gene(tmp_path: Path) -> None:
    spec = loaded(tmp_path)
    for genome in (Genome(), Genome((Gene.of("coarsen_strided", Site("i", "parallel.x"), factor=2),))):
        variant = lowered(spec, genome, Target.CUDA)
        assert not variant.skipped
        call = bind(spec, variant, spec.sizes[0])
        found = variables(compiled(variant, call).payload)
        assert (found["taps"].nbytes, found["shift"].nbytes, found["rows"].nbytes) == (20, 4, 128)
        assert found["rows"].symbol == "_ZN6tables4rowsE" and found["taps"].symbol == "taps"
        with pytest.raises(BackendFailure, match="variable 'taps' has 20 bytes, the campaign fills 24"):
            larger = replace(call, buffers={**call.buffers, "taps": 24})
            compiled(variant, larger)


def test_a_variable_that_the_code_does_not_read_is_not_missed(tmp_path: Path) -> None:
    spec = loaded(tmp_path)
    variant = lowered(spec, Genome(), Target.CUDA)
    call = bind(spec, variant, spec.sizes[0])
    other = replace(variant, source=variant.source.replace("* taps[j]", "* 0.5f"))
    assert compiled(other, call).payload


@pytest.mark.parametrize("genes", [(), (Gene.of("coarsen_strided", Site("i", "parallel.x"), factor=2),)])
def test_the_launcher_fills_them(tmp_path: Path, genes: tuple[Gene, ...]) -> None:
    spec = loaded(tmp_path)
    text = best_cu(spec, print_for(spec, Genome(genes), BUILTIN, Target.CUDA), [])
    filled = "const float* taps_contents, const int* shift_contents, const float* rows_contents, cudaStream_t stream)"
    assert text.count(filled) == 2  # the evolved kernel and the one as it was
    assert text.count("if (taps_contents) cudaMemcpyToSymbolAsync(") == 2
    if shutil.which("nvcc") is None:
        pytest.skip("nvcc is not on PATH")
    (tmp_path / "best.cu").write_text(text)
    command = ["nvcc", "-arch=sm_80", "-cubin", str(tmp_path / "best.cu"), "-o", str(tmp_path / "best.cubin")]
    outcome = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert outcome.returncode == 0, outcome.stderr


def test_init_writes_them(tmp_path: Path) -> None:
    write(tmp_path)
    path = init_campaign(tmp_path / "kernel.cu", "blur", tmp_path / "new.yaml", force=False)
    path.write_text(path.read_text().replace("FILL_IN", "512"))
    found = {arg.name: arg for arg in load_campaign(path).spec.variables}
    assert list(found) == ["taps", "shift", "rows"]
    assert [str(extent) for extent in found["rows"].shape] == ["8", "4"] and found["shift"].is_scalar
    assert "unused" not in path.read_text() and "given:" not in path.read_text()
