"""Cases of recorded search spaces: every configuration on every device that somebody recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from evaluator.messages import Work
from evaluator.recording import Recording
from evo.portability.case import ABSENT, Case, Place, Repair, coded
from evo.portability.repair import repaired


@dataclass(frozen=True, eq=False)
class Source:
    """A recording of the kernel.

    Attributes:
        place: The device.
        recording: Its space.
        fixed: (name, value) of parameters that the recording does not name, but that had this value all the same.
    """

    place: Place
    recording: Recording
    fixed: tuple[tuple[str, str], ...] = field(default=())

    @property
    def constants(self) -> dict[str, str]:
        """Parameters of one value."""
        return {**dict(self.recording.constants), **dict(self.fixed)}

    def rows(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Each configuration's values of these parameters, as text; absent where the recording names none."""
        recording, constants = self.recording, self.constants
        columns = {name: k for k, name in enumerate(recording.names)}
        values = [recording.values[columns[name]] if name in columns else () for name in names]
        places = [columns.get(name) for name in names]
        absent = [constants.get(name, ABSENT) for name in names]
        return [
            tuple(absent[n] if k is None else values[n][line[k]] for n, k in enumerate(places))
            for line in recording.table
        ]


def recorded_case(kernel: str, size: str, sources: Sequence[Source], work: Work | None = None) -> Case:
    """Brings the spaces of one kernel at one size together by the values of all parameters.

    A parameter that only some of the spaces name keeps their configurations apart from the others': nobody knows what
    the others had there, unless ``fixed`` says so. A value that is the same everywhere is left out.
    """
    names = list(dict.fromkeys(name for s in sources for name in (*s.recording.names, *s.constants)))
    rows: dict[tuple[str, ...], int] = {}
    found = [[rows.setdefault(key, len(rows)) for key in source.rows(names)] for source in sources]
    times = np.full((len(rows), len(sources)), np.nan)
    for place, (source, places) in enumerate(zip(sources, found, strict=True)):
        times[places, place] = source.recording.times_ms
    kept, domains, table = coded(names, list(rows))
    champions = tuple(int(np.nanargmin(times[:, place])) for place in range(len(sources)))
    draft = Case(
        kernel, size, tuple(source.place for source in sources), kept, domains, table, times, champions, work=work,
        notes=_notes(sources),
    )  # fmt: skip
    failures = [dict(zip(places, s.recording.failures, strict=True)) for s, places in zip(sources, found, strict=True)]
    return _with_gaps(draft, failures)


def _notes(sources: Sequence[Source]) -> tuple[str, ...]:
    return tuple(
        f"{source.place.name}: {', '.join(f'{name}={value}' for name, value in source.fixed)} by the study, not by the "
        "recording"
        for source in sources
        if source.fixed
    )


def _with_gaps(case: Case, failures: Sequence[Mapping[int, str]]) -> Case:
    """The case with the gaps of its champions explained and repaired.

    Args:
        case: Without them.
        failures: For each place what became of each of its variants; empty text where it has a time.
    """
    reasons: dict[tuple[int, int], str] = {}
    repairs: dict[tuple[int, int], Repair] = {}
    for variant in dict.fromkeys(case.champions):
        for place, known in enumerate(failures):
            if variant is None or not np.isnan(case.times_ms[variant, place]):
                continue
            failure = known.get(variant)
            reasons[variant, place] = f"failed there: {failure}" if failure else _absence(case, variant, list(known))
            repair = repaired(case.names, case.domains, case.table, case.times_ms[:, place], variant)
            if repair is not None:
                repairs[variant, place] = repair
    return replace(case, reasons=reasons, repairs=repairs)


def _absence(case: Case, variant: int, recorded: Sequence[int]) -> str:
    """Why a variant is not among those that a recording holds."""
    told = [{case.domains[k][code] for code in np.unique(case.table[recorded, k])} for k in range(len(case.names))]
    own = case.configuration(variant)
    pairs = list(zip(case.names, told, strict=True))
    unnamed = [name for name, known in pairs if known == {ABSENT}]
    if unnamed:
        return f"its recording names no {' and no '.join(unnamed)}"
    missing = [f"{name}={own.get(name, 'unnamed')}" for name, known in pairs if own.get(name, ABSENT) not in known]
    if missing:
        return f"its recording has no {', '.join(missing)}"
    return "its recording does not hold this combination"
