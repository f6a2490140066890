"""Tries transforms out on a kernel: which apply, which would after others, and what then stands in the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from evo.inspection.record import Later, SiteView
from evo.inspection.words import listed
from genome.genes import Gene, Genome
from genome.ir.kernel import Kernel
from genome.limits import DeviceLimits
from genome.moves import Move, RefusedMove, line_of, survey
from genome.spec import KernelSpec
from genome.transforms.base import Phase, Transform
from genome.variant import Target

_SHALLOW = frozenset({"macro", "block_shape", "specialise", "grid_stride"})  # the body stays the user's own


def is_structural(transform: Transform) -> bool:
    """True if it rewrites the body, beyond launch shape, macros, fixed sizes, qualifiers and options."""
    return transform.phase is not Phase.LAUNCH and transform.name not in _SHALLOW


def named(move: Move | RefusedMove) -> str:
    """``unroll@k``."""
    return f"{move.transform.name}@{move.site.label}"


@dataclass(frozen=True)
class Question:
    """Whose moves are asked for; ``kernel`` is the kernel as the user wrote it, for the lines of sites."""

    spec: KernelSpec
    kernel: Kernel
    transforms: Sequence[Transform]
    target: Target
    limits: DeviceLimits

    def survey(
        self, genome: Genome, only: Iterable[str] | None = None
    ) -> tuple[tuple[Move, ...], tuple[RefusedMove, ...]]:
        """What applies on top of the genome, and what does not."""
        names = None if only is None else frozenset(only)
        return survey(self.spec, genome, self.transforms, self.target, self.limits, names)

    def sites(self, places: Iterable[Move | RefusedMove]) -> tuple[SiteView, ...]:
        """The places with their lines; where some are names of the user's, those that are not are left out."""
        views = [SiteView(p.site.label, p.site.role, line_of(self.spec, self.kernel, p.site)) for p in places]
        return tuple([view for view in views if view.line] or views)


@dataclass(frozen=True)
class Explored:
    """What applies to the untouched kernel, and what does not.

    Attributes:
        found: Moves that apply.
        refused: Those that do not.
        later: What applies after one or two others.
        then: For a refused move that some other transform does not help: what the reason is after that one.
    """

    found: tuple[Move, ...]
    refused: tuple[RefusedMove, ...]
    later: tuple[Later, ...]
    then: Mapping[str, str] = field(default_factory=dict)

    @property
    def awaited(self) -> frozenset[str]:
        """Names of the moves that apply later."""
        return frozenset(f"{item.transform}@{site.label}" for item in self.later for site in item.sites)


_Groups = Mapping[str, Sequence[Move]]


def explore(question: Question, depth: int) -> Explored:
    """What applies, and what would after up to ``depth`` transforms, each run wherever it applies."""
    found, refused = question.survey(Genome())
    trial = _Trial(question, found, refused)
    paths: list[tuple[_Groups, Sequence[Move]]] = [({}, found)]
    for _ in range(depth):
        longer = [
            {**path, name: group}
            for path, fresh in paths
            for name, group in by_name(fresh).items()
            if is_structural(group[0].transform)
        ]
        paths = [(path, trial.run(path)) for path in longer]
    return Explored(found, refused, trial.later(), trial.then)


class _Trial:
    """What came of running transforms, remembered with the first ones that led to it."""

    def __init__(self, question: Question, found: Sequence[Move], refused: Sequence[RefusedMove]) -> None:
        self.question = question
        self.here = {named(move) for move in found}
        self.waiting = {named(item): item.reason for item in refused}
        tried = {item.transform.name for item in refused}
        self.known = {move.transform.name for move in found} | tried
        self.asked = {transform.name for transform in question.transforms} - self.known | tried
        self.seen: dict[str, tuple[Move, tuple[str, ...]]] = {}
        self.then: dict[str, str] = {}
        self._phases: dict[str, int] = {}

    def run(self, groups: _Groups) -> list[Move]:
        """Moves that are there for the first time once these have run."""
        genome = Genome(tuple(gene_of(move) for group in groups.values() for move in group))
        found, refused = self.question.survey(genome, self.asked)
        fresh = [move for move in found if named(move) not in self.here and named(move) not in self.seen]
        fresh = [move for move in fresh if named(move) in self.waiting or move.transform.name not in self.known]
        self.seen.update((named(move), (move, tuple(groups))) for move in fresh)
        phase = max(group[0].transform.phase for group in groups.values())
        for item in refused:
            # One that prepares another runs before it; the last of those is the one that it waits for.
            prepares = self._phases.get(named(item), -1) < phase < item.transform.phase
            if prepares and self.waiting.get(named(item), item.reason) != item.reason:
                self._phases[named(item)] = phase
                self.then[named(item)] = f"after {listed(groups)}: {item.reason}"
        return fresh

    def later(self) -> tuple[Later, ...]:
        """What was found, by transform and by what has to come first."""
        places: dict[tuple[str, tuple[str, ...]], list[Move]] = {}
        for move, after in self.seen.values():
            places.setdefault((move.transform.name, after), []).append(move)
        return tuple(Later(name, self.question.sites(group), after) for (name, after), group in places.items())


def by_name(found: Iterable[Move]) -> dict[str, list[Move]]:
    """Moves by the name of their transform."""
    groups: dict[str, list[Move]] = {}
    for move in found:
        groups.setdefault(move.transform.name, []).append(move)
    return groups


def gene_of(move: Move) -> Gene:
    """The move with the second value of each domain: the first one is often the least that it can do."""
    return Gene.of(move.transform.name, move.site, **{name: values[:2][-1] for name, values in move.domain.items()})
