"""From a parsed body to the normal form: index arithmetic substituted, axes found, the guard lifted."""

from __future__ import annotations

from dataclasses import replace

from genome.ir.expr import Expr, Var, base_name
from genome.ir.kernel import Kernel
from genome.ir.print_helpers import helper_signatures
from genome.ir.stmt import Assign, Body, Decl, Opaque, flatten, handed_places
from genome.ir.variables import Variable
from genome.source.axes import AxisFinder, uses_builtins
from genome.source.conversions import convert_halves
from genome.source.guards import integer_scalars, lift_guard
from genome.source.launched import Launched, spell_out
from genome.source.parse import Parsed
from genome.source.strides import Folded, after_loops, fold_strides
from genome.source.substitute import forward, merge_declarations
from genome.source.versions import versioned


def normalise(kernel: Kernel, parsed: Parsed, launched: Launched | None = None) -> Kernel:
    """The kernel in normal form.

    When a launch index is left that no axis explains, the axes stay empty and the body keeps its own indices: the
    launch geometry is then part of what the kernel means.
    """
    parsed = _versioned(kernel, parsed)
    merged = convert_halves(parsed.body, parsed.types, helper_signatures(kernel.prelude))
    finder = AxisFinder(kernel.fresh, parsed.types)
    body = finder.inline(_forward(kernel, spell_out(merged, launched), parsed, finder, builtins=True))
    folded = fold_strides(body, finder.axes) if launched is not None else Folded(body)
    reached = folded.reached
    taken = {kernel.name, *(param.name for param in kernel.params), *(decl.name for decl in kernel.shared)}
    body, named = after_loops(folded, finder.axes, taken)
    if uses_builtins(body) or not finder.axes:
        return _as_written(kernel, merged, parsed)
    types = dict(parsed.types) | {axis.name: axis.ctype for axis in named}
    changed = _changed(body)
    steady = [param.name for param in kernel.params if not param.pointer and param.name not in changed]
    axes, body = lift_guard(body, named, integer_scalars(types, steady), types)
    if any(axis.dim in reached and axis.upper != reached[axis.dim] for axis in axes):
        return _as_written(kernel, merged, parsed)
    axes = tuple(replace(axis, strided=axis.dim in reached) for axis in axes)
    return replace(kernel, axes=axes, body=body)


def _versioned(kernel: Kernel, parsed: Parsed) -> Parsed:
    """What was parsed, with a name for each value of integer scalars that are set several times."""
    scalars = {param.name: param.ctype for param in kernel.params if not param.pointer}
    body, types = versioned(merge_declarations(parsed.body), scalars, parsed.types.keys() | kernel.used_names)
    known = {variable.name: variable.ctype for variable in _steady_variables(kernel)}
    return replace(parsed, body=body, types={**known, **parsed.types, **types})


def _as_written(kernel: Kernel, merged: Body, parsed: Parsed) -> Kernel:
    return replace(kernel, body=_forward(kernel, merged, parsed, None, builtins=False))


def _forward(kernel: Kernel, body: Body, parsed: Parsed, finder: AxisFinder | None, builtins: bool) -> Body:
    pointers = {variable.name: False for variable in _steady_variables(kernel)}
    pointers |= {param.name: param.pointer for param in kernel.params}

    def axis(decl: Decl, value: Expr) -> Expr | None:
        return finder.declaration(decl, value) if finder is not None else None

    return forward(body, parsed.types, pointers, axis, builtins)


def _steady_variables(kernel: Kernel) -> list[Variable]:
    """Single values that the host fills and no thread can change."""
    return [variable for variable in kernel.variables if variable.constant and not variable.dims]


def _changed(body: Body) -> set[str]:
    """Variables that some statement assigns."""
    found: set[str] = set()
    for stmt in flatten(body):
        if isinstance(stmt, Assign) and isinstance(stmt.target, Var):
            found.add(stmt.target.name)
        elif isinstance(stmt, Opaque):
            found.update(stmt.writes)
        found.update(base_name(place) for place in handed_places(stmt))
    return found
