"""Statement scheduling: the loads of an iteration stand in front of its arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from genome.analysis.effects import element_type, loop_nest
from genome.analysis.proof import Proof
from genome.analysis.read_only import steady_read
from genome.genes import ParamValue, Site
from genome.ir.expr import Index, Var, names
from genome.ir.kernel import Kernel
from genome.ir.stmt import Decl, Loop, Stmt
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.transforms.bodies import refused, replace_loop, sites_of_loops
from genome.transforms.hoist_loads import certain_reads, changing, movable_reads, with_value
from genome.transforms.nests import NameSource

_MOST = 16  # registers that loads are kept in


class EarlyLoads:
    """``for k { y[k] = f(a[k]); z[k] = g(b[k]); }`` -> ``for k { u = a[k]; v = b[k]; y[k] = f(u); z[k] = g(v); }``.

    All loads are then under way at once; a compiler keeps a load behind every store that may overlap it. Legal for
    elements that the iteration reads for certain, at addresses that it does not compute first, of arrays that the
    kernel only reads: such loads pass barriers, too. No parameters.
    Source: Volkov, "Understanding latency hiding on GPUs", 2016 (memory-level parallelism of one thread).
    """

    name = "early_loads"
    phase = Phase.REGISTERS
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One a loop with loads behind its first statement."""
        return sites_of_loops(kernel, lambda loop: bool(_late(kernel, loop)))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """Refuses where no load may go further up."""
        found = loop_nest(kernel.body, site.label)
        late = _late(kernel, found[1]) if found is not None else ()
        if found is None or not late:
            return Refusal(f"no load of the loop over {site.label} stands behind something else")
        doubts = [_doubt(kernel, found[1], read, context) for read in late]
        return None if None in doubts else refused(doubts[0])

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Loads into privates at the head of the body."""
        source = NameSource(kernel)

        def scheduled(loop: Loop) -> tuple[Loop]:
            loads: list[Stmt] = []
            body = loop.body
            for read in _candidates(kernel, loop):
                if _doubt(kernel, loop, read, context) is None and len(loads) < _MOST:
                    name = source.fresh(f"{read.array}_early")
                    loads.append(Decl(name, element_type(kernel, read.array) or "float", init=read))
                    body = with_value(body, read, Var(name))
            return (replace(loop, body=(*loads, *body)),)

        return replace_loop(kernel, site.label, scheduled)

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"each iteration of the loop over {site.label} starts all its loads before it computes"


def _candidates(kernel: Kernel, loop: Loop) -> tuple[Index, ...]:
    """Elements of arguments that an iteration reads for certain and whose addresses are known at its start."""
    moving = changing(loop.body)
    found = movable_reads(kernel, loop.body, certain_reads(loop.body))
    return tuple(read for read in found if moving.isdisjoint(names(read)))


def _late(kernel: Kernel, loop: Loop) -> tuple[Index, ...]:
    """Those of them that are not read by the first statement."""
    first = set(certain_reads(loop.body[:1]))
    return tuple(read for read in _candidates(kernel, loop) if read not in first)


def _doubt(kernel: Kernel, loop: Loop, read: Index, context: Context) -> Proof | None:
    return steady_read(kernel, read, changing(loop.body), context.assumptions.no_alias)
