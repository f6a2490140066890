"""The guide: a model of a table of configurations that says which one to try next, and learns what came out."""

from __future__ import annotations

from collections.abc import Callable

from genome.genes import Genome
from knowledge.parameter_search import ParameterSearch


class Guide:
    """Genomes in and out of a parameter search.

    Args:
        search: Over the rows of the table.
        genome: Row to genome.
        row: Genome to row, None where the table does not hold it.
    """

    def __init__(
        self, search: ParameterSearch, genome: Callable[[int], Genome], row: Callable[[Genome], int | None]
    ) -> None:
        self._search, self._genome, self._row = search, genome, row

    def tell(self, genome: Genome, log2_speedup: float | None) -> None:
        """Learns an outcome; None if it failed."""
        row = self._row(genome)
        if row is not None:
            self._search.tell(row, None if log2_speedup is None else 2.0**-log2_speedup)

    def next(self) -> Genome | None:
        """The most promising genome that was neither told nor given out before; None if there is none left."""
        row = self._search.next()
        if row is None:
            return None
        self._search.take(row)
        return self._genome(row)
