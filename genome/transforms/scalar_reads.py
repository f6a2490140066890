"""Values that several instances share are loaded once into registers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from genome.analysis.dependence import nest
from genome.analysis.effects import element_type, shared_arrays
from genome.genes import ParamValue, Site
from genome.ir.expr import Index, names
from genome.ir.kernel import Kernel
from genome.ir.stmt import Assign, Body, Loop
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.nests import NameSource, hoist_reads, map_nests, nests, sure_reads


class ScalarReads:
    """``for i for j s[i][j] += A[i] * B[j]`` -> ``for i a[i] = A[i]; for i for j s[i][j] += a[i] * B[j]``.

    Applies to memory and shared reads that do not depend on all instance loops of a register tile. Legal because the
    instances were threads: none of them may see another one's store. No parameters.
    """

    name = "scalar_reads"
    phase = Phase.REGISTERS
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One an array with such reads."""
        arrays = dict.fromkeys(read.array for loops, stmt in nests(kernel.body)
                               for read in _shared_reads(kernel, loops, stmt))  # fmt: skip
        return tuple(Site(array, f"read.shared[{number}]") for number, array in enumerate(arrays))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """Needs a register tile that reads the array in fewer loops than it has."""
        found = any(read.array == site.label for loops, stmt in nests(kernel.body)
                    for read in _shared_reads(kernel, loops, stmt))  # fmt: skip
        return None if found else Refusal(f"no value of {site.label} is shared by instances of a thread")

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Hoists the reads in front of their nests."""
        source = NameSource(kernel)
        ctype = element_type(kernel, site.label) or "float"

        def hoist(loops: tuple[Loop, ...], stmt: Assign) -> Body | None:
            reads = [read for read in _shared_reads(kernel, loops, stmt) if read.array == site.label]
            if not reads:
                return None
            before, inner = hoist_reads(loops, stmt, reads, ctype, source.fresh)
            return (*before, nest(loops, inner))

        return replace(kernel, body=map_nests(kernel.body, hoist))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"values of {site.label} that several elements share are loaded once"


def _shared_reads(kernel: Kernel, loops: tuple[Loop, ...], stmt: Assign) -> list[Index]:
    memory = {param.name for param in kernel.params if param.pointer} | set(shared_arrays(kernel))
    variables = {loop.var for loop in loops}
    return [read for read in sure_reads(stmt.value)
            if read.array in memory and len(variables & set(names(read))) < len(variables)]  # fmt: skip
