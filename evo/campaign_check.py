"""Checks across the fields of a campaign that need no source: shapes, launch, and whether promises hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import product

from evo.campaign_arguments import field_of
from evo.campaign_launch import axis_path
from evo.campaign_model import AXES
from evo.campaign_yaml import Document, FieldPath
from evo.nearest import nearest
from genome.limits import DeviceLimits
from genome.sizes import ExpressionError, SizeExpr
from genome.spec import DTYPES, KernelSpec, LaunchSpec, ProblemSize

MAX_SHARED_BYTES = 227 << 10
"""The most dynamic shared memory that a block can get on any supported GPU (sm_90)."""


def launches(spec: KernelSpec) -> tuple[LaunchSpec, ...]:
    """The launch under every combination of the tunables that it uses, the default one first."""
    used = {name for extent in (*spec.launch.grid, spec.launch.shared_bytes) for name in extent.names}
    defaults = [(tunable.name, tunable.values[0]) for tunable in spec.tunables]
    choices = [[(t.name, value) for value in t.values] for t in spec.tunables if t.name in used]
    return tuple(spec.launch.at([*defaults, *combination]) for combination in product(*choices))


def check_shapes(spec: KernelSpec, document: Document) -> None:
    """Every expression uses known sizes only, and extents are positive at every size.

    Raises:
        CampaignError: At the first one that does not.
    """
    for arg in spec.args:
        own = field_of(spec, arg)
        for axis, extent in enumerate(arg.shape):
            shape: FieldPath = (*own, "shape", axis)
            _positive(extent, shape if shape in document.lines else shape[:-1], spec.sizes, document)
        if isinstance(arg.value, SizeExpr):
            where: FieldPath = (*own, "value")
            for size, value in _evaluate(arg.value, where, spec.sizes, document):
                _check_range(arg.name, arg.dtype, value, f" at {size.label}", where, document)
        elif arg.is_scalar and isinstance(arg.value, float):
            _check_range(arg.name, arg.dtype, arg.value, "", (*own, "value"), document)
    for field, extents in (("domain", spec.launch.domain), ("grid", spec.launch.grid)):
        for axis, extent in enumerate(extents):
            _positive(extent, axis_path(document, field, axis), spec.sizes, document)
    _evaluate(spec.launch.shared_bytes, ("launch", "shared_bytes"), spec.sizes, document)


def _check_range(name: str, dtype: str, value: float, where_from: str, where: FieldPath, document: Document) -> None:
    """A value of an integer scalar fits its type."""
    if "int" not in dtype:
        return
    bits = 8 * DTYPES[dtype][1]
    low, high = (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if not low <= value <= high:
        raise document.error(where, f"'{name}' is {dtype}: expected {low} to {high}, got {value:g}{where_from}")


def check_launch(spec: KernelSpec, document: Document) -> None:
    """Block, grid and shared memory are within what the campaign allows, else within what any device has.

    Raises:
        CampaignError: With the limit that is passed.
    """
    limits = spec.limits or DeviceLimits()
    block, where = spec.launch.block, ("launch", "block")
    _check_sized_block(spec, document)
    shown = "x".join(map(str, block))
    if math.prod(block) > limits.max_threads:
        raise document.error(
            where, f"a block of {shown} has {math.prod(block)} threads, over the limit of {limits.max_threads}"
        )
    for name, threads, most in zip(AXES, block, limits.max_block, strict=True):
        if threads > most:
            raise document.error(where, f"{threads} threads along {name} are over the limit of {most}")
    most_shared = min(MAX_SHARED_BYTES, limits.shared_bytes if spec.limits else MAX_SHARED_BYTES)
    for size in (*spec.sizes, *spec.check_sizes):
        shared = spec.launch.shared_bytes.evaluate(size.env)
        if not 0 <= shared <= most_shared:
            raise document.error(
                ("launch", "shared_bytes"), f"expected 0 to {most_shared} bytes, got {shared} at {size.label}"
            )
        _check_grid(spec, size, limits, document)


def _check_sized_block(spec: KernelSpec, document: Document) -> None:
    """The sizes that are checked give the block that is tuned."""
    for number, size in enumerate(spec.check_sizes):
        where: FieldPath = ("check_sizes", number)
        for side, threads in zip(spec.launch.sized_block, spec.launch.block, strict=False):
            if (other := side.evaluate(size.env)) != threads:
                raise document.error(
                    where if where in document.lines else ("launch", "block"),
                    f"`block: {side}` is {other} at {size.label} and {threads} where it is tuned: a variant is "
                    "compiled for one block",
                )


def _check_grid(spec: KernelSpec, size: ProblemSize, limits: DeviceLimits, document: Document) -> None:
    field = "domain" if spec.launch.domain else "grid"
    for axis, extent in enumerate(spec.launch.domain or spec.launch.grid):
        blocks = extent.evaluate(size.env)
        if spec.launch.domain:
            blocks = -(-blocks // spec.launch.block[axis])
        if not 0 < blocks <= limits.max_grid[axis]:
            raise document.error(
                axis_path(document, field, axis),
                f"expected 1 to {limits.max_grid[axis]} blocks along {AXES[axis]}, got {blocks} at {size.label}",
            )


def check_promises(spec: KernelSpec, document: Document) -> None:
    """``divisible`` and ``ranges`` name scalar parameters or sizes, and are true at every size of the campaign.

    Raises:
        CampaignError: For a promise that the campaign itself breaks.
    """
    sizes = {name: SizeExpr(name) for name in spec.sizes[0].env}
    scalars = sizes | {arg.name: arg.value for arg in spec.args if arg.is_scalar}
    for name, by in spec.assumptions.divisible:
        where: FieldPath = ("assume", "divisible", name)
        for size, value in _values(name, scalars, spec, where, document):
            if value % by:
                raise document.error(where, f"{name} is {value:g} at {size.label}: {by} does not divide it; remove one")
    for name, low, high in spec.assumptions.ranges:
        where = ("assume", "ranges", name)
        for size, value in _values(name, scalars, spec, where, document):
            if not low <= value <= high:
                raise document.error(where, f"{name} is {value:g} at {size.label}, outside [{low}, {high}]; widen it")


def _values(
    name: str, scalars: Mapping[str, SizeExpr | float | None], spec: KernelSpec, where: FieldPath, document: Document
) -> list[tuple[ProblemSize, float]]:
    if name not in scalars:
        raise document.error(where, f"'{name}' is neither a scalar argument nor a size; {nearest(name, scalars)}")
    value = scalars[name]
    sizes = (*spec.sizes, *spec.check_sizes)
    return [(size, value.evaluate(size.env) if isinstance(value, SizeExpr) else float(value or 0)) for size in sizes]


def check_tunables(spec: KernelSpec, document: Document) -> None:
    """Restrictions use tunables only, and some combination of values obeys them, the default one above all.

    Raises:
        CampaignError: If they do not.
    """
    names = [tunable.name for tunable in spec.tunables]
    for number, restriction in enumerate(spec.restrictions):
        where: FieldPath = ("restrictions", number)
        for name in restriction.names:
            if name not in names:
                raise document.error(where, f"'{name}' is not a tunable; {nearest(name, names)}")
        used = [tunable for tunable in spec.tunables if tunable.name in restriction.names]
        for tunable in used:
            if not all(value.lstrip("-").isdigit() for value in tunable.values):
                raise document.error(where, f"'{tunable.name}' has values that are not integers: not restrictable")
        _check_restriction(restriction, {t.name: t.values for t in used}, where, document)
    for tunable in spec.tunables:
        where = ("tunables", tunable.name)
        if spec.arg(tunable.name) is not None:
            raise document.error(
                where,
                f"'{tunable.name}' is a parameter of the kernel, which a macro of that name would hide; rename one",
            )
        if tunable.name in spec.sizes[0].env:
            raise document.error(where, f"'{tunable.name}' is a size too; rename one of them")
        if not any(name == tunable.name for name, _ in spec.defines) and tunable.name not in spec.source:
            raise document.error(where, f"the source does not use '{tunable.name}'")


def _check_restriction(
    restriction: SizeExpr, values: Mapping[str, Sequence[str]], where: FieldPath, document: Document
) -> None:
    try:
        default = restriction.evaluate({name: int(choices[0]) for name, choices in values.items()})
        if default:
            return
        for combination in product(*values.values()):
            if restriction.evaluate(dict(zip(values, map(int, combination), strict=True))):
                raise document.error(
                    where, "the first value of each tunable is its default, and these break it; reorder them"
                )
    except ExpressionError as error:
        raise document.error(where, str(error)) from None
    raise document.error(where, f"no combination of values obeys {restriction}")


def _positive(extent: SizeExpr, where: FieldPath, sizes: Sequence[ProblemSize], document: Document) -> None:
    for size, value in _evaluate(extent, where, sizes, document):
        if value <= 0:
            raise document.error(where, f"expected a positive extent, got {value} at {size.label}")


def _evaluate(
    expression: SizeExpr, where: FieldPath, sizes: Sequence[ProblemSize], document: Document
) -> list[tuple[ProblemSize, int]]:
    known = sizes[0].env
    for name in expression.names:
        if name not in known:
            raise document.error(where, f"'{name}' is not a size; {nearest(name, known)} (`sizes:` names them)")
    try:
        return [(size, expression.evaluate(size.env)) for size in sizes]
    except ExpressionError as error:
        raise document.error(where, str(error)) from None
