"""Runs ``evo-tune`` for the benches, in a process and with a knowledge base of its own, and describes the machine."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Run:
    """A finished campaign: ``best.json`` and its wall-clock seconds."""

    best: dict[str, Any]
    seconds: float


def run_campaign(campaign: Path, home: Path, *options: str) -> Run:
    """Runs a campaign on the base in ``home``.

    Raises:
        RuntimeError: If it fails; with what it printed.
    """
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    environment = {**os.environ, "EVO_TUNE_HOME": str(home), "PYTHONPATH": path}
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "cli", "run", str(campaign), "--json", *options],
        capture_output=True, text=True, env=environment, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return Run(json.loads(done.stdout), time.monotonic() - start)


def machine() -> dict[str, Any]:
    """What the figures depend on: processor, cores, Python."""
    model = next(
        (line.split(":", 1)[1].strip() for line in _cpuinfo() if line.startswith("model name")), platform.machine()
    )
    return {"processor": model, "cores": os.cpu_count(), "python": platform.python_version()}


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []
