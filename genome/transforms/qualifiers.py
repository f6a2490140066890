"""Qualifiers, compile options and macros: genes that leave the body as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from genome.analysis.effects import calls_out
from genome.genes import ParamValue, Site
from genome.ir.kernel import Kernel
from genome.ir.stmt import Opaque, flatten, written_names
from genome.transforms.base import ALL_TARGETS, Context, Params, Phase, Refusal
from genome.variant import Target


class Restrict:
    """``const float* a, float* c`` -> ``const float* __restrict__ a, float* __restrict__ c``.

    Legal where the campaign grants that arguments do not overlap. Arguments that are never written become ``const``
    (on NVIDIA GPUs their loads may then take the read-only path). No parameters.
    """

    name = "restrict"
    phase = Phase.LAUNCH
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """All pointer arguments together."""
        open_ = any(param.pointer and not param.restrict for param in kernel.params)
        return (Site("arguments", "arguments"),) if open_ else ()

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """Needs ``assume.no_alias``."""
        if not context.assumptions.no_alias:
            return Refusal("the arguments may overlap", "assume.no_alias")
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Sets the qualifiers."""
        bodies = kernel.whole
        written = set(written_names(bodies))
        hidden = any(isinstance(stmt, Opaque) for stmt in flatten(bodies)) or _calls_with_pointers(kernel)
        return replace(
            kernel,
            params=tuple(
                replace(p, restrict=True, const=p.const or not (hidden or p.name in written)) if p.pointer else p
                for p in kernel.params
            ),
        )

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return "the compiler is told that arguments do not overlap (restrict)"


def _calls_with_pointers(kernel: Kernel) -> bool:
    """True if an atomic or a helper may write through a pointer: then nothing is made const."""
    return calls_out(kernel.whole)


class FastMath:
    """Compiles with fast-math: approximate division, square roots and functions, flushed denormals, reassociation.

    Legal where the campaign grants it; the verification still holds the result to the tolerance. No parameters.
    """

    name = "fast_math"
    phase = Phase.LAUNCH
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """The whole kernel."""
        return (Site("options", "options"),)

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """No parameters."""
        return {}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """Needs ``assume.fast_math``."""
        if not context.assumptions.fast_math:
            return Refusal("fast-math changes results in the last digits", "assume.fast_math")
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Adds the option."""
        return replace(kernel, options=tuple(dict.fromkeys((*kernel.options, "fast-math"))))

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return "compiled with fast-math"


class LaunchBounds:
    """``__global__ void f`` -> ``__global__ void __launch_bounds__(threads, blocks) f``.

    Tells the compiler the block size, so that registers are spent on it. Parameters: ``blocks`` wanted on one
    multiprocessor, 1 to 8. CUDA only.
    """

    name = "launch_bounds"
    phase = Phase.LAUNCH
    targets = frozenset({Target.CUDA})

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """The whole kernel, once its block is known."""
        return (Site("launch", "launch"),) if kernel.threads else ()

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """Blocks a multiprocessor."""
        return {"blocks": (1, 2, 3, 4, 6, 8)}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """The threads of all those blocks must fit on a multiprocessor (2048)."""
        blocks = params.get("blocks")
        if not isinstance(blocks, int) or blocks < 1 or blocks * _threads(kernel) > 2048:
            return Refusal(f"{blocks} blocks of {_threads(kernel)} threads do not fit on a multiprocessor")
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Sets the qualifier."""
        return replace(kernel, launch_bounds=f"{_threads(kernel)}, {params['blocks']}")

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"registers are limited so that {params['blocks']} blocks fit on a multiprocessor"


def _threads(kernel: Kernel) -> int:
    total = 1
    for _, extent in kernel.threads:
        total *= extent
    return total


class Macro:
    """A tunable macro of the user's own takes another value. Parameters: ``value``, its text.

    Applied before parsing (``genome.replay`` defines it); here it is only offered and validated.
    """

    name = "macro"
    phase = Phase.NORMALISE
    targets = ALL_TARGETS

    def sites(self, kernel: Kernel) -> tuple[Site, ...]:
        """One a tunable of the campaign."""
        return tuple(Site(name, f"macro[{number}]") for number, (name, _) in enumerate(kernel.macros))

    def domain(self, kernel: Kernel, site: Site, context: Context) -> Mapping[str, tuple[ParamValue, ...]]:
        """The campaign's values, the current one left out."""
        current = dict(kernel.macros).get(site.label)
        for tunable in context.spec.tunables:
            if tunable.name == site.label:
                return {"value": tuple(value for value in tunable.values if value != current)}
        return {"value": ()}

    def check(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Refusal | None:
        """The value must be one of the campaign's."""
        known = {tunable.name: tunable.values for tunable in context.spec.tunables}
        if str(params.get("value")) not in known.get(site.label, ()):
            return Refusal(f"{params.get('value')} is not a value of {site.label} in the campaign")
        return None

    def apply(self, kernel: Kernel, site: Site, params: Params, context: Context) -> Kernel:
        """Nothing is left to do: the kernel was parsed under the value."""
        return kernel

    def describe(self, site: Site, params: Params) -> str:
        """In words."""
        return f"{site.label} = {params['value']}"
