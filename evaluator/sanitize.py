"""compute-sanitizer on finalists: memory accesses and races that no comparison of outputs shows. GPUs only."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.backend import BARE_BUFFERS
from evaluator.messages import Beat, Prepared, Rehearsed, RehearseJob
from evaluator.process import Child, ChildDied

TOOLS = ("memcheck", "racecheck")
_DEADLINE_S = 180.0
_SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+) (?:error|hazard)")
_FINDING = re.compile(r"=+ +((?:Invalid|Error|Misaligned|Potential|Race|Warp|Address) .*|Error: .*)")


@dataclass(frozen=True)
class Inspection:
    """What the tools say of a variant.

    Attributes:
        fault: The first finding, for a person; empty if there is none.
        note: Why a tool said nothing at all; empty if both ran.
    """

    fault: str = ""
    note: str = ""


def sanitizer() -> str:
    """Path of compute-sanitizer; empty if it is not on PATH."""
    return shutil.which("compute-sanitizer") or ""


def inspect(
    program: str, greeting: Sequence[Any], prepared: Prepared, environment: Mapping[str, str], folder: Path
) -> Inspection:
    """Runs a variant at the small check sizes under each tool, in a process of its own.

    Args:
        program: See ``sanitizer``.
        greeting: Messages that a fresh device process gets first.
        prepared: The variant.
        environment: Of device processes.
        folder: For logs.
    """
    notes = []
    for tool in TOOLS:
        report = folder / f"{tool}-{prepared.variant.digest()}.txt"
        command = (program, "--tool", tool, "--report-api-errors", "no", "--log-file", str(report))
        variables = {**environment, BARE_BUFFERS: "1"}
        child = Child("evaluator.worker", folder / f"{tool}.log", variables, wrapper=command)
        try:
            for message in (*greeting, RehearseJob(prepared)):
                child.send(message)
            answer = _answer(child)
            child.wait(_DEADLINE_S)
        except ChildDied as death:
            answer = str(death)
        finally:
            child.kill()
        fault = finding(tool, report.read_text(errors="replace") if report.exists() else "")
        if fault is None:
            notes.append(f"{tool} gave no report ({answer or 'no answer'})")
        elif fault:
            return Inspection(fault)
    return Inspection(note="; ".join(notes))


def finding(tool: str, report: str) -> str | None:
    """The first finding in a tool's report; empty if it found nothing, None if it did not get to an end."""
    summary = _SUMMARY.search(report)
    found = [match.group(1).strip() for match in _FINDING.finditer(report) if "SUMMARY" not in match.group(0)]
    if summary is None:
        return f"{tool}: {found[0]}" if found else None
    if int(summary.group(1)) == 0:
        return ""
    return f"{tool}: {found[0] if found else summary.group(0)}"


def _answer(child: Child) -> str:
    """The failure that the rehearsal itself saw, if it came to an end."""
    deadline = time.monotonic() + _DEADLINE_S
    while (left := deadline - time.monotonic()) > 0.0:
        message = child.receive(left)
        if isinstance(message, Rehearsed):
            return message.failure
        if message is not None and not isinstance(message, Beat):
            return str(message)
    return f"no answer within {_DEADLINE_S:g} s"
