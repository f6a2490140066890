"""Checkpoints: what a killed campaign needs beside its stored outcomes, as plain JSON in the knowledge base."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from evaluator.result import Evaluation, Status
from evo.ledger import Finding
from evo.memory import Memory, Stored
from evo.parts import Parts
from evo.population import Individual
from evo.state import Doubt, SearchState
from genome.genes import Genome
from genome.variant import Variant
from operators.base import Parent, Proposal, Suspect
from operators.credit import Credit
from operators.verifier import agree, doubt

KEY = "engine"


def save_checkpoint(
    memory: Memory, campaign: int, state: SearchState, in_flight: Iterable[Proposal], elapsed_s: float
) -> None:
    """Stores random state, credit, ledger, and the proposals that have no outcome yet."""
    pending = [*in_flight, *state.queue]
    memory.save_state(campaign, KEY, {
        "rng": state.rng.bit_generator.state,
        "credit": state.credit.to_json(),
        "ledger": state.ledger.to_json(),
        "genomes": sorted(state.genomes),
        "pending": [
            {"genome": p.genome.to_json(), "agent": p.agent, "parents": list(p.parents), "note": p.note,
             "fresh": p.fresh, "expected": p.expected}
            for p in pending
        ],
        "elapsed_s": elapsed_s,
    })  # fmt: skip


def resume(parts: Parts, campaign: int, state: SearchState) -> float:
    """Brings an interrupted campaign back: nothing that is finished is measured again.

    Outcomes are the truth (they are newer than the last checkpoint); the checkpoint adds the random state, credit, and
    what was in flight. Unreadable checkpoints are dropped: the outcomes alone are enough to go on.

    Returns:
        Seconds that the campaign had already run.
    """
    for stored in parts.memory.outcomes(campaign):
        _take_over(stored, parts, state)
        if parts.guide is not None:
            parts.guide.tell(stored.genome, None if stored.speedup is None else math.log2(stored.speedup))
    data = parts.memory.load_state(campaign, KEY)
    return _restore(data, state) if data else 0.0


def _take_over(stored: Stored, parts: Parts, state: SearchState) -> None:
    """Books a stored outcome as the intake did: what was doubted waits for a second look, what was thrown out stays
    out. Outcomes of the baseline itself are skipped: it is measured at every start.
    """
    if stored.variant == state.baseline.digest:
        return
    parent = (state.archive.get(stored.lineage.parents[0]) if stored.lineage.parents else None) or state.baseline
    status = next((e.status for e in (*stored.evaluations, *stored.checks) if e.status is not Status.OK), Status.OK)
    individual = _as_admitted(stored, parts, parent)
    reason = ""
    if status is not Status.OK and not status.retryable:
        _withdraw(stored.variant, state)
    elif individual is not None:
        individual, reason = _second_look(individual, stored.cached or not parts.second_looks, state)
    trusted = individual.speedup if individual is not None and not reason else None
    finding = Finding(stored.lineage.agent, stored.variant, status, trusted, parent.speedup, stored.cached)
    state.ledger.finished(finding, 0.0)
    state.ledger.numbered(stored.lineage.generation)
    state.variants.add(stored.variant)
    state.genomes.update((stored.genome.digest(), stored.proposed.digest()))
    if individual is None:
        return
    if reason:
        suspect = Suspect(individual.parent.genome, individual.digest, reason)
        state.doubts[individual.digest] = Doubt(suspect, individual.speedup, individual)
    else:
        state.population.add(individual)
        state.archive.add(individual)


def _as_admitted(stored: Stored, parts: Parts, parent: Individual) -> Individual | None:
    """The outcome as an individual; None if it failed, or if its genome gives another text by now."""
    variant = parts.lower(stored.genome) if stored.speedup is not None else None
    if not isinstance(variant, Variant) or variant.digest() != stored.variant or stored.speedup is None:
        return None
    return _individual(stored, variant, parent, stored.speedup, stored.evaluations)


def _second_look(individual: Individual, beyond: bool, state: SearchState) -> tuple[Individual | None, str]:
    """(what is admitted or doubted, why it is doubted): a doubt is settled by the next outcome of the same variant.

    ``beyond`` doubt is what was looked up, and everything where nobody would take the second look.
    """
    pending = state.doubts.pop(individual.digest, None)
    if pending is not None:
        if not agree(pending.speedup, individual.speedup):
            return None, ""
        value = min(pending.speedup, individual.speedup)
        return replace(pending.individual, parent=replace(pending.individual.parent, speedup=value)), ""
    known = beyond or individual.digest in state.variants
    return individual, "" if known else doubt(individual.parent, state.ledger.best)


def _withdraw(digest: str, state: SearchState) -> None:
    held = state.archive.get(digest)
    state.population.remove(digest)
    state.archive.remove(digest)
    state.doubts.pop(digest, None)
    if held is not None:
        state.ledger.lowered(state.leader.speedup)


def _individual(
    stored: Stored, variant: Variant, parent: Individual, speedup: float, evaluations: Sequence[Evaluation]
) -> Individual:
    gain = math.log2(speedup / parent.speedup)
    own = Parent(
        stored.genome, stored.variant, speedup, stored.lineage.agent, tuple(evaluations), stored.lineage.delta, gain
    )
    return Individual(own, variant, speedup, speedup)


def _proposal(data: Mapping[str, Any]) -> Proposal:
    genome, parents = Genome.from_json(data["genome"]), tuple(data["parents"])
    expected = float(data.get("expected", 0.0))
    return Proposal(genome, str(data["agent"]), parents, str(data["note"]), bool(data["fresh"]), expected)


def _restore(data: Mapping[str, Any], state: SearchState) -> float:
    try:
        pending = [_proposal(item) for item in data["pending"]]
        credit = Credit.from_json(data["credit"])
        state.ledger.restore(data["ledger"])
        state.rng.bit_generator.state = data["rng"]
        elapsed = float(data["elapsed_s"])
    except (KeyError, TypeError, ValueError):
        return 0.0
    state.credit = credit
    done = set(state.genomes)
    state.genomes.update(str(digest) for digest in data.get("genomes", ()))
    for proposal in pending:
        if proposal.parents[:1] and proposal.parents[0] in state.doubts:
            continue  # the verifier is asked again about every open doubt
        if proposal.fresh or proposal.genome.digest() not in done:
            state.genomes.discard(proposal.genome.digest())
            state.queue.append(proposal)
    return elapsed
