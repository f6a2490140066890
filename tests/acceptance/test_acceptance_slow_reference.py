"""A campaign whose reference is slow at the tuned size searches meanwhile, survives ``kill -9``, and ends verified."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SLOW_S = 12
SIZES = [{"M": 96, "N": 96, "K": 96}]
CHECKS = [{"M": 32, "N": 64, "K": 48}, {"M": 37, "N": 41, "K": 29}, {"M": 64, "N": 32, "K": 16}]
REFERENCE = f"""import time
def matmul(inputs, sizes):
    if sizes["M"] == 96:
        time.sleep({SLOW_S})
    return inputs["A"] @ inputs["B"]
"""


def test_kill_and_resume_while_the_reference_is_awaited(
    program: Any, write_campaign: Callable[..., Path], tmp_path: Path
) -> None:
    campaign = write_campaign("matmul", sizes=SIZES, check_sizes=CHECKS, budget={"evaluations": 8, "minutes": 10})
    (campaign.parent / "reference.py").write_text(REFERENCE)
    log = tmp_path / "first.log"
    run = program.start("run", campaign, log=log)
    deadline = time.monotonic() + 240
    while "searching" not in log.read_text():
        assert run.poll() is None and time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)
    os.kill(run.pid, signal.SIGKILL)
    run.wait(120)
    resumed = program("run", campaign, "--resume", "--json")
    assert resumed.returncode == 0, resumed.stderr
    best = json.loads(resumed.stdout)
    assert best["verified"] is True
    assert not any("not computed" in note for note in best["notes"])
    stages = {stage["stage"]: stage["entered"] for stage in best["stages"]}
    assert stages["reference arrived"] == 1
