"""The evaluator contract on CUDA, and what becomes of a process whose device context died."""

from __future__ import annotations

import pytest

pytest.importorskip("cupy", reason="CuPy is not installed (extras cuda13, cuda12)")

from evaluator.api import Measured
from evaluator.cuda.counters import ncu
from evaluator.devices import list_devices
from evaluator.pool import LocalEvaluator
from evaluator.result import Status
from genome.variant import Target
from tests.contract.evaluator_contract import BODY, GOOD, EvaluatorContract, wrong_at

PRELUDE = """#define KERNEL extern "C" __global__
#define GLOBAL
#define GID ((int)(blockIdx.x * blockDim.x + threadIdx.x))
#define GID2 ((int)(blockIdx.y * blockDim.y + threadIdx.y))
#define NAN __int_as_float(0x7fffffff)
"""

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not any(info.id == "cuda:0" for info in list_devices()), reason="no CUDA device answers"),
]


class TestCuda(EvaluatorContract):
    device = "cuda:0"
    prelude = PRELUDE
    target = Target.CUDA
    dawdle = 40_000

    @pytest.mark.parametrize(
        ("fault", "words"),
        [
            ("*(float *)8 = 1.0f;", "outside of its buffers"),
            ("*(float4 *)(C + 1) = make_float4(0, 0, 0, 0);", "misaligned"),
            ('asm volatile("trap;");', "killed the device context"),
        ],
        ids=["address", "alignment", "trap"],
    )
    def test_a_dead_context_is_replaced(self, evaluator: LocalEvaluator, fault: str, words: str) -> None:
        before = evaluator.worker_pid
        failure = self.failure(evaluator, wrong_at("M == 61", f"{fault} {BODY}"))
        assert failure.status is Status.LAUNCH_ERROR and failure.size == "M=61,N=97"
        assert words in failure.message
        self.still_works(evaluator)
        assert evaluator.worker_pid != before

    def test_a_dead_context_in_the_proof_is_blamed_on_its_variant(self, evaluator: LocalEvaluator) -> None:
        good = self.variant(GOOD + "\n// good")
        bad = self.variant(wrong_at("M == 61", f"*(float *)8 = 1.0f; {BODY}"))
        proof = evaluator.compare(self.variant(GOOD), [bad, good], 3, lambda done, of: None)
        assert not proof[0].verified and "memory access" in proof[0].message
        assert proof[1].verified and proof[1].processes == 3

    def test_resources_come_from_the_compiler(self, evaluator: LocalEvaluator) -> None:
        measured = self.result(evaluator, self.variant(GOOD + "\n// resources"))
        assert isinstance(measured, Measured)
        resources = measured.evaluations[0].resources
        assert resources.registers and resources.spills_bytes == 0 and resources.occupancy

    def test_counters_of_the_hardware_join_the_profile(self, evaluator: LocalEvaluator) -> None:
        if not ncu():
            pytest.skip("ncu is not on PATH")
        variant = self.variant(GOOD + "\n// counted")
        measured = self.result(evaluator, variant)
        assert isinstance(measured, Measured)
        counted = evaluator.counted(variant, measured.evaluations[0])
        assert counted.profile is not None
        if not counted.profile.counters:
            pytest.skip("ncu may not read the counters here")
        counters = dict(counted.profile.counters)
        assert counters["threads_per_instruction"] > 0 and counters["duration_ns"] > 0
        assert "counters" in counted.profile.measured

    def test_clocks_are_noted(self, evaluator: LocalEvaluator) -> None:
        measured = self.result(evaluator, self.variant(GOOD + "\n// clocks"))
        assert isinstance(measured, Measured)
        timing = measured.evaluations[0].timing
        assert timing is not None and 0 <= timing.core_mhz < 5000
