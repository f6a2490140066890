"""A missing barrier: a CPU device runs the threads of a block one after the other, so that the result is right by luck.

Only a look at the source refuses it; on a GPU the racecheck of compute-sanitizer shows it as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from genome.genes import Gene, Genome, ParamValue, Site
from genome.ir.kernel import Kernel
from genome.ir.rewrite_stmt import map_stmts
from genome.ir.stmt import Barrier, Body, Stmt
from genome.lower import lower
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.variant import Rejection, Variant
from tests.adversarial.arena import AXPB, Bout, Ring

SITE = Site("everything", "everything")
SOURCE = """__global__ void pairs(const float *A, float *C, int N) {
  __shared__ float t[64];
  int i = blockIdx.x * 64 + threadIdx.x;
  t[threadIdx.x] = i < N ? A[i] : 0.0f;
  __syncthreads();
  if (i < N) C[i] = t[threadIdx.x] + (threadIdx.x > 0 ? t[threadIdx.x - 1] : 0.0f);
}
"""
SPEC = replace(
    AXPB.spec, name="pairs", entry="pairs", source=SOURCE,
    args=(AXPB.spec.args[0], AXPB.spec.args[2], AXPB.spec.args[3]),
)  # fmt: skip


@dataclass(frozen=True)
class DropBarriers:
    """A transform whose check lies."""

    name: str = "drop_barriers"
    phase: Phase = Phase.LAUNCH
    targets: frozenset[Any] = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        return (SITE,)

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        def drop(stmt: Stmt) -> Body:
            return () if isinstance(stmt, Barrier) else (stmt,)

        return replace(kernel, body=map_stmts(kernel.body, drop))

    def describe(self, site: Site, params: Params) -> str:
        return self.name


def baseline(ring: Ring) -> Variant:
    lowered = lower(SPEC, Genome(), (), ring.target, ring.backend.limits)
    assert isinstance(lowered, Variant), lowered
    return lowered


@dataclass(frozen=True)
class Lowered(Bout):
    """A bout whose baseline is what lowering prints."""

    form: Variant | None = None

    def variant(self, text: str, target: Any, **form: Any) -> Variant:
        assert self.form is not None
        return self.form


def test_a_cpu_does_not_show_it(ring: Ring, on_gpu: bool) -> None:
    if on_gpu:
        pytest.skip("a GPU may show it, in some launches: test_gpu_race.py")
    right = baseline(ring)
    without = re.sub(r"barrier\([^)]*\);", "", right.source)
    assert without != right.source
    bout = Lowered(SPEC, "", form=right)
    assert ring.failure(bout, replace(right, source=without)) is None


def test_the_static_check_refuses_it(ring: Ring) -> None:
    genome = Genome((Gene.of("drop_barriers", SITE),))
    refused = lower(SPEC, genome, (DropBarriers(),), ring.target, ring.backend.limits)
    assert isinstance(refused, Rejection)
    assert "t may be read and written" in refused.reason and "between two barriers" in refused.reason
