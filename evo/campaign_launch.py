"""``launch:`` of a campaign as the kernel's spec holds it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product

from evo.campaign_model import AXES, CampaignModel
from evo.campaign_yaml import Document, FieldPath
from evo.nearest import nearest
from genome.sizes import ExpressionError, SizeExpr
from genome.spec import LaunchSpec, ProblemSize


def build_launch(model: CampaignModel, sizes: Sequence[ProblemSize], document: Document) -> LaunchSpec:
    """The launch; a block in terms of sizes is what it is at the sizes that are tuned on.

    Raises:
        CampaignError: Unless exactly one of domain and grid is given, or if the block differs between sizes.
    """
    launch = model.launch
    if (launch.domain is None) == (launch.grid is None):
        raise document.error(
            ("launch",), "expected exactly one of `domain:` (iterations per axis) and `grid:` (blocks per axis)"
        )
    for axis, side in enumerate(launch.block):
        _check_side(side, axis_path(document, "block", axis), model.tunables, sizes, document)
    sized = any(name in sizes[0].env for side in launch.block for name in _free(side, model.tunables))
    sides = [side.bind({n: sizes[0].env[n] for n in _free(side, model.tunables)}) for side in launch.block]
    for axis, extent in enumerate(launch.grid or ()):
        _check_tuned(extent, axis_path(document, "grid", axis), model.tunables, document)
    _check_tuned(launch.shared_bytes, ("launch", "shared_bytes"), model.tunables, document)
    defaults = [(name, values[0]) for name, values in model.tunables.items()]
    exprs = tuple(sides) if any(side.names for side in launch.block) else ()
    block = (*(side.evaluate(_numbers(defaults)) for side in sides), 1, 1)[:3]
    return LaunchSpec(
        block=(block[0], block[1], block[2]),
        domain=tuple(launch.domain or ()),
        grid=tuple(launch.grid or ()),
        shared_bytes=launch.shared_bytes,
        block_exprs=exprs,
        sized_block=tuple(launch.block) if sized else (),
    )


def _numbers(macros: Iterable[tuple[str, str]]) -> dict[str, int]:
    return {name: int(value) for name, value in macros if value.lstrip("-").isdigit()}


def _free(side: SizeExpr, tunables: Mapping[str, Sequence[str]]) -> list[str]:
    """Names in a block's side that no tunable has."""
    return [name for name in side.names if name not in tunables]


def _check_side(
    side: SizeExpr,
    where: FieldPath,
    tunables: Mapping[str, Sequence[str]],
    sizes: Sequence[ProblemSize],
    document: Document,
) -> None:
    """Threads along one side of a block: positive under every value of the tunables, and the same at every size."""
    for name in _free(side, tunables):
        if name not in sizes[0].env:
            known = [*tunables, *sizes[0].env]
            raise document.error(
                where,
                f"expected an integer or an expression of tunables and sizes; '{name}' is neither; "
                f"{nearest(name, known)}",
            )
    _check_tuned(side, where, tunables, document)
    used = {name: tunables[name] for name in side.names if name in tunables}
    for combination in product(*used.values()):
        values = _numbers(zip(used, combination, strict=True))
        try:
            threads = [side.evaluate({**size.env, **values}) for size in sizes]
        except ExpressionError as error:
            raise document.error(where, str(error)) from None
        if min(threads) < 1:
            at = "".join(f" with {name}={value}" for name, value in values.items())
            raise document.error(where, f"expected a number of at least 1, got {min(threads)}{at}")
        for size, other in zip(sizes, threads, strict=True):
            if other != threads[0]:
                raise document.error(
                    where,
                    f"{threads[0]} threads at {sizes[0].label}, {other} at {size.label}: a variant is compiled for one "
                    "block; keep to sizes with the same, and give the others a campaign of their own",
                )


def _check_tuned(
    expression: SizeExpr, where: FieldPath, tunables: Mapping[str, Sequence[str]], document: Document
) -> None:
    """Tunables of the launch are numbers."""
    for name in expression.names:
        for value in tunables.get(name, ()):
            if not value.lstrip("-").isdigit():
                raise document.error(where, f"'{name}' can be '{value}', which is no integer: the launch cannot use it")


def axis_path(document: Document, field: str, number: int) -> FieldPath:
    """Where the extent along x, y or z stands in the file: ``launch.domain.y`` or ``launch.domain[1]``."""
    named: FieldPath = ("launch", field, AXES[number])
    return named if named in document.lines else ("launch", field, number)
