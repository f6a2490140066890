"""Checks of a campaign against the kernel's source: entry and signature."""

from __future__ import annotations

from collections.abc import Sequence

from evo.campaign_errors import nearest
from evo.campaign_yaml import Document
from genome.ir.kernel import Param
from genome.source.frontend import entries, parse_kernel
from genome.spec import DTYPES, ArgSpec, KernelSpec, Role

_DTYPE_OF = {ctype: dtype for dtype, (ctype, _) in DTYPES.items()} | {
    "char": "int8", "unsigned": "uint32", "short int": "int16", "long long int": "int64", "long": "int64",
    "unsigned long": "uint64", "size_t": "uint64", "ptrdiff_t": "int64", "uint": "uint32", "bool": "uint8",
    "int8_t": "int8", "uint8_t": "uint8", "int16_t": "int16", "uint16_t": "uint16", "int32_t": "int32",
    "uint32_t": "uint32", "int64_t": "int64", "uint64_t": "uint64", "__half": "float16", "uchar": "uint8",
}  # fmt: skip


def dtype_of(ctype: str) -> str | None:
    """Name of the dtype of a C type (vectors by their element), or None for types that have none."""
    if ctype in _DTYPE_OF:
        return _DTYPE_OF[ctype]
    return _DTYPE_OF.get(ctype[:-1]) if ctype[-1:] in "234" else None


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
        raise document.error(("kernel", "source"), f"{path} holds no __global__ function")
    if entry is None:
        if len(names) > 1:
            raise document.error(("kernel",), f"{path} holds several kernels; add `entry:` ({', '.join(names)})")
        return names[0]
    if entry not in names:
        raise document.error(("kernel", "entry"), f"{path} has no kernel '{entry}'; {nearest(entry, names)}")
    return entry


def check_signature(spec: KernelSpec, document: Document) -> None:
    """Arguments agree with the parameters of the kernel: names, order, types, and who may write.

    Raises:
        CampaignError: At the first that does not.
        SourceError: If the front end cannot read the kernel.
    """
    tunable = tuple((macro.name, macro.values[0]) for macro in spec.tunables)
    kernel = parse_kernel(
        spec.source, spec.entry, path=spec.path, template_args=spec.template_args, defines=(*spec.defines, *tunable),
        include_dirs=spec.include_dirs,
    )  # fmt: skip
    signature = ", ".join(param.name for param in kernel.params)
    for number, param in enumerate(kernel.params):
        if number >= len(spec.args):
            raise document.error(("arguments",), f"'{param.name}' is missing; {spec.entry} takes ({signature})")
        arg = spec.args[number]
        if arg.name != param.name:
            raise document.error(
                ("arguments", number, "name"),
                f"expected '{param.name}', got '{arg.name}'; {spec.entry} takes ({signature}), in this order",
            )
        _check_argument(arg, param, number, document)
    if len(spec.args) > len(kernel.params):
        number = len(kernel.params)
        raise document.error(
            ("arguments", number), f"'{spec.args[number].name}' is not a parameter; {spec.entry} takes ({signature})"
        )


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
