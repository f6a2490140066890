"""Runs the adversarial tests on a device and keeps what came of each: ``python -m tests.adversarial.table --help``."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from pathlib import Path

import pytest

from evaluator.devices import resolve_device

HERE = Path(__file__).resolve().parent


class Outcomes:
    """Takes the outcome of every test."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, object]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid.rpartition("/")[2]
        if report.when == "call" or report.outcome != "passed":
            reason = ""
            if report.outcome != "passed":
                text = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
                reason = text.removeprefix("Skipped: ")[-300:]
            self.rows[name] = {"outcome": report.outcome, "seconds": round(report.duration, 2), "reason": reason}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="opencl:0")
    parser.add_argument("--json", type=Path, help="where to keep the table")
    chosen = parser.parse_args()
    info, outcomes = resolve_device(chosen.device), Outcomes()
    code = pytest.main([str(HERE), "-q", "--device", info.id, "-o", "faulthandler_timeout=120"], plugins=[outcomes])
    if chosen.json:
        table = {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "command": f"python -m tests.adversarial.table --device {info.id}",
            "device": {"id": info.id, "name": info.name, "architecture": info.architecture},
            "tests": dict(sorted(outcomes.rows.items())),
        }
        chosen.json.write_text(json.dumps(table, indent=1) + "\n")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
