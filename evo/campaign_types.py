"""A campaign as the engine sees it: frozen, validated, free of YAML. ``evo.campaign`` makes it from a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluator.objective import Objective
from genome.spec import KernelSpec

if TYPE_CHECKING:
    from evaluator.oracle import Reference
    from evo.recorded import RecordedSpace


class CampaignError(Exception):
    """A campaign file (or an option beside it) is wrong. The text names file, line, field, and how to mend it."""


@dataclass(frozen=True)
class Budget:
    """When a campaign ends: whichever comes first.

    Attributes:
        evaluations: Fresh measurements (look-ups in the knowledge base are not counted).
        minutes: Wall-clock minutes, or None for no limit.
        patience: Fresh measurements without a gain outside the noise, or None for no limit.
    """

    evaluations: int = 200
    minutes: float | None = None
    patience: int | None = None


@dataclass(frozen=True)
class Campaign:
    """Everything that one run needs.

    Attributes:
        name: Name in the knowledge base and the reports.
        path: The campaign file.
        spec: Kernel, arguments, launch, sizes, check sizes, assumptions, tolerance, tunables, steering, limits.
        output: Folder for results; made when the first result is written.
        reference: The user's numpy function or checker; None means that the untransformed kernel is the oracle.
        device: ``auto``, ``opencl:0``, ``cuda:0``.
        budget: When it ends.
        population: Genomes that selection draws parents from.
        seed: The one seed that every random choice comes from.
        use_knowledge: False runs without any knowledge base.
        knowledge_url: ``postgresql+psycopg://...``, or None for the embedded server.
        objective: What is optimised, under which bounds.
        epsilon: Share of proposals that passes untouched by the surrogate, 0..1.
        surrogate: False measures every proposal.
        processes: Fresh processes of the final comparison.
        settings: The validated file with overrides applied, as plain data.
        notes: Remarks on what the campaign allows, for the report.
        entry: Name among the ``entries`` of its file; empty where the file is about one kernel.
        recorded: The recorded space that ``device`` names, as it was read; None where a device runs kernels.
    """

    name: str
    path: Path
    spec: KernelSpec
    output: Path
    reference: Reference | None = None
    device: str = "auto"
    budget: Budget = field(default_factory=Budget)
    population: int = 24
    seed: int = 0
    use_knowledge: bool = True
    knowledge_url: str | None = None
    objective: Objective = field(default_factory=Objective)
    epsilon: float = 0.1
    surrogate: bool = True
    processes: int = 5
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    entry: str = ""
    recorded: RecordedSpace | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class Entry:
    """One entry of a campaign of several.

    Attributes:
        name: Unique in its campaign; the name of its folder below the output.
        calls: How often it is called for each call of the others, relative to their own figures.
        campaign: What is run for it: an ordinary campaign.
    """

    name: str
    calls: float
    campaign: Campaign


@dataclass(frozen=True)
class EntriesCampaign:
    """Several entries that share one budget.

    Attributes:
        name: Of the whole.
        path: The campaign file.
        output: Folder of the results; each entry has one of its own in it.
        budget: Of all entries together; patience is each one's own.
        entries: In the order of the file.
        seed: Of every entry.
        use_knowledge: False runs without any knowledge base.
    """

    name: str
    path: Path
    output: Path
    budget: Budget
    entries: tuple[Entry, ...]
    seed: int = 0
    use_knowledge: bool = True


@dataclass(frozen=True)
class Overrides:
    """Command-line options that win over the file; None leaves the file's value.

    Attributes:
        output: Relative to the working folder, not to the campaign file.
        knowledge: ``auto``, ``none`` or a URL.
        allow_code: Folders or files beside the campaign's own folder whose code it may run.
    """

    device: str | None = None
    evaluations: int | None = None
    minutes: float | None = None
    seed: int | None = None
    output: Path | None = None
    knowledge: str | None = None
    allow_code: tuple[Path, ...] = ()
