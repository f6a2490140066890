"""The parent's part of the final proof: fresh processes one after another, and who is to blame when one dies."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from typing import Any

from evaluator.api import Comparison
from evaluator.compare import summarise_proof
from evaluator.lane import Lane, Lost
from evaluator.messages import Compared, CompareJob, Prepared
from evaluator.settings import EvaluatorSettings
from evaluator.waiting import Pace, Say, silent
from genome.spec import KernelSpec

_LOOK_S = 1.0
_DOING = {
    "reference": "waiting for the reference",
    "inputs": "drawing inputs",
    "generator": "waiting for the generator of an input",
    "wait": "waiting for compilers to leave the cores",
    "baseline": "running the kernel as it stands",
    "comparison": "comparing the kernel with the reference",
    "check": "verifying the kernel as it stands",
    "time": "timing the kernel as it stands",
}


def ask(lane: Lane, job: Any, say: Say = silent) -> Any:
    """Gives a job and waits for its end: the answer, or a ``Lost``. ``say`` hears what takes long meanwhile."""
    lane.give(job)
    pace = Pace(say)
    while (answer := lane.poll()) is None:
        if lane.connection is not None:
            wait([lane.connection], timeout=min(lane.seconds_left(), _LOOK_S))
        beat = lane.doing
        if beat.size:
            since = time.monotonic() - beat.at
            pace(f"{_DOING.get(beat.stage, beat.stage)} at {beat.size}, {since:.0f} s so far")
    return answer


class Proof:
    """Compares champions with the baseline.

    Args:
        lane: Makes device processes that know the baseline; each comparison stops and restarts it.
        spec: The kernel.
        seed: Of the bootstrap.
        settings: Seconds of timing in each process, and what counts as a gain.
    """

    def __init__(self, lane: Lane, spec: KernelSpec, seed: int, settings: EvaluatorSettings) -> None:
        self._lane, self._spec, self._seed, self._settings = lane, spec, seed, settings

    def run(
        self, baseline: Prepared, champions: Sequence[Prepared | str], digests: Sequence[str], processes: int,
        progress: Callable[[int, int], None],
    ) -> tuple[Comparison, ...]:  # fmt: skip
        """Compares every champion.

        Args:
            baseline: The untransformed kernel.
            champions: Compiled, or why there is no binary.
            digests: Of the champions' variants.
            processes: Fresh processes.
            progress: Called with (processes done, processes).
        """
        failures = {digest: what for digest, what in zip(digests, champions, strict=True) if isinstance(what, str)}
        prepared = {digest: what for digest, what in zip(digests, champions, strict=True) if isinstance(what, Prepared)}
        results: dict[str, list[Compared]] = {digest: [] for digest in digests}
        turn = attempts = 0
        while turn < processes and attempts < 2 * processes + len(digests):
            attempts += 1
            alive = [digest for digest in prepared if digest not in failures]
            if not alive:
                break
            job = CompareJob((baseline, *(prepared[digest] for digest in alive)), self._settings.proof_budget_s, turn)
            try:
                answer = ask(self._lane, job)
            finally:
                self._lane.stop()
            if isinstance(answer, Lost):
                if answer.beat.variant in alive and not answer.killed:
                    failures[answer.beat.variant] = f"at {answer.beat.size} ({answer.beat.stage}): {answer.text}"
                continue
            turn += 1
            progress(turn, processes)
            self._share_out(answer, alive, results, failures)
        return tuple(self._summary(digest, results[digest], failures.get(digest, "")) for digest in digests)

    def _share_out(
        self, answer: Compared, alive: Sequence[str], results: dict[str, list[Compared]], failures: dict[str, str]
    ) -> None:
        """Each champion keeps the baseline's part of the process and its own."""
        for index, digest in enumerate(alive, start=1):
            results[digest].append(
                Compared(
                    (answer.timings[0], answer.timings[index]),
                    (answer.failures[0], answer.failures[index]),
                    ((), answer.checks[index]),
                    (answer.energies[0], answer.energies[index]) if answer.energies else (),
                )
            )
            if answer.failures[index]:
                failures[digest] = answer.failures[index]

    def _summary(self, digest: str, results: Sequence[Compared], failure: str) -> Comparison:
        believe = not self._settings.defences.noise
        return summarise_proof(digest, 1, results, self._spec.sizes, self._seed, failure, believe)
