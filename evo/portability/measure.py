"""Measures a study's genomes on a device of this machine, into the knowledge base."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from evaluator.result import Evaluation, Status
from evaluator.waiting import Say
from evo.campaign_types import Campaign
from evo.fitness import Fitness
from evo.parts import Parts
from evo.progress import StopRequest
from evo.reading import open_baseline
from evo.start import campaign_record
from evo.trial import Trial, try_variant
from genome.genes import Gene, Genome
from genome.variant import Rejection, Variant
from knowledge.records import Lineage, Outcome

TRIED, REPAIR, WITHOUT = "portability", "portability repair", "portability without"
"""Authors in the knowledge base: of a champion that is carried over, of one that was trimmed, of one without a gene."""
TOGETHER = 8
"""Variants in one comparison; what is compared is in the base before the next ones begin."""


@dataclass(frozen=True)
class Wanted:
    """A genome that is to be measured.

    Attributes:
        genome: As it is proposed.
        agent: Why.
        parent: Digest of the genome that it comes from; empty for what is carried over as it is.
        without: The gene that it does without; None likewise.
    """

    genome: Genome
    agent: str = TRIED
    parent: str = ""
    without: Gene | None = None

    def lineage(self, number: int) -> Lineage:
        """As the base keeps it."""
        parents = (self.parent,) if self.parent else ()
        return Lineage(self.agent, parents, (self.without,) if self.without else (), number)


@dataclass
class Bench:
    """A campaign of the study that is open on a device.

    Attributes:
        parts: Evaluator, lowering, memory.
        baseline: The kernel as it is.
        fitness: Speed-ups over it.
        number: Of the campaign in the base.
        processes: Fresh processes of each comparison.
        say: Hears what is under way.
        stop: True ends it cleanly.
        next: Number of the next proposal.
    """

    parts: Parts
    baseline: Variant
    fitness: Fitness
    number: int
    processes: int
    say: Say
    stop: StopRequest
    next: int

    def measure(self, wanted: Sequence[Wanted]) -> None:
        """Verifies and times each genome, then compares those that are right with the kernel as it is.

        A genome that cannot run is tried once more with a gene less.
        """
        right: dict[str, tuple[Variant, Wanted]] = {}
        for count, item in enumerate(wanted, 1):
            if self.stop():
                return
            self.say(f"variant {count} of {len(wanted)}")
            found = self._tried(item)
            if found is not None and found[0].digest() != self.baseline.digest():
                right[found[0].digest()] = found
            if len(right) == TOGETHER:
                self._compare(right)
                right = {}
        self._compare(right)

    def _tried(self, wanted: Wanted) -> tuple[Variant, Wanted] | None:
        """The variant, if it (or its repair) is right; what became of it is in the base.

        That it cannot run is written after its repair was tried: a study that is stopped in between tries both again.
        """
        variant = self.parts.lower(wanted.genome)
        if isinstance(variant, Rejection):
            found = self._repaired(wanted)
            if not self.stop():
                self.next += 1
                self.parts.memory.reject(self.number, variant, wanted.lineage(self.next))
            return found
        trial = self._trial(variant, wanted)
        if trial.measured is not None:
            return variant, wanted
        found = self._repaired(wanted) if trial.status is not None else None
        if trial.status is not None and not self.stop():
            self.next += 1
            self._refuse(variant, wanted, trial.status, trial.reason)
        return found

    def _repaired(self, wanted: Wanted) -> tuple[Variant, Wanted] | None:
        """Of a genome that is carried over, but cannot run, the one that was trimmed; None if that is no better."""
        found = trimmed(wanted.genome, self.parts.lower) if wanted.agent == TRIED else None
        if found is None:
            return None
        variant, gene = found
        repair = Wanted(variant.proposed, REPAIR, wanted.genome.digest(), gene)
        return None if self._trial(variant, repair).measured is None else (variant, repair)

    def _trial(self, variant: Variant, wanted: Wanted) -> Trial:
        """Measures the variant, into the base if it is right."""
        self.next += 1
        trial = try_variant(self.parts.evaluator, variant, self.next, self.stop)
        if trial.measured is not None:
            evaluations, score = trial.measured.evaluations, self.fitness.score(trial.measured.evaluations)
            speedup = None if score is None else score.value
            outcome = Outcome(variant, evaluations, trial.measured.checks, wanted.lineage(self.next), speedup)
            self.parts.memory.record(self.number, outcome)
        return trial

    def _refuse(self, variant: Variant, wanted: Wanted, status: Status, reason: str) -> None:
        failure = Evaluation(variant.digest(), self.fitness.sizes[0].label, status, reason)
        self.parts.memory.record(self.number, Outcome(variant, (failure,), (), wanted.lineage(self.next), None))

    def _compare(self, right: Mapping[str, tuple[Variant, Wanted]]) -> None:
        """The final comparison of these variants with the kernel as it is, into the base."""
        if not right or self.stop():
            return
        found = self.parts.evaluator.compare(
            self.baseline, [variant for variant, _ in right.values()], self.processes,
            lambda done, of: self.say(f"comparing {len(right)} variants: process {done} of {of}"),
        )  # fmt: skip
        for comparison in found:
            if comparison.verified:
                self.parts.memory.prove(self.number, comparison)
            else:
                self.next += 1
                self._refuse(*right[comparison.variant], Status.UNSTABLE, comparison.message)


def trimmed(genome: Genome, lower: Callable[[Genome], Variant | Rejection]) -> tuple[Variant, Gene] | None:
    """(variant, gene left out): the genome without the last gene whose absence makes it run; None if there is none."""
    for gene in reversed(genome.genes):
        rest = genome.without(gene)
        variant = lower(rest)
        if rest.genes and not isinstance(variant, Rejection):
            return variant, gene
    return None


def opened(campaign: Campaign, parts: Parts, name: str, say: Say, stop: StopRequest) -> Bench:
    """The baseline verified and timed, and the study's campaign begun (or gone on with) in the base (blocks).

    Raises:
        EvaluatorError: If the kernel as it is cannot run here.
        KnowledgeError: If the base is lost.
    """
    found = open_baseline(parts, campaign.spec.sizes, say)
    parts = found.parts
    record = replace(campaign_record(campaign, parts), name=name)
    number = parts.memory.start_campaign(record, resume=True)
    known = parts.memory.outcomes(number)
    first = Lineage(TRIED)
    measured = found.measured
    parts.memory.record(number, Outcome(found.baseline, measured.evaluations, measured.checks, first, 1.0))
    on_cpu = parts.evaluator.device.kind == "cpu"
    fitness = Fitness.of(campaign.spec.sizes, measured.evaluations, fastest=on_cpu)
    last = max((item.lineage.generation for item in known), default=0)
    return Bench(parts, found.baseline, fitness, number, campaign.processes, say, stop, last)
