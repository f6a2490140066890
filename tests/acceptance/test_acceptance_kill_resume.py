"""``kill -9`` in mid-campaign, then ``--resume``: no finished evaluation is lost and the campaign ends as usual.

The victims are the run itself, one of its workers, and the embedded Postgres.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from knowledge.store import KnowledgeBase

pytestmark = pytest.mark.slow

SMALL = [{"M": 96, "N": 96, "K": 96}]
CHECKS = [{"M": 32, "N": 64, "K": 48}, {"M": 37, "N": 41, "K": 29}, {"M": 64, "N": 32, "K": 16}]
EVALUATIONS = 8
BEFORE_KILL = 4


@pytest.mark.parametrize("victim", ["run", "worker", "postgres"])
def test_kill_and_resume(victim: str, program: Any, write_campaign: Callable[..., Path], tmp_path: Path) -> None:
    campaign = write_campaign(
        "matmul", sizes=SMALL, check_sizes=CHECKS, budget={"evaluations": EVALUATIONS, "minutes": 10}
    )
    run = program.start("run", campaign, log=tmp_path / "first.log")
    with KnowledgeBase.open(None, program.home) as base:
        counts = [wait_for(base, BEFORE_KILL, run, tmp_path / "first.log")]
        os.kill(victim_pid(victim, run, program.home), signal.SIGKILL)
        if victim == "run":
            run.wait(120)
        counts.append(evaluations(base))
        ended = wait_for_end(run, 400)
        counts.append(evaluations(base))
        assert survivors(run) == [], "processes of a dead run go on"

        resumed = program("run", campaign, "--resume", "--json")
        counts.append(evaluations(base))

    log = (tmp_path / "first.log").read_text()
    assert ended, f"the run neither goes on nor gives up after kill -9 of the {victim}:\n{log}"
    assert "Traceback" not in log + resumed.stderr
    assert counts == sorted(counts), f"the base lost evaluations: {counts}"
    assert resumed.returncode == 0, resumed.stderr
    best = json.loads(resumed.stdout)
    assert best["verified"] is True
    assert best["evaluations"] >= min(EVALUATIONS, BEFORE_KILL)
    assert (campaign.parent / "results" / "best.cu").exists()


def evaluations(base: KnowledgeBase) -> int:
    """Evaluations in the base; a server that was just killed is given time to come back."""
    return base.counts()["evaluations"]


def wait_for(base: KnowledgeBase, count: int, run: subprocess.Popen[str], log: Path) -> int:
    """Waits until the base holds that many evaluations."""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline and run.poll() is None:
        present = evaluations(base)
        if present >= count:
            return present
        time.sleep(0.1)
    raise AssertionError(f"the campaign did not get to {count} evaluations:\n{log.read_text()}")


def wait_for_end(run: subprocess.Popen[str], seconds: float) -> bool:
    """True if the process ends in time."""
    try:
        run.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def victim_pid(victim: str, run: subprocess.Popen[str], home: Path) -> int:
    """Process id of the victim."""
    if victim == "run":
        return run.pid
    if victim == "postgres":
        return postgres_pid(home)
    workers = [pid for pid in children_of(run.pid) if "evaluator." in command_line(pid)]
    assert workers, "the run has no worker process"
    return workers[0]


def postgres_pid(home: Path) -> int:
    """The postmaster of the base: as root its files lie elsewhere, so it is found by its socket's folder."""
    from knowledge.embedded import EmbeddedServer

    server = EmbeddedServer(home)
    try:
        pid = server.pid()
    finally:
        server.close()
    assert pid is not None
    return pid


def survivors(run: subprocess.Popen[str]) -> list[str]:
    """Command lines of processes of the run that are still there some seconds after its end."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and children_of(run.pid):
        time.sleep(0.2)
    return [command_line(pid) for pid in children_of(run.pid)]


def children_of(run: int) -> list[int]:
    """Living processes that the run started: workers name the run in their last argument, others share its session."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == run:
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        words = command_line(int(entry.name)).split()
        named = "evaluator." in " ".join(words[:3]) and words[-1] == str(run)
        if fields[0] != "Z" and (named or int(fields[3]) == run):
            found.append(int(entry.name))
    return found


def command_line(pid: int) -> str:
    """Command line of a process; empty once it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
