"""Arguments, launch and sizes of the campaign file as the kernel's spec holds them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evaluator.elements import largest
from evo.campaign_errors import shown
from evo.campaign_model import ArgumentModel, CampaignModel, InitModel
from evo.campaign_paths import existing_file
from evo.campaign_yaml import Document, FieldPath
from evo.nearest import nearest
from genome.sizes import SizeExpr
from genome.spec import DTYPES, ArgSpec, Initialiser, KernelSpec, ProblemSize, Role

_INIT_FIELDS: Mapping[str, tuple[str, ...]] = {
    "uniform": ("low", "high"), "normal": ("mean", "std"), "integers": ("low", "high"), "constant": ("value",),
    "zeros": (), "arange": (), "permutation": (), "file": ("path",), "wide": ("low", "high"),
    "monotone": ("low", "high"), "generator": ("function",),
}  # fmt: skip


MAX_SIZE = 2**40
"""No array of any device has so many elements along an axis."""


def build_args(model: CampaignModel, document: Document) -> tuple[ArgSpec, ...]:
    """The arguments, then the variables of the file that the host fills.

    A scalar without a value takes the size of its own name.

    Raises:
        CampaignError: On an unknown dtype, a name given twice, a scalar that is written, or no output at all.
    """
    sizes = {name for size in model.sizes for name in size if name != "weight"}
    args = tuple(
        _argument(argument, ("arguments", number), sizes, document) for number, argument in enumerate(model.arguments)
    )
    for number, arg in enumerate(args):
        if arg.name in [other.name for other in args[:number]]:
            raise document.error(("arguments", number, "name"), f"'{arg.name}' is given twice; keep one of them")
    if all(arg.role is Role.IN for arg in args):
        raise document.error(("arguments",), "no output: give at least one array `role: out` or `role: inout`")
    for name in model.constants:
        if name in [arg.name for arg in args]:
            raise document.error(("constants", name), f"'{name}' stands in `arguments:` too; keep one of them")
    return args + tuple(
        replace(
            _argument(ArgumentModel(name=name, **dict(constant)), ("constants", name), sizes, document), variable=True
        )
        for name, constant in model.constants.items()
    )


def field_of(spec: KernelSpec, arg: ArgSpec) -> FieldPath:
    """Where an argument stands in the file."""
    return ("constants", arg.name) if arg.variable else ("arguments", spec.args.index(arg))


def _argument(argument: ArgumentModel, where: FieldPath, sizes: set[str], document: Document) -> ArgSpec:
    if argument.dtype not in DTYPES:
        raise document.error((*where, "dtype"), _unknown_dtype(argument.dtype))
    value = argument.value
    if argument.shape is None:
        if argument.role != "in":
            raise document.error(
                (*where, "role"),
                f"a scalar cannot be `{argument.role}`; give '{argument.name}' a `shape:` or `role: in`",
            )
        if value is None and argument.name in sizes:
            value = SizeExpr(argument.name)
        if value is None:
            raise document.error(
                where, f"'{argument.name}' has neither `shape:` (an array) nor `value:` (a scalar); add one of them"
            )
    elif value is not None:
        raise document.error((*where, "value"), "an array takes `init:`, a scalar `value:`; remove one")
    if isinstance(value, float) and "int" in argument.dtype and not value.is_integer():
        raise document.error((*where, "value"), f"'{argument.name}' is {argument.dtype}: expected an integer or an "
                                                f"expression of sizes, got {value:g}")  # fmt: skip
    shape = tuple(argument.shape or ())
    init = _initialiser(argument.init, argument.dtype, (*where, "init"), document) if argument.init else Initialiser()
    return ArgSpec(argument.name, argument.dtype, Role(argument.role), shape, value, init)


def _unknown_dtype(dtype: str) -> str:
    later = ("tf32", "float8", "float128", "complex64", "complex128")
    if dtype.lower() in later or dtype.lower().startswith(("float8", "fp8")):
        return f"'{dtype}' is not supported yet; these are: {', '.join(DTYPES)}"
    return f"unknown dtype '{dtype}'; {nearest(dtype, DTYPES)}"


def _initialiser(init: InitModel, dtype: str, where: FieldPath, document: Document) -> Initialiser:
    allowed = _INIT_FIELDS[init.kind]
    given = init.model_dump(exclude_none=True, exclude_defaults=True, exclude={"kind"})
    for name in given:
        if name not in allowed:
            takes = ", ".join(allowed) or "no further field"
            raise document.error((*where, name), f"`{init.kind}` takes {takes}, not {name}")
    params = tuple((name, float(value)) for name, value in given.items() if name not in ("path", "function"))
    for name, number in params:
        if "float" in dtype and abs(number) > (most := largest(dtype)):
            raise document.error((*where, name), f"expected at most {most:.4g}, the largest {dtype}, got {number:g}")
    if init.low is not None and init.high is not None and init.low >= init.high:
        raise document.error(where, f"expected low < high, got {init.low:g} and {init.high:g}")
    if init.kind == "wide" and min(init.low or 1.0, init.high or 1.0) <= 0:
        raise document.error(where, "`wide` takes magnitudes: expected low and high above 0; signs are random")
    path = ""
    if init.kind == "file":
        if not init.path:
            raise document.error(where, "`file` needs `path:` to a .npy file")
        path = str(existing_file(document, init.path, (*where, "path")))
    if init.kind == "generator":
        path = _generator(init.function, (*where, "function"), document)
    return Initialiser(init.kind, params, path)


def _generator(text: str, where: FieldPath, document: Document) -> str:
    """``file.py:function`` with the file's whole path."""
    file, colon, function = text.rpartition(":")
    if not colon or not function.isidentifier():
        raise document.error(where, f"expected file.py:function, whose function(shape, sizes, seed) returns the array, "
                                    f"got '{text}'")  # fmt: skip
    return f"{existing_file(document, file, where)}:{function}"


def build_sizes(entries: Sequence[Mapping[str, Any]], document: Document, where: FieldPath) -> tuple[ProblemSize, ...]:
    """Problem sizes; ``weight`` is taken out of each mapping.

    Raises:
        CampaignError: If a size is not a positive integer, or entries name different sizes.
    """
    result: list[ProblemSize] = []
    for number, entry in enumerate(entries):
        weight = entry.get("weight", 1)
        if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < math.inf:
            raise document.error((*where, number, "weight"), f"expected a number above 0, got {weight!r}")
        values = {name: value for name, value in entry.items() if name != "weight"}
        for name, value in values.items():
            if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
                raise document.error((*where, number, name), f"expected a positive integer, got {shown(value)}")
            if value >= MAX_SIZE:
                raise document.error((*where, number, name), f"expected an integer below 2**40, got {shown(value)}")
        if result and set(values) != set(result[0].env):
            expected = ", ".join(result[0].env)
            raise document.error((*where, number), f"expected the sizes {expected}, got {', '.join(values) or 'none'}")
        order = result[0].env if result else values
        result.append(ProblemSize(tuple((name, values[name]) for name in order), float(weight)))
    labels = [size.label for size in result]
    for number, label in enumerate(labels):
        if label in labels[:number]:
            raise document.error((*where, number), f"{label} is given twice; keep one of them")
    return tuple(result)
