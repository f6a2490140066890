"""Kernels of a study that run: carries the champions of campaigns over, and reads what all machines found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, replace

from evaluator.devices import DeviceError, resolve_device
from evaluator.result import DeviceInfo, Status
from evaluator.waiting import Say
from evo.campaign_types import Campaign
from evo.contract import contract
from evo.parts import Parts
from evo.portability.case import Case
from evo.portability.live_case import live_case, wanted_genomes
from evo.portability.measure import WITHOUT, Wanted, opened
from evo.portability.study import Study
from evo.progress import StopRequest
from evo.wire import build
from genome.genes import Genome
from genome.replay import spec_kernel
from knowledge.crossings import Crossing
from knowledge.features import kernel_record
from knowledge.store import KnowledgeBase


def open_base(url: str | None) -> KnowledgeBase:
    """The base that a study is kept in."""
    return KnowledgeBase.open(url)


@dataclass(frozen=True)
class Hands:
    """What a study needs of its surroundings.

    Attributes:
        say: Hears what is under way.
        stop: True ends it cleanly.
        tune: Runs a campaign where a device has no champion yet, or goes on with an interrupted one.
        find: The device of a name; raises DeviceError where there is none.
        parts: Opens a campaign on its device.
    """

    say: Say
    stop: StopRequest
    tune: Callable[[Campaign], object]
    find: Callable[[str], DeviceInfo] = resolve_device
    parts: Callable[[Campaign], AbstractContextManager[Parts]] = build


def live_cases(study: Study, only: str | None, hands: Hands) -> tuple[tuple[Case, ...], tuple[str, ...]]:
    """(cases of the kernels that run, remarks). Measures what this machine can measure and nobody has yet (blocks).

    Args:
        study: What is asked.
        only: The one device of the study that is measured now; None for all that are here.
        hands: See there.

    Raises:
        EvaluatorError: If a kernel as it is cannot run on a device that is here.
        KnowledgeError: If the base cannot be opened.
    """
    cases: list[Case] = []
    notes: dict[str, None] = {}
    if not study.campaigns:
        return (), ()
    with closing(open_base(study.knowledge_url)) as base:
        for campaign in study.campaigns:
            kernel = _Kernel(study, campaign, base, hands)
            for device in study.devices:
                if hands.stop() or only not in (None, device):
                    continue
                try:
                    kernel.measure(device)
                except DeviceError as error:
                    notes[f"{device} is not here, its cells are those of other machines, or wait: {error}"] = None
            cases += kernel.cases()
    return tuple(cases), tuple(notes)


@dataclass(frozen=True)
class _Kernel:
    """A kernel of a study, and what the base knows of it."""

    study: Study
    campaign: Campaign
    base: KnowledgeBase
    hands: Hands

    def measure(self, device: str) -> None:
        """Finds a champion for this device if there is none, and measures here what is missing.

        Raises:
            DeviceError: If there is no such device here.
        """
        hands = self.hands
        info = hands.find(device)
        here = replace(self.campaign, device=info.id)
        name = f"{self.campaign.spec.name} on {info.name}"
        if info.name not in self._champions():
            hands.say(f"{name}: no champion is known; a campaign looks for one")
            hands.tune(here)
        wanted = self._missing(info)
        if not wanted or hands.stop():
            return
        hands.say(f"{name}: {len(wanted)} variants are to be measured")
        with hands.parts(here) as parts:
            bench = opened(here, parts, self._title(device), lambda text: hands.say(f"{name}: {text}"), hands.stop)
            bench.measure(wanted)
            wanted = () if hands.stop() else tuple(w for w in self._missing(info) if w.agent == WITHOUT)
            bench.measure(wanted)
            if not hands.stop():
                bench.parts.memory.finish(bench.number, {"study": self.study.name})
            for sentence in bench.parts.memory.settle():
                hands.say(sentence)

    def cases(self) -> tuple[Case, ...]:
        """A case for each size, over every device of the study and those that the base was told to know."""
        rows = self._rows()
        names: dict[str, None] = {}
        for device in self.study.devices:
            told = dict.fromkeys(row.hardware.name for row in rows[device])
            names |= told or {device: None}
        champions = self._champions()
        for part in self.study.known:
            found = [name for name in champions if part.lower() in name.lower()]
            names |= dict.fromkeys(found or [part])
        everything = [row for device in self.study.devices for row in rows[device]]
        own = {name: genome for name, genome in champions.items() if name in names}
        return tuple(
            live_case(self.campaign.spec.name, size.label, tuple(names), own, everything)
            for size in self.campaign.spec.sizes
            if not self.study.sizes or size.label in self.study.sizes
        )

    def _missing(self, info: DeviceInfo) -> tuple[Wanted, ...]:
        """Genomes that nobody has measured on this device: champions, then those without one gene of a champion."""
        rows = [row for found in self._rows().values() for row in found if row.hardware.name == info.name]
        done = [row for row in rows if _is_settled(row)]
        tried = {row.genome.digest() for row in done if row.agent != WITHOUT}
        taken = {(row.parents[0], row.delta[0]) for row in done if row.agent == WITHOUT and row.parents and row.delta}
        ran = {row.genome.digest() for row in rows if row.proven is not None and row.genome == row.applied}
        champions = self._study_champions()
        genomes = [genome for genome in wanted_genomes(champions) if genome.digest() not in tried]
        without = [
            Wanted(genome.without(gene), WITHOUT, genome.digest(), gene)
            for genome in dict.fromkeys(champions.values())
            if genome.digest() in ran
            for gene in genome.genes
            if (genome.digest(), gene) not in taken
        ]
        return (*(Wanted(genome) for genome in genomes), *without)

    def _study_champions(self) -> dict[str, Genome]:
        """Champions of the devices that the study is about."""
        rows = [row for found in self._rows().values() for row in found]
        part_of = {row.hardware.name for row in rows} | set(self._here())
        known = [part.lower() for part in self.study.known]
        return {
            name: genome
            for name, genome in self._champions().items()
            if name in part_of or any(part in name.lower() for part in known)
        }

    def _here(self) -> Sequence[str]:
        found = []
        for device in self.study.devices:
            try:
                found.append(self.hands.find(device).name)
            except DeviceError:
                continue  # on another machine
        return found

    def _champions(self) -> dict[str, Genome]:
        """The genome of the largest proven speed-up on each device."""
        digest = self._digest()
        best: dict[str, tuple[float, Genome]] = {}
        for champion in self.base.champions():
            if champion.kernel_digest == digest:
                own = (champion.speedup, champion.genome)
                best[champion.device] = max(best.get(champion.device, own), own, key=lambda pair: pair[0])
        return {name: genome for name, (_, genome) in sorted(best.items())}

    def _rows(self) -> dict[str, tuple[Crossing, ...]]:
        """What the base holds of this study, by the name of the device in the study."""
        told = contract(self.campaign)
        return {device: self.base.crossings(self._title(device), self._digest(), told) for device in self.study.devices}

    def _title(self, device: str) -> str:
        """Name of the study's campaigns in the base: it travels with an export, and says which device was meant."""
        return f"portability: {self.study.name} on {device}"

    def _digest(self) -> str:
        spec = self.campaign.spec
        return kernel_record(spec, spec_kernel(spec) if spec.source else None).digest


def _is_settled(row: Crossing) -> bool:
    """True if nothing is left to be done: it cannot run, was compared, or is the kernel as it is."""
    failed = row.evaluation is None or row.evaluation.status is not Status.OK
    return failed or row.proven is not None or not row.applied.genes
