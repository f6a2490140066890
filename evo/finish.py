"""The end of a campaign: finalists against the baseline in fresh processes, and a winner only if it holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from evaluator.api import Comparison, SizeComparison
from evaluator.result import Evaluation
from evaluator.waiting import Say, silent
from evo.archive import behaviour
from evo.fitness import METER_ERROR, Fitness
from evo.memory import Memory, NoMemory
from evo.parts import Parts
from evo.population import Individual
from evo.quarantine import throw_out
from evo.result import ArchiveEntry
from evo.state import SearchState

STOPPED = "stopped by the user before the final comparison"
FINALISTS = 6
CLOSE = 0.75  # finalists are at least this part of the leader: the search times them once, minutes apart
ROUNDS = 4  # times that thrown-out finalists are replaced by the next ones


@dataclass(frozen=True)
class Winner:
    """Who won, with the proof. ``individual`` is the baseline if nothing beat it beyond the interval."""

    individual: Individual
    comparison: Comparison
    improved: bool
    notes: tuple[str, ...] = ()


def prove(
    number: int, state: SearchState, parts: Parts, processes: int, stop: Callable[[], bool],
    progress: Callable[[int, int], None], say: Say = silent,
) -> Winner:  # fmt: skip
    """Compares the finalists with the baseline; those that fail go to quarantine and the next ones take their place.

    Variants still in doubt take part as well: this proof is the second look that they were waiting for. A reference
    that is awaited at a tuned size is waited for first; ``say`` hears of it. ``stop`` leaves the proof unmade.
    """
    notes: list[str] = []
    remark = parts.evaluator.settle(say, stop)
    if stop():
        return unproven(state, stopped_note(parts.memory))
    tried: set[str] = set()
    contenders = _contenders(state)
    for _ in range(ROUNDS):
        field = _field([individual for individual in contenders if individual.digest not in tried])
        if not field:
            break
        if stop():
            return unproven(state, stopped_note(parts.memory))
        tried.update(individual.digest for individual in field)
        comparisons = parts.evaluator.compare(
            state.baseline.variant, [individual.variant for individual in field], processes, progress
        )
        by_digest = {comparison.variant: comparison for comparison in comparisons}
        held: list[tuple[Individual, Comparison]] = []
        for individual in field:
            comparison = by_digest.get(individual.digest)
            if comparison is not None and comparison.verified:
                held.append((individual, comparison))
                parts.memory.prove(number, comparison)
            else:
                reason = comparison.message if comparison else "the final comparison gave no result"
                throw_out(number, parts, state, individual, reason, comparison.checks if comparison else ())
                notes.append(f"a variant at {individual.speedup:.2f}x was thrown out in the final comparison: {reason}")
        if held:
            best, proof = max(held, key=lambda pair: pair[1].speedup)
            if proof.note:
                notes.append(proof.note)
            if proof.low > 1.0:
                return Winner(best, proof, True, tuple(notes))
            notes.append(f"the best variant is at {proof.speedup:.3f}x ({proof.low:.3f} to {proof.high:.3f}): "
                         "not faster than the baseline beyond the interval")  # fmt: skip
            break
    else:
        notes.append("every finalist failed its verification")
    if remark and not any(remark in note for note in notes):
        notes.append(remark)
    return Winner(state.baseline, baseline_comparison(state, "nothing beat the baseline"), False, tuple(notes))


def stopped_note(memory: Memory) -> str:
    """What is said of a campaign that its user stopped; one that no knowledge base holds cannot be resumed."""
    return STOPPED if isinstance(memory, NoMemory) else f"{STOPPED}; --resume goes on"


def unproven(state: SearchState, message: str) -> Winner:
    """The leader with the search's own estimate, marked as not verified (interrupted campaigns)."""
    leader = state.leader
    if leader is state.baseline:
        return Winner(leader, replace(baseline_comparison(state, message), verified=False), False, (message,))
    rows = _size_rows(state.fitness, leader.parent.evaluations)
    comparison = Comparison(leader.digest, rows, leader.speedup, leader.low, leader.high, False, message)
    return Winner(leader, comparison, leader.low > 1.0, (message,))


def baseline_comparison(state: SearchState, message: str) -> Comparison:
    """The baseline against itself: 1x, verified when the campaign started."""
    rows = tuple(
        replace(row, best_ms=row.baseline_ms, speedup=1.0, low=1.0, high=1.0, best_mj=row.baseline_mj)
        for row in _size_rows(state.fitness, state.baseline.parent.evaluations)
    )
    return Comparison(state.baseline.digest, rows, 1.0, 1.0, 1.0, True, message)


def alternatives(state: SearchState, winner: Individual, limit: int = 3) -> tuple[ArchiveEntry, ...]:
    """Elites of other behaviours than the winner's that beat the baseline, best first."""
    own = behaviour(winner.variant)
    others = [(cell, i) for cell, i in state.archive.elites if cell != own and i.digest != winner.digest]
    return tuple(
        ArchiveEntry(i.variant, i.speedup, i.parent.agent, str(cell), i.parent.evaluations)
        for cell, i in others[:limit]
        if i.speedup > 1.0
    )


def _contenders(state: SearchState) -> list[Individual]:
    doubted = [doubt.individual for doubt in state.doubts.values()]
    known = {individual.digest: individual for individual in (*doubted, *state.archive.top)}
    known.pop(state.baseline.digest, None)
    return sorted((i for i in known.values() if i.speedup > 1.0), key=lambda i: (-i.speedup, i.digest))


def _field(contenders: Sequence[Individual]) -> list[Individual]:
    """The leader and those so close behind that the search cannot tell them apart."""
    return [i for i in contenders[:FINALISTS] if i.speedup >= CLOSE * contenders[0].speedup]


def _size_rows(fitness: Fitness, evaluations: Sequence[Evaluation]) -> tuple[SizeComparison, ...]:
    """By what is optimised, as in the final proof."""
    rows = []
    for evaluation in evaluations:
        base, own = fitness.baseline.get(evaluation.size), evaluation.timing
        if base is None or own is None:
            continue
        row = SizeComparison(evaluation.size, base.median_ms, own.median_ms, base.median_ms / own.median_ms,
                             base.low_ms / own.high_ms, base.high_ms / own.low_ms)  # fmt: skip
        before, after = fitness.energies.get(evaluation.size), evaluation.energy_mj
        if before is not None and after is not None:
            ratio = before / after
            row = replace(row, speedup=ratio, low=ratio * (1.0 - METER_ERROR), high=ratio * (1.0 + METER_ERROR),
                          baseline_mj=before, best_mj=after)  # fmt: skip
        rows.append(row)
    return tuple(rows)
