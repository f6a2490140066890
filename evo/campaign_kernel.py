"""Checks of a campaign against the kernel's source: entry and signature."""

from __future__ import annotations

from collections.abc import Sequence

from evo.campaign_variables import check_variables
from evo.campaign_yaml import Document
from evo.kernel_text import no_kernel
from evo.nearest import nearest
from genome.ir.kernel import Param
from genome.replay import spec_kernel
from genome.source.frontend import entries
from genome.spec import ArgSpec, KernelSpec, Role, dtype_of


def choose_entry(
    entry: str | None,
    source: str,
    path: str,
    document: Document,
    defines: Sequence[tuple[str, str]],
    include_dirs: Sequence[str],
) -> str:
    """The entry that the campaign names, else the only one of the file as the campaign has it preprocessed.

    Raises:
        CampaignError: If it is not there, or not unique.
    """
    names = entries(source, path, defines=defines, include_dirs=include_dirs)
    if not names:
        line, words = no_kernel(source)
        raise document.error(("kernel", "source"), f"{path}:{line}: {words}" if line else f"{path} {words}")
    if entry is None:
        if len(names) > 1:
            raise document.error(("kernel",), f"{path} holds several kernels; add `entry:` ({', '.join(names)})")
        return names[0]
    if entry not in names:
        raise document.error(("kernel", "entry"), f"{path} has no kernel '{entry}'; {nearest(entry, names)}")
    return entry


def check_signature(spec: KernelSpec, document: Document) -> None:
    """Arguments agree with the parameters of the kernel and with the variables that the host fills: names, order,
    types, and who may write.

    Raises:
        CampaignError: At the first that does not.
        SourceError: If the file cannot be read, or the kernel is cut off. A body that cannot be parsed is none.
    """
    kernel = spec_kernel(spec)
    parameters = spec.parameters
    signature = ", ".join(param.name for param in kernel.params)
    for number, param in enumerate(kernel.params):
        if number >= len(parameters):
            raise document.error(("arguments",), f"'{param.name}' is missing; {spec.entry} takes ({signature})")
        arg = parameters[number]
        if arg.name != param.name:
            raise document.error(
                ("arguments", number, "name"),
                f"expected '{param.name}', got '{arg.name}'; {spec.entry} takes ({signature}), in this order",
            )
        _check_argument(arg, param, number, document)
    if len(parameters) > len(kernel.params):
        number = len(kernel.params)
        raise document.error(
            ("arguments", number), f"'{parameters[number].name}' is not a parameter; {spec.entry} takes ({signature})"
        )
    check_variables(spec, kernel, document)


def _check_argument(arg: ArgSpec, param: Param, number: int, document: Document) -> None:
    if param.pointer and arg.is_scalar:
        raise document.error(("arguments", number), f"'{arg.name}' is a pointer in the kernel; give it a `shape:`")
    if not param.pointer and not arg.is_scalar:
        raise document.error(
            ("arguments", number, "shape"), f"'{arg.name}' is passed by value in the kernel; give it a `value:` instead"
        )
    if param.const and arg.role is not Role.IN:
        raise document.error(
            ("arguments", number, "role"), f"'{arg.name}' is const in the kernel: its role is in, not {arg.role}"
        )
    expected = dtype_of(param.ctype)
    if expected and expected != arg.dtype:
        raise document.error(
            ("arguments", number, "dtype"),
            f"expected {expected} ('{arg.name}' is {param.ctype} in the kernel), got {arg.dtype}",
        )
