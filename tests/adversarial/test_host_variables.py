"""Variables of the file that the host fills: their contents reach the kernel in every run, and count as inputs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from evaluator.result import Status
from genome.genes import Gene, Genome, Site
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, Initialiser, KernelSpec, LaunchSpec, Role
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from tests.adversarial.arena import Bout, N, Ring, array, size_of

SOURCE = """\
constexpr int R = 1;
__constant__ float filter[2 * R + 1];
static __constant__ int shift;
__device__ float4 table[2][2];
__constant__ float2 ends;
__device__ float entry(int row) { return table[row][1].y + ends.x; }
__device__ float twice(int row) { return 2.0f * entry(row); }
__global__ void smooth(const float* A, float* C, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) {
    float s = twice(i & 1) + ends.y;
    for (int j = -R; j <= R; ++j) {
      int k = i + j + shift;
      if (k >= 0 && k < N) s += A[k] * filter[j + R];
    }
    C[i] = s;
  }
}
"""
REFERENCE = """\
import numpy as np
def smooth(inputs, sizes):
    a, table = inputs["A"], inputs["table"]
    i = np.arange(sizes["N"])
    out = 2 * (table[i & 1, 1, 1] + inputs["ends"][0]) + inputs["ends"][1]
    for j in (-1, 0, 1):
        k = i + j + int(inputs["shift"])
        inside = (k >= 0) & (k < len(i))
        out[inside] += a[k[inside]] * inputs["filter"][j + 1]
    return out
"""


def extents(*sides: int) -> tuple[SizeExpr, ...]:
    return tuple(SizeExpr(str(side)) for side in sides)


ARGS = (
    array("A"), array("C", Role.OUT), ArgSpec("N", "int32", value=N),
    ArgSpec("filter", "float32", shape=extents(3), init=Initialiser("constant", (("value", 0.5),)), variable=True),
    ArgSpec("shift", "int32", value=2.0, variable=True),
    ArgSpec("table", "float32", shape=extents(2, 2, 4), variable=True),
    ArgSpec("ends", "float32", shape=extents(2), init=Initialiser("normal"), variable=True),
)  # fmt: skip
SPEC = KernelSpec(
    "smooth", SOURCE, "smooth", ARGS, LaunchSpec((64, 1, 1), (N,)), (size_of(2048),),
    tuple(map(size_of, (512, 1009, 17))),
)  # fmt: skip
COARSE = Genome((Gene.of("coarsen_blocked", Site("i", "parallel.x"), factor=2),))


@dataclass(frozen=True)
class Lowered(Bout):
    """Variants are CUDA sources, lowered for the device."""

    genome: Genome = field(default_factory=Genome)

    def variant(self, text: str, target: Target, **form: Any) -> Variant:
        lowered = lower(replace(self.spec, source=text), self.genome, BUILTIN, target, DeviceLimits())
        assert isinstance(lowered, Variant) and not lowered.skipped and not form
        return lowered


FIGHT = Lowered(SPEC, SOURCE, REFERENCE)


def test_they_are_filled_before_the_kernel_as_it_is_and_before_a_variant(ring: Ring) -> None:
    evolved = replace(FIGHT, genome=COARSE).variant(SOURCE, ring.target)
    assert evolved.genome == COARSE
    assert ring.failure(FIGHT, evolved) is None
    assert ring.proof(FIGHT, evolved)[0] == ""


def test_contents_that_a_variant_does_not_read_are_seen(ring: Ring) -> None:
    refused = ring.both(FIGHT, SOURCE.replace("filter[j + R]", "0.5f"), "perturb")
    assert refused.status is Status.WRONG
    assert "(with other values in filter)" in refused.message


def test_a_wrong_element_of_each_is_seen(ring: Ring) -> None:
    for right, wrong in (("[j + R]", "[j * j + R - 1]"), ("+ shift", "+ 1"), ("[1].y", "[0].y"), ("ends.x", "ends.y")):
        failure = ring.failure(FIGHT, FIGHT.variant(SOURCE.replace(right, wrong), ring.target))
        assert failure is not None and failure.status is Status.WRONG, wrong
