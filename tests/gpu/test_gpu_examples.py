"""Examples on a GPU: random variants are right, and a short campaign ends with a verified kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cupy", reason="CuPy is not installed (extras cuda13, cuda12)")

from evaluator.api import Compiled, Measured
from evaluator.devices import list_devices
from evaluator.pool import LocalEvaluator
from evaluator.result import Status
from evaluator.settings import EvaluatorSettings
from tests.contract.walks import EXAMPLES, example, walk

ROOT = Path(__file__).parents[2]
WALKS = 5

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not any(info.id == "cuda:0" for info in list_devices()), reason="no CUDA device answers"),
]


@pytest.mark.parametrize("name", EXAMPLES)
def test_random_variants_match_the_reference(name: str, tmp_path: Path) -> None:
    campaign = example(name)
    settings = EvaluatorSettings(cache_dir=tmp_path, sample_budget_s=0.1)
    with LocalEvaluator(campaign.spec, "cuda:0", settings, campaign.reference, 3) as evaluator:
        baseline = evaluator.open(walk(campaign.spec, 0, 0, evaluator.limits))
        assert baseline.failure is None
        right = 0
        for seed in range(1, WALKS + 1):
            variant = walk(campaign.spec, seed, 2 * seed, evaluator.limits)
            evaluator.compile(seed, variant)
            (compiled,) = evaluator.events(None)
            assert isinstance(compiled, Compiled)
            if compiled.status in (Status.LIMIT, Status.COMPILE_TIMEOUT):
                continue
            assert compiled.status is Status.OK, f"{compiled.message}\n{variant.source}"
            evaluator.measure(seed)
            (measured,) = evaluator.events(None)
            assert isinstance(measured, Measured)
            failure = measured.failure
            assert failure is None or failure.status is Status.LIMIT, f"{failure}\n{variant.source}"
            right += failure is None
        assert right > 0


def test_a_short_campaign(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "cli", "run", "examples/transpose/campaign.yaml", "--device", "cuda:0"]
    command += ["--evaluations", "8", "--knowledge", "none", "--json", "--output", str(tmp_path / "results")]
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300,
        env={**os.environ, "PYTHONPATH": path, "EVO_TUNE_HOME": str(tmp_path / "home")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    best = json.loads(done.stdout)
    assert best["verified"] and best["speedup"]["median"] > 0.9
    assert (tmp_path / "results" / "best.cu").exists()
