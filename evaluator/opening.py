"""How an evaluator starts: the baseline builds the oracles and is timed, with gentler inputs where it has to be."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import disk_usage

from evaluator.api import Compiled, EvaluatorError, Measured, NotCompiled
from evaluator.inputs import fixed_inputs
from evaluator.lane import Lane, Lost
from evaluator.messages import Fatal, OpenJob, Outcome, Prepared, Setup
from evaluator.proof import ask
from evaluator.result import Status
from evaluator.waiting import Say

Answer = Outcome | Fatal | Lost

_ROOM = 1 << 20  # bytes of disk that any compilation needs


@dataclass(frozen=True)
class Opened:
    """The baseline as measured, the setup that worked, and what a person should know of it."""

    outcome: Outcome
    setup: Setup
    notes: tuple[str, ...] = ()

    @property
    def measured(self) -> Measured:
        """The evaluations."""
        return Measured(0, self.outcome.evaluations, self.outcome.checks)


def open_baseline_on(lane: Lane, setup: Setup, baseline: Prepared, begin: Callable[[Setup], None], say: Say) -> Opened:
    """Measures the baseline in a device process; blocks.

    The checks use inputs that the campaign does not describe. A kernel that fails with those gets a second chance, with
    the campaign's own only.

    Args:
        lane: Of the device process, which runs already.
        setup: That it was greeted with.
        baseline: The untransformed kernel.
        begin: Greets the lane with another setup, and begins what goes on beside it.
        say: Hears what takes long.

    Raises:
        EvaluatorError: If it cannot be launched, does not match the reference, or fails its own test.
    """
    answer: Answer = ask(lane, OpenJob(baseline), say)
    notes: tuple[str, ...] = ()
    if _failure(answer) and _probes_inputs(setup):
        lane.stop()
        setup, notes = replace(setup, perturb=False), (_gentle_note(setup),)
        begin(setup)
        answer = ask(lane, OpenJob(baseline), say)
    if not isinstance(answer, Outcome) or _failure(answer):
        raise EvaluatorError(_failure(answer))
    return Opened(answer, setup, (*notes, *answer.notes))


def no_binary(refused: Compiled, cache: Path) -> EvaluatorError:
    """Why there is no binary of the baseline. Only a compiler that refuses its text may take another form of it.

    Args:
        refused: What the compiler said.
        cache: The folder that it writes into.
    """
    with suppress(OSError):
        if disk_usage(cache).free < _ROOM:
            return EvaluatorError(
                f"the compiler has no room in {cache}: set XDG_CACHE_HOME to a folder with more ({refused.message})"
            )
    if refused.status is Status.COMPILE_ERROR:
        return NotCompiled(f"the untransformed kernel does not compile: {refused.message}")
    ran = refused.status in (Status.TIMEOUT, Status.CRASH)
    return EvaluatorError(f"the untransformed kernel {'cannot run' if ran else 'does not compile'}: {refused.message}")


def _failure(answer: Answer) -> str:
    """Why the baseline could not be opened; empty if it could."""
    if isinstance(answer, Lost):
        where = f"{answer.beat.stage} at {answer.beat.size}" if answer.beat.size else answer.beat.stage
        return f"the untransformed kernel cannot be measured ({where}): its process {answer.text}"
    if isinstance(answer, Fatal):
        return answer.message
    failure = Measured(0, answer.evaluations, answer.checks).failure
    return f"the untransformed kernel fails its own test: {failure.message}" if failure is not None else ""


def _probes_inputs(setup: Setup) -> bool:
    defences = setup.settings.defences
    perturbed = defences.perturb and bool(fixed_inputs(setup.spec))
    return perturbed or (defences.extremes and setup.reference is not None)


def _gentle_note(setup: Setup) -> str:
    names = ", ".join(fixed_inputs(setup.spec)) or "none"
    return (
        "the kernel fails with inputs other than the campaign's, so that checks use those only: a variant that ignores "
        f"one of the inputs that are the same in every check ({names}) may pass"
    )
