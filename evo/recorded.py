"""A recorded search space as something to evolve: its parameters are genes, its configurations variants."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from evaluator.recording import Recording
from genome.genes import Gene, Genome, Site
from genome.moves import Move
from genome.sizes import SizeExpr
from genome.spec import KernelSpec, LaunchSpec, ProblemSize, Tunable
from genome.transforms.qualifiers import Macro
from genome.variant import GridAxis, Launch, Rejection, Target, Variant

SIZE = ProblemSize((("recorded", 1),))
"""A recording holds one problem size, which it may not even tell."""
_ONE = GridAxis(SizeExpr("1"))
_LAUNCH = Launch("", (_ONE, _ONE, _ONE), (1, 1, 1), ())
_MACRO = Macro()


@dataclass(frozen=True, eq=False)
class RecordedSpace:
    """Binds genes to configurations.

    Attributes:
        name: Of the kernel.
        recording: The space.
        first: Row of the configuration that counts as the untransformed kernel.
    """

    name: str
    recording: Recording
    first: int

    @cached_property
    def spec(self) -> KernelSpec:
        """A kernel without a source: only its tunables are genes, the default of each first."""
        default = self._default
        tunables = tuple(
            Tunable(name, (default[name], *(value for value in values if value != default[name])))
            for name, values in zip(self.recording.names, self.recording.values, strict=True)
        )
        return KernelSpec(self.name, "", self.name, (), LaunchSpec((1, 1, 1)), (SIZE,), tunables=tunables)

    def genome(self, row: int) -> Genome:
        """The configuration as genes: one a parameter that differs from its default."""
        default, own = self._default, self.recording.configuration(row)
        return Genome(tuple(self._gene(name, value) for name, value in own.items() if value != default[name]))

    def row(self, genome: Genome) -> int | None:
        """The configuration of a genome, or None if the space does not hold it."""
        values = self._values(genome)
        pairs = zip(self.recording.names, self.recording.values, strict=True)
        return self.recording.rows.get(tuple(known.index(values[name]) for name, known in pairs))

    def lower(self, genome: Genome) -> Variant | Rejection:
        """The configuration as compile options; a rejection where the space leaves it out."""
        row = self.row(genome)
        if row is None:
            return Rejection(genome, "the recorded space does not hold this configuration", "restriction")
        return self.variant(row, genome)

    def variant(self, row: int, proposed: Genome | None = None) -> Variant:
        """A configuration as compile options."""
        options = tuple(f"-D{name}={value}" for name, value in self.recording.configuration(row).items())
        genome = self.genome(row)
        return Variant(
            self.name,
            Target.CUDA,
            "",
            (_LAUNCH,),
            options=options,
            genome=genome,
            proposed=genome if proposed is None else proposed,
        )

    def moves(self, genome: Genome, only: Collection[str] | None = None) -> tuple[Move, ...]:
        """Each parameter with its other values."""
        if only is not None and "macro" not in only:
            return ()
        values = self._values(genome)
        return tuple(
            Move(
                _MACRO,
                self._sites[tunable.name],
                {"value": tuple(value for value in tunable.values if value != values[tunable.name])},
                genome.find("macro", tunable.name),
            )
            for tunable in self.spec.tunables
        )

    @cached_property
    def _default(self) -> Mapping[str, str]:
        return self.recording.configuration(self.first)

    @cached_property
    def _sites(self) -> Mapping[str, Site]:
        return {name: Site(name, f"macro[{number}]") for number, name in enumerate(self.recording.names)}

    def _gene(self, name: str, value: str) -> Gene:
        return Gene.of("macro", self._sites[name], value=value)

    def _values(self, genome: Genome) -> dict[str, str]:
        chosen = {gene.site.label: str(gene.values["value"]) for gene in genome.genes}
        default = self._default
        known = dict(zip(self.recording.names, self.recording.values, strict=True))
        return {name: chosen[name] if chosen.get(name) in known[name] else default[name] for name in known}
