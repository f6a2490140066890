"""Kernels with the genes that are tried on them, as files: what golden and execution tests of single steps share.

Above each kernel of ``tests/golden/transforms/*.cu`` stand lines of this kind::

    // kernel rows: x:float32:in:n*m, y:float32:out:n, n:int32=n, m:int32=m
    // domain n block 64 sizes n=67,m=5 | n=3,m=1 | n=128,m=33
    // genes strip@k(factor=8), unroll@k_inner(factor=0)
    // grants fast_math
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from genome.genes import Gene, Genome, Site
from genome.spec import KernelSpec
from tests.property.test_transforms_execute import ROOT, Case, spec_of

FOLDER = ROOT / "tests" / "golden" / "transforms"
FILES = sorted(path for path in FOLDER.glob("*.cu") if not path.name.endswith(".out.cu"))
CUDA_ONLY = frozenset({"async_copy", "intrinsic", "warp_aggregate"})
"""Files of transforms that OpenCL C has no words for."""
_HEAD = re.compile(
    r"// kernel (?P<entry>\w+): (?P<args>.*)\n// domain (?P<domain>.*) block (?P<block>.*) sizes (?P<sizes>.*)\n"
    r"// genes (?P<genes>.*)\n(?:// grants (?P<grants>.*)\n)?"
)
_GENE = re.compile(r"(\w+)@([\w.]+)(?:\(([^)]*)\))?")


@dataclass(frozen=True)
class Step:
    """A kernel and the genome that is tried on it."""

    case: Case
    genome: Genome
    grants: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{Path(self.case.file).stem}-{self.case.entry}"

    @property
    def cuda_only(self) -> bool:
        return Path(self.case.file).stem in CUDA_ONLY

    @property
    def spec(self) -> KernelSpec:
        spec = spec_of(self.case)
        return replace(spec, assumptions=replace(spec.assumptions, **dict.fromkeys(self.grants, True)))


def steps_of(path: Path) -> tuple[Step, ...]:
    """The steps of a file, in its order."""
    return tuple(_step(path, found) for found in _HEAD.finditer(path.read_text()))


def _step(path: Path, found: re.Match[str]) -> Step:
    block = [int(part) for part in found["block"].split(",")]
    case = Case(
        file=str(path.relative_to(ROOT)),
        entry=found["entry"],
        args=tuple(part.strip() for part in found["args"].split(", ")),
        domain=tuple(found["domain"].split(", ")),
        block=(block[0], *[*block[1:], 1, 1][:2]),  # type: ignore[arg-type]
        sizes=tuple(part.strip() for part in found["sizes"].split("|")),
    )
    genes = tuple(_gene(*parts) for parts in _GENE.findall(found["genes"]))
    return Step(case, Genome(genes), tuple((found["grants"] or "").split()))


def _gene(transform: str, label: str, params: str) -> Gene:
    values = dict(part.strip().split("=") for part in params.split(",") if part)
    return Gene.of(transform, Site(label, label), **{k: int(v) if v.isdigit() else v for k, v in values.items()})
