"""The kernels of the warm-start bench: the examples, and ten variants of them (``warm_start_variants.yaml``)."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from gpu_table import TOLERANCES
from running import ROOT

VARIANTS = Path(__file__).with_name("warm_start_variants.yaml")

FAMILIES = {
    "product": ("matmul", "gemv"),
    "reduction": ("sum", "softmax", "layernorm"),
    "count": ("histogram",),
    "map": ("gelu", "vector_add"),
    "neighbours": ("stencil", "conv3x3"),
    "move": ("transpose",),
    "pairs": ("nbody",),
}
"""Examples that do the same kind of work; a variant belongs to the family of its example."""

SMALL: dict[str, dict[str, int]] = {"matmul": {"M": 256, "N": 256, "K": 256}}
"""Sizes on a CPU where those of the example's own campaign take long."""


LARGE: dict[str, dict[str, int]] = {
    "sum": {"n": 1 << 24},
    "matmul": {"M": 2048, "N": 2048, "K": 2048},
    "softmax": {"rows": 4096, "cols": 4096},
    "layernorm": {"rows": 4096, "cols": 4096},
    "histogram": {"n": 1 << 24},
    "transpose": {"W": 4096, "H": 4096},
    "gelu": {"n": 1 << 24},
    "conv3x3": {"IC": 32, "OC": 32, "H": 256, "W": 256},
    "gemv": {"M": 4096, "N": 4096},
    "vector_add": {"n": 1 << 24},
    "stencil": {"W": 4096, "H": 4096},
    "nbody": {"n": 16384},
}
"""Sizes on a GPU: large enough to keep it busy, small enough for a campaign to start within seconds."""


@dataclass(frozen=True)
class Kernel:
    """A kernel of the bench.

    Attributes:
        name: Of the example or the variant.
        example: The example that it is, or is a variant of.
        campaign: Its campaign file.
        home: The tuned size.
        other: Another size: three quarters along every axis that has 64 or more.
    """

    name: str
    example: str
    campaign: Path
    home: dict[str, int]

    @property
    def family(self) -> str:
        """The kind of work."""
        return next(name for name, members in FAMILIES.items() if self.example in members)

    @property
    def is_variant(self) -> bool:
        """True if it is no example itself."""
        return self.name != self.example

    @property
    def other(self) -> dict[str, int]:
        """See the class."""
        return {name: value * 3 // 4 if value >= 64 else value for name, value in self.home.items()}


def kernels(folder: Path, large: bool) -> tuple[Kernel, ...]:
    """Writes a folder for each kernel, and returns them: examples first.

    Args:
        folder: Where their campaigns go; what is there is written again.
        large: Sizes for a GPU.
    """
    examples = [name for members in FAMILIES.values() for name in members]
    made = [_kernel(folder, {"name": name, "of": name}, large) for name in examples]
    made += [_kernel(folder, variant, large) for variant in yaml.safe_load(VARIANTS.read_text())]
    return tuple(made)


def _kernel(folder: Path, variant: dict[str, Any], large: bool) -> Kernel:
    name, example = variant["name"], variant["of"]
    source, target = ROOT / "examples" / example, folder / name
    shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("results", "__pycache__"))
    fields = yaml.safe_load((target / "campaign.yaml").read_text())
    fields["name"] = name
    if "kernel" in variant:
        (target / "kernel.cu").write_text(variant["kernel"])
    if "entry" in variant:
        fields["kernel"]["entry"] = variant["entry"]
    if "arguments" in variant:
        fields["arguments"] = variant["arguments"]
    if "reference" in variant:
        (target / "reference.py").write_text(variant["reference"])
        fields["reference"] = "reference.py:reference"
    if large and example in TOLERANCES:
        fields["tolerance"] = TOLERANCES[example]
    (target / "campaign.yaml").write_text(yaml.safe_dump(fields, sort_keys=False))
    own = {axis: value for axis, value in fields["sizes"][0].items() if axis != "weight"}
    return Kernel(name, example, target / "campaign.yaml", LARGE[example] if large else SMALL.get(example, own))
