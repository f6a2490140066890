"""A variant that is thrown out after it was stored as good: the base must not remember it as good."""

from __future__ import annotations

from collections.abc import Sequence

from evaluator.result import Evaluation, Status
from evo.parts import Parts
from evo.population import Individual
from evo.result import Quarantined
from evo.state import SearchState
from knowledge.records import Lineage, Outcome

VERIFIER = "verifier"


def throw_out(
    number: int, parts: Parts, state: SearchState, individual: Individual, reason: str,
    seen: Sequence[Evaluation] = (),
) -> None:  # fmt: skip
    """Takes the variant out of the search and stores a failure, by which it is no optimum, prior or look-up any more.

    Args:
        number: Of the campaign.
        parts: Of the campaign as well.
        state: Of the campaign as well.
        individual: The variant as it was admitted or doubted.
        reason: For a person.
        seen: Evaluations of the second look; the first one that failed tells the status.
    """
    state.population.remove(individual.digest)
    state.archive.remove(individual.digest)
    state.doubts.pop(individual.digest, None)
    state.asked.discard(individual.digest)
    author = individual.parent.agent
    state.quarantined.append(Quarantined(individual.variant, individual.speedup, author, reason))
    state.ledger.quarantined()
    state.ledger.proposed(VERIFIER)
    failed = next((e for e in seen if e.status is not Status.OK), None)
    status = failed.status if failed else Status.UNSTABLE
    label = failed.size if failed else state.fitness.sizes[0].label
    proof = Evaluation(individual.digest, label, status, reason, stage="quarantine")
    origin = Lineage(VERIFIER, (individual.digest,), (), state.ledger.counts.proposals)
    parts.memory.record(number, Outcome(individual.variant, (proof,), (), origin, None))
