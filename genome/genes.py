"""Genes and genomes: frozen, with a canonical JSON form and a digest that is stable under a round trip."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ParamValue = int | str | bool


@dataclass(frozen=True, order=True)
class Site:
    """Where a gene acts. It is found by ``label`` first (a name in this kernel), else by ``role`` (a name that means
    the same in another kernel): ``Site("k", "reduction[0]")``, ``Site("col", "parallel.x")``.
    """

    label: str
    role: str = ""


@dataclass(frozen=True)
class Gene:
    """One transform at one site with parameters; ``params`` is sorted by name."""

    transform: str
    site: Site
    params: tuple[tuple[str, ParamValue], ...] = ()

    @staticmethod
    def of(transform: str, site: Site, **params: ParamValue) -> Gene:
        """A gene with its parameters in canonical order."""
        return Gene(transform, site, tuple(sorted(params.items())))

    @property
    def values(self) -> dict[str, ParamValue]:
        """Parameters by name."""
        return dict(self.params)

    @property
    def key(self) -> tuple[str, str]:
        """(transform, site label): what crossover exchanges genes by."""
        return (self.transform, self.site.label)

    def to_json(self) -> dict[str, Any]:
        """Plain data: ``{"transform", "site": {"label", "role"}, "params"}``."""
        return {"transform": self.transform, "site": {"label": self.site.label, "role": self.site.role},
                "params": self.values}  # fmt: skip

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Gene:
        """The inverse of ``to_json``.

        Raises:
            ValueError: If a field is missing or has another type.
        """
        try:
            site, params = data["site"], data["params"]
            values = {str(name): value for name, value in params.items()}
            if not all(isinstance(value, (int, str)) for value in values.values()):
                raise ValueError(f"parameters must be integers, booleans or strings: {values}")
            return Gene.of(str(data["transform"]), Site(str(site["label"]), str(site.get("role", ""))), **values)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"not a gene: {data!r}") from error


@dataclass(frozen=True)
class Genome:
    """Genes in the order of the proposal. Lowering runs them by phase; inside a phase the order is meaningful."""

    genes: tuple[Gene, ...] = ()

    def canonical(self) -> str:
        """JSON text without spaces, keys sorted: equal genomes have equal text."""
        return json.dumps([gene.to_json() for gene in self.genes], sort_keys=True, separators=(",", ":"))

    def digest(self) -> str:
        """First 16 hex digits of the SHA-256 of the canonical text."""
        return hashlib.sha256(self.canonical().encode()).hexdigest()[:16]

    def to_json(self) -> list[dict[str, Any]]:
        """Plain data, a list of genes."""
        return [gene.to_json() for gene in self.genes]

    @staticmethod
    def from_json(data: list[Mapping[str, Any]]) -> Genome:
        """The inverse of ``to_json``; raises ValueError on malformed data."""
        return Genome(tuple(Gene.from_json(item) for item in data))

    def find(self, transform: str, label: str | None = None) -> Gene | None:
        """The first gene of that transform (at that site label), or None."""
        return next((g for g in self.genes if g.transform == transform and label in (None, g.site.label)), None)

    def with_gene(self, gene: Gene) -> Genome:
        """The genome with the gene of the same transform and site replaced, else with it appended."""
        if any(old.key == gene.key for old in self.genes):
            return Genome(tuple(gene if old.key == gene.key else old for old in self.genes))
        return Genome((*self.genes, gene))

    def without(self, gene: Gene) -> Genome:
        """The genome without this gene."""
        return Genome(tuple(old for old in self.genes if old != gene))
