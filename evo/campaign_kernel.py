"""Checks of a campaign against the kernel's source: entry, signature, and the genes that a person steers."""

from __future__ import annotations

from evo.campaign_errors import nearest
from evo.campaign_yaml import Document, FieldPath
from genome.ir.kernel import Param
from genome.source.frontend import entries, parse_kernel
from genome.source.lines import extent
from genome.spec import DTYPES, ArgSpec, KernelSpec, Role
from genome.steering import line_range
from genome.transforms.builtin import BUILTIN

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


def choose_entry(entry: str | None, source: str, path: str, document: Document) -> str:
    """The entry that the campaign names, else the only one of the file.

    Raises:
        CampaignError: If it is not there, or not unique.
    """
    names = entries(source, path)
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
    kernel = parse_kernel(
        spec.source, spec.entry, path=spec.path, template_args=spec.template_args, defines=spec.defines,
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


def check_steering(spec: KernelSpec, document: Document) -> None:
    """Vetoes and pins name transforms that exist.

    Raises:
        CampaignError: If one does not.
    """
    known = sorted(transform.name for transform in BUILTIN)
    for field, names in (("forbid", spec.steering.forbid), ("focus", spec.steering.focus)):
        for number, text in enumerate(names):
            name, _, place = text.partition("@")
            where = ("transforms", field, number)
            if name and name not in known:
                raise document.error(where, f"unknown transform '{name}'; {nearest(name, known)}")
            _check_lines(spec, place, where, document)
    for number, pin in enumerate(document.data.get("transforms", {}).get("pin", [])):
        if pin["transform"] not in known:
            raise document.error(
                ("transforms", "pin", number, "transform"),
                f"unknown transform '{pin['transform']}'; {nearest(pin['transform'], known)}",
            )


def _check_lines(spec: KernelSpec, place: str, where: FieldPath, document: Document) -> None:
    """A line range lies in the kernel."""
    lines = line_range(place)
    if lines is None:
        return
    if lines[0] > lines[1]:
        raise document.error(where, f"expected the first line before the last, got '{place}'")
    first, last = extent(spec)
    if lines[1] < first or lines[0] > last:
        raise document.error(where, f"kernel '{spec.entry}' stands on lines {first}-{last} of {spec.path}, not {place}")
