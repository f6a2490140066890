"""Illegal address: it takes the process down, and nobody but the variant must pay for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from evaluator.pool import LocalEvaluator
from evaluator.result import Status
from tests.adversarial.arena import AXPB, AXPB_BODY, Ring, axpb, judged

NULL = axpb(f"{AXPB_BODY} if (N == 2048) *(GLOBAL volatile float *)(address)(8 * i) = 1.0f;")
ROOT = Path(__file__).resolve().parents[2]
UNGUARDED = """
from pathlib import Path
from tests.adversarial.arena import AXPB, ring_on
from tests.adversarial.test_illegal_address import NULL
import sys
ring = ring_on(sys.argv[1], Path(sys.argv[2]))
failure = ring.failure(AXPB, AXPB.variant(NULL, ring.target))
sys.exit(0 if failure is None else 7)
"""


def test_a_process_of_its_own(ring: Ring, evaluator: LocalEvaluator, device: str, on_gpu: bool, tmp_path: Path) -> None:
    """Without it whoever measures dies too, or (on a GPU) has lost its device for good."""
    alone = subprocess.run(
        [sys.executable, "-c", UNGUARDED, device, str(tmp_path)], cwd=ROOT, capture_output=True, check=False
    )
    assert alone.returncode == (7 if on_gpu else -11)
    status, message = judged(evaluator, AXPB.variant(NULL, ring.target))
    assert status is (Status.LAUNCH_ERROR if on_gpu else Status.CRASH)
    assert "N=2048" in message and "touched memory outside of its buffers" in message
    assert judged(evaluator, AXPB.variant(AXPB.good + " ", ring.target)) == (Status.OK, "")
