"""Variants at the end of random walks over the moves of an example."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import yaml

from evo.campaign import Campaign, load_campaign
from genome.genes import Gene, Genome
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.moves import moves
from genome.spec import KernelSpec
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant

_FOLDER = Path(__file__).parents[2] / "examples"


def _names(path: Path) -> list[str]:
    """The example, or one name for each of its entries: ``dense:product``."""
    entries = yaml.safe_load(path.read_text()).get("entries", [])
    return [f"{path.parent.name}:{part['kernel']['entry']}" for part in entries] or [path.parent.name]


EXAMPLES = sorted(name for path in _FOLDER.glob("*/campaign.yaml") for name in _names(path))


def example(name: str) -> Campaign:
    """The campaign of an example, or of one of its entries."""
    folder, _, entry = name.partition(":")
    return load_campaign(_FOLDER / folder / "campaign.yaml", entry=entry)


def walk(
    spec: KernelSpec, seed: int, steps: int, limits: DeviceLimits, target: Target = Target.CUDA
) -> Variant:  # fmt: skip
    """A variant after some random moves; the baseline after none."""
    rng = np.random.default_rng(seed)
    genome, variant = Genome(), lower(spec, Genome(), BUILTIN, target, limits)
    for _ in range(steps):
        found = moves(spec, genome, BUILTIN, target, limits)
        if not found:
            break
        move = found[rng.integers(len(found))]
        params = {name: values[rng.integers(len(values))] for name, values in move.domain.items()}
        genes = tuple(gene for gene in genome.genes if gene != move.current)
        longer = Genome((*genes, Gene.of(move.transform.name, move.site, **params)))
        printed = lower(spec, longer, BUILTIN, target, limits)
        if isinstance(printed, Variant):
            genome, variant = printed.genome, printed
    assert isinstance(variant, Variant)
    return variant
