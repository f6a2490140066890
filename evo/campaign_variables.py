"""``constants:`` of a campaign against the variables of the source that a host fills."""

from __future__ import annotations

from math import prod

from evo.campaign_yaml import Document, FieldPath
from evo.nearest import nearest
from genome.analysis.touches import surely_written
from genome.ir.kernel import Kernel
from genome.ir.print_tokens import tokenize
from genome.ir.types import VECTOR_TYPES
from genome.ir.variables import Variable
from genome.source.constants import evaluate
from genome.spec import ArgSpec, KernelSpec, dtype_of

_UNFILLABLE = "is {} in the source: only numbers and vectors of them can be filled; make it a parameter"


def check_variables(spec: KernelSpec, kernel: Kernel, document: Document) -> None:
    """Every ``__constant__`` variable without an initialiser has contents, of its type, and no more than it holds.

    Raises:
        CampaignError: At the first that has not.
    """
    known = {variable.name: variable for variable in kernel.variables}
    written = surely_written(kernel.body)
    for arg in spec.variables:
        where: FieldPath = ("constants", arg.name)
        if arg.name not in known:
            hint = nearest(arg.name, known) if known else "it uses none"
            raise document.error(where, f"'{arg.name}' is no variable without an initialiser that '{spec.entry}' uses; "
                                        f"{hint}")  # fmt: skip
        _check_type(arg, known[arg.name], where, document)
        _check_extents(arg, known[arg.name], spec, where, document)
        if arg.name in written:
            raise document.error(
                where, f"'{spec.entry}' writes '{arg.name}': make it a parameter, so that it is compared"
            )
    for variable in kernel.variables:
        if variable.constant and spec.arg(variable.name) is None:
            raise document.error(("constants",), _missing(variable))


def _missing(variable: Variable) -> str:
    dtype = dtype_of(variable.ctype)
    if dtype is None:
        return f"'{variable.name}' {_UNFILLABLE.format(variable.ctype)}"
    dims = [*variable.dims, *([variable.ctype[-1]] if variable.ctype in VECTOR_TYPES else [])]
    what = f"shape: [{', '.join(dims)}]" if dims else "value: 1"
    return (f"'{variable.name}' is missing: the kernel reads it, and the file has no initialiser for it; "
            f"add `{variable.name}: {{dtype: {dtype}, {what}}}`")  # fmt: skip


def _check_type(arg: ArgSpec, variable: Variable, where: FieldPath, document: Document) -> None:
    expected = dtype_of(variable.ctype)
    if expected is None:
        raise document.error(where, f"'{arg.name}' {_UNFILLABLE.format(variable.ctype)}")
    if expected != arg.dtype:
        raise document.error(
            (*where, "dtype"), f"expected {expected} ('{arg.name}' is {variable.ctype} in the source), got {arg.dtype}"
        )
    array = bool(variable.dims) or variable.ctype in VECTOR_TYPES
    if array and arg.is_scalar:
        raise document.error(where, f"'{arg.name}' has several elements in the source; give it a `shape:`")
    if not array and not arg.is_scalar:
        raise document.error((*where, "shape"), f"'{arg.name}' is one number in the source; give it a `value:` instead")


def _check_extents(arg: ArgSpec, variable: Variable, spec: KernelSpec, where: FieldPath, document: Document) -> None:
    """No size asks for more elements than are declared; whose number the text does not tell is left to the compiler."""
    dims = [evaluate(tokenize(extent), {}) for extent in variable.dims]
    width = int(variable.ctype[-1]) if variable.ctype in VECTOR_TYPES else 1
    if arg.is_scalar or any(extent is None for extent in dims):
        return
    most = prod(extent or 0 for extent in dims) * width
    for size in (*spec.sizes, *spec.check_sizes):
        if (elements := prod(arg.extent(size.env))) > most:
            raise document.error((*where, "shape"), f"expected at most {most} elements (the source declares so many), "
                                                    f"got {elements} at {size.label}")  # fmt: skip
