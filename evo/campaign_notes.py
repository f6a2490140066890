"""What a campaign allows and should not: remarks that stand in the report beside the result."""

from __future__ import annotations

from evo.kernel_remarks import kernel_remarks
from genome.spec import KernelSpec, Role

LOOSE = 0.1
"""A relative error, or an absolute one of values around one, above which a comparison says little."""


def campaign_notes(spec: KernelSpec) -> tuple[str, ...]:
    """Remarks on the kernel, and on tolerances and inputs with which a wrong one could pass for a right one."""
    return (*_loose(spec), *_empty(spec), *_fixed(spec), *kernel_remarks(spec))


def _loose(spec: KernelSpec) -> list[str]:
    if not any(arg.role is not Role.IN and "float" in arg.dtype for arg in spec.args):
        return []  # integers are exact, whatever the campaign says
    found = []
    for name, value in (("rtol", spec.tolerance.rtol), ("norm", spec.tolerance.norm)):
        if value is not None and value > LOOSE:
            found.append(f"tolerance.{name} is {value:g}: results that are off by {value:.0%} count as right")
    atol = spec.tolerance.atol
    if atol is not None and atol > LOOSE:
        found.append(
            f"tolerance.atol is {atol:g}: results that are off by as much count as right, however small they are"
        )
    return found


def _fixed(spec: KernelSpec) -> list[str]:
    if spec.check_sizes:
        return []
    return [
        f"the kernel is compiled for {spec.sizes[0].label}: it was verified with other inputs there, at no other size"
    ]


def _empty(spec: KernelSpec) -> list[str]:
    """All inputs are zeros: most kernels then give zeros, and so do most wrong ones."""
    inputs = [arg for arg in spec.args if not arg.is_scalar and arg.role is not Role.OUT]
    zeros = [
        arg.name
        for arg in inputs
        if arg.init.kind == "zeros" or (arg.init.kind == "constant" and dict(arg.init.params).get("value", 0.0) == 0.0)
    ]
    if inputs and len(zeros) == len(inputs):
        return [f"every input ({', '.join(zeros)}) is filled with zeros: a wrong kernel may give the right result"]
    return []
