"""Arguments, launch and sizes of the campaign file as the kernel's spec holds them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from evo.campaign_errors import shown
from evo.campaign_model import AXES, ArgumentModel, CampaignModel, InitModel
from evo.campaign_paths import existing_file
from evo.campaign_yaml import Document, FieldPath
from evo.nearest import nearest
from genome.sizes import ExpressionError, SizeExpr
from genome.spec import DTYPES, ArgSpec, Initialiser, KernelSpec, LaunchSpec, ProblemSize, Role

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
    init = _initialiser(argument.init, (*where, "init"), document) if argument.init else Initialiser()
    return ArgSpec(argument.name, argument.dtype, Role(argument.role), shape, value, init)


def _unknown_dtype(dtype: str) -> str:
    later = ("tf32", "float8", "float128", "complex64", "complex128")
    if dtype.lower() in later or dtype.lower().startswith(("float8", "fp8")):
        return f"'{dtype}' is not supported yet; these are: {', '.join(DTYPES)}"
    return f"unknown dtype '{dtype}'; {nearest(dtype, DTYPES)}"


def _initialiser(init: InitModel, where: FieldPath, document: Document) -> Initialiser:
    allowed = _INIT_FIELDS[init.kind]
    given = init.model_dump(exclude_none=True, exclude_defaults=True, exclude={"kind"})
    for name in given:
        if name not in allowed:
            takes = ", ".join(allowed) or "no further field"
            raise document.error((*where, name), f"`{init.kind}` takes {takes}, not {name}")
    params = tuple((name, float(value)) for name, value in given.items() if name not in ("path", "function"))
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


def build_launch(model: CampaignModel, document: Document) -> LaunchSpec:
    """The launch.

    Raises:
        CampaignError: Unless exactly one of domain and grid is given.
    """
    launch = model.launch
    if (launch.domain is None) == (launch.grid is None):
        raise document.error(
            ("launch",), "expected exactly one of `domain:` (iterations per axis) and `grid:` (blocks per axis)"
        )
    sizes = {name for size in model.sizes for name in size}
    for axis, side in enumerate(launch.block):
        _check_side(side, axis_path(document, "block", axis), model.tunables, sizes, document)
    for axis, extent in enumerate(launch.grid or ()):
        _check_tuned(extent, axis_path(document, "grid", axis), model.tunables, document)
    _check_tuned(launch.shared_bytes, ("launch", "shared_bytes"), model.tunables, document)
    defaults = [(name, values[0]) for name, values in model.tunables.items()]
    exprs = tuple(launch.block) if any(side.names for side in launch.block) else ()
    block = (*(side.evaluate(_numbers(defaults)) for side in launch.block), 1, 1)[:3]
    return LaunchSpec(
        block=(block[0], block[1], block[2]),
        domain=tuple(launch.domain or ()),
        grid=tuple(launch.grid or ()),
        shared_bytes=launch.shared_bytes,
        block_exprs=exprs,
    )


def _numbers(macros: Iterable[tuple[str, str]]) -> dict[str, int]:
    return {name: int(value) for name, value in macros if value.lstrip("-").isdigit()}


def _check_side(
    side: SizeExpr, where: FieldPath, tunables: Mapping[str, Sequence[str]], sizes: set[str], document: Document
) -> None:
    """Threads along one side of a block: positive under every value of the tunables it uses."""
    for name in side.names:
        if name in sizes and name not in tunables:
            raise document.error(
                where, f"a block is the same at every size: it cannot depend on '{name}'; use a tunable"
            )
        if name not in tunables:
            raise document.error(
                where,
                f"expected an integer or an expression of tunables; '{name}' is no tunable; {nearest(name, tunables)}",
            )
    _check_tuned(side, where, tunables, document)
    used = {name: tunables[name] for name in side.names}
    for combination in product(*used.values()):
        values = _numbers(zip(used, combination, strict=True))
        try:
            threads = side.evaluate(values)
        except ExpressionError as error:
            raise document.error(where, str(error)) from None
        if threads < 1:
            at = "".join(f" with {name}={value}" for name, value in values.items())
            raise document.error(where, f"expected a number of at least 1, got {threads}{at}")


def _check_tuned(
    expression: SizeExpr, where: FieldPath, tunables: Mapping[str, Sequence[str]], document: Document
) -> None:
    """Tunables of the launch are numbers."""
    for name in expression.names:
        for value in tunables.get(name, ()):
            if not value.lstrip("-").isdigit():
                raise document.error(where, f"'{name}' can be '{value}', which is no integer: the launch cannot use it")


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


def axis_path(document: Document, field: str, number: int) -> FieldPath:
    """Where the extent along x, y or z stands in the file: ``launch.domain.y`` or ``launch.domain[1]``."""
    named: FieldPath = ("launch", field, AXES[number])
    return named if named in document.lines else ("launch", field, number)
