"""A variant under a profiler, in a process of its own: what the hardware counted while it ran."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluator.cuda.counters import Counted, command, read_report
from evaluator.messages import Beat, CountJob, Prepared
from evaluator.process import Child, ChildDied
from genome.spec import ProblemSize

_DEADLINE_S = 120.0


def count(
    program: str, greeting: Sequence[Any], prepared: Prepared, size: ProblemSize, environment: Mapping[str, str],
    folder: Path,
) -> Counted:  # fmt: skip
    """Runs a variant once at a size under the profiler.

    Args:
        program: See ``evaluator.cuda.counters.ncu``.
        greeting: Messages that a fresh device process gets first.
        prepared: The variant.
        size: A size whose oracle exists.
        environment: Of device processes.
        folder: For logs.
    """
    report = folder / f"ncu-{prepared.variant.digest()}.csv"
    entries = [launch.entry for launch in prepared.variant.launches]
    child = Child("evaluator.worker", folder / "ncu.log", environment, wrapper=command(program, entries, str(report)))
    try:
        for message in (*greeting, CountJob(prepared, size)):
            child.send(message)
        failure = _answer(child)
        child.wait(_DEADLINE_S)
    except ChildDied as death:
        failure = str(death)
    finally:
        child.kill()
    counted = read_report(report.read_text(errors="replace") if report.exists() else "")
    return counted if counted.values else Counted({}, failure or counted.note)


def _answer(child: Child) -> str:
    deadline = time.monotonic() + _DEADLINE_S
    while (left := deadline - time.monotonic()) > 0.0:
        message = child.receive(left)
        if message is not None and not isinstance(message, Beat):
            return str(message)
    return f"no answer within {_DEADLINE_S:g} s"
