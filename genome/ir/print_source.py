"""Complete source text of a kernel: prelude, signature, index arithmetic, guard and body."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from genome.ir.expr import Binary, Expr, Index, Var, accesses, conjunction
from genome.ir.halves import HALVES
from genome.ir.kernel import Axis, Kernel, Param
from genome.ir.print_atomics import definitions
from genome.ir.print_errors import PrintError
from genome.ir.print_expr import ExprPrinter
from genome.ir.print_halves import half_definitions
from genome.ir.print_helpers import helper_signatures, prelude_functions, prelude_types, translate_prelude
from genome.ir.print_names import (
    BUILTIN_FUNCTIONS,
    DYNAMIC_SHARED,
    KEYWORDS,
    opencl_parameter_type,
    opencl_type,
)
from genome.ir.print_opencl import translate_statement
from genome.ir.print_standard import standard_definitions
from genome.ir.print_stmt import INDENT, StmtPrinter
from genome.ir.print_tokens import words
from genome.ir.print_variables import as_parameters
from genome.ir.stmt import Barrier, Body, Decl, Loop, Opaque, VectorLoad, expressions, flatten, handed_places, writes
from genome.ir.type_sizes import SHARED_ALIGNMENT, shared_size
from genome.ir.types import VECTOR_TYPES, canonical
from genome.variant import Target


def print_kernel(kernel: Kernel, target: Target) -> str:
    """The complete text, ready for NVRTC or nvcc, or for an OpenCL compiler.

    A mapped kernel is sealed before it is printed (``genome.lower.seal``): its guards are part of the body then.

    Raises:
        PrintError: If the kernel uses something that the target does not have.
    """
    if kernel.verbatim:
        return kernel_text(kernel, target, kernel.verbatim)
    text = _function(kernel, target)
    if kernel.finish is not None:
        text += "\n" + _function(kernel.finish.kernel, target)
    return _complete(kernel, target, text)


def _function(kernel: Kernel, target: Target) -> str:
    printer = _printer(kernel, target)
    lines = [_signature(kernel, target), "{"]
    lines += [f"{INDENT}{line};" for line in _shared_lines(kernel, printer)]
    if not kernel.mapped:
        lines += _index_lines(kernel, target)
    lines += printer.body(kernel.prologue, 1)
    lines += _guarded(kernel, printer)
    return "\n".join([*lines, "}"]) + "\n"


def _shared_lines(kernel: Kernel, printer: StmtPrinter) -> list[str]:
    """Declarations of the shared arrays; where the launch gives them room, as names of parts of one array."""
    if not kernel.launch_shared:
        return [printer.declaration(decl) for decl in kernel.shared]
    room, lines, start = kernel.fresh("shared_arrays"), [], 0
    for decl in kernel.shared:
        if not decl.dims:
            lines.append(printer.declaration(decl))
            continue
        dims = "".join(f"[{dim}]" for dim in decl.dims)
        lines.append(f"{decl.ctype} (&{decl.name}){dims} = *({decl.ctype} (*){dims})({room} + {start})")
        start += shared_size(decl.ctype, decl.dims)
    return [f"extern __shared__ __align__({SHARED_ALIGNMENT}) unsigned char {room}[]", *lines]


def kernel_text(kernel: Kernel, target: Target, body: str) -> str:
    """The complete text of a kernel whose body is CUDA text: a compound statement.

    Raises:
        PrintError: If OpenCL C cannot say it.
    """
    if target is Target.OPENCL:
        _refuse_halves(kernel)
        spaces = {param.name: "__global" for param in kernel.params if param.pointer}
        body = translate_statement(body, spaces, prelude_types(kernel.prelude))
    return _complete(kernel, target, f"{_signature(kernel, target)}\n{body}\n")


def _complete(kernel: Kernel, target: Target, text: str) -> str:
    """The kernel's text behind everything that it needs."""
    text = _preamble(kernel, target, text) + text
    if target is Target.CUDA:
        return text
    return as_parameters(text, kernel.name, [variable for variable in kernel.variables if variable.given])


def _refuse_halves(kernel: Kernel) -> None:
    """Text does not tell where C++ converts 16-bit floats; the parsed form does."""
    found = [param.ctype for param in kernel.params if canonical(param.ctype) in HALVES]
    found += [word for word in words(kernel.verbatim) if canonical(word) in HALVES]
    if found:
        raise PrintError(f"OpenCL C has no {found[0]}, whose conversions C++ makes without a word")


def _printer(kernel: Kernel, target: Target) -> StmtPrinter:
    types = name_types(kernel)
    whole = kernel.prologue + kernel.body
    wide = "wide"
    if any(isinstance(stmt, VectorLoad) for stmt in flatten(whole)):
        wide = kernel.fresh("wide")
    spaces = {param.name: "__global" for param in kernel.params if param.pointer}
    spaces |= {decl.name: "__local" for decl in kernel.shared}
    spaces |= {stmt.name: "" for stmt in flatten(whole) if isinstance(stmt, Decl) and stmt.dims}
    fence = "CLK_LOCAL_MEM_FENCE"
    if target is Target.OPENCL and _exchanges(kernel, whole):
        fence += " | CLK_GLOBAL_MEM_FENCE"
    expr = ExprPrinter(target, types, kernel.mapped)
    own = prelude_types(kernel.prelude) if kernel.prelude else frozenset()
    return StmtPrinter(expr, lambda array: types.get(array, ""), wide, fence, spaces, own)


def name_types(kernel: Kernel) -> dict[str, str]:
    """Canonical type of every variable, of every array's elements, and of ``helper()`` for each helper."""
    return dict(_name_types(kernel))


@lru_cache(maxsize=64)
def _name_types(kernel: Kernel) -> Mapping[str, str]:
    types = {f"{name}()": found[0] for name, found in helper_signatures(kernel.prelude).items()}
    types |= {variable.name: canonical(variable.ctype) for variable in kernel.variables}
    types |= {param.name: canonical(param.ctype) for param in kernel.params}
    types |= {axis.name: canonical(axis.ctype) for axis in kernel.axes}
    types |= {decl.name: canonical(decl.ctype) for decl in kernel.shared}
    for stmt in flatten(kernel.prologue + kernel.body + (kernel.tail or ())):
        if isinstance(stmt, Decl):
            types[stmt.name] = canonical(stmt.ctype)
        elif isinstance(stmt, Loop):
            types[stmt.var] = canonical(stmt.ctype)
    return types


def _exchanges(kernel: Kernel, body: Body) -> bool:
    """True if threads may pass values through global memory across a barrier."""
    if not any(isinstance(stmt, Barrier) for stmt in flatten(body)):
        return False
    pointers = {param.name for param in kernel.params if param.pointer}
    written = {t.array for stmt in flatten(body) for t in writes(stmt) if isinstance(t, Index)} & pointers
    for stmt in flatten(body):
        targets = writes(stmt)
        for expr in expressions(stmt):
            if any(access.array in written and access not in targets for access in accesses(expr)):
                return True
    return any(isinstance(stmt, Opaque) or handed_places(stmt) for stmt in flatten(body))


def _signature(kernel: Kernel, target: Target) -> str:
    params = ", ".join(_parameter(param, target) for param in kernel.params)
    if target is Target.OPENCL:
        return f"__kernel void {kernel.name}({params})"
    bounds = f" __launch_bounds__({kernel.launch_bounds})" if kernel.launch_bounds else ""
    return f'extern "C" __global__ void{bounds} {kernel.name}({params})'


def _parameter(param: Param, target: Target) -> str:
    const = "const " if param.const else ""
    if target is Target.CUDA:
        star = "*" if param.pointer else ""
        restrict = " __restrict__" if param.restrict and param.pointer else ""
        return f"{const}{param.ctype}{star}{restrict} {param.name}"
    if param.pointer and param.ctype[-1:] == "3" and param.ctype in VECTOR_TYPES:
        raise PrintError(f"{param.ctype} has 3 elements in CUDA's memory and 4 in OpenCL's")
    if not param.pointer:
        return f"{const}{opencl_parameter_type(param.ctype)} {param.name}"
    return f"__global {const}{opencl_type(param.ctype)}*{' restrict' if param.restrict else ''} {param.name}"


def _index_lines(kernel: Kernel, target: Target) -> list[str]:
    """``const int i = blockIdx.x * blockDim.x + threadIdx.x;`` for each axis."""
    lines = []
    for axis in kernel.axes:
        if target is Target.CUDA:
            wide = "" if axis.ctype in ("int", "unsigned int") else f"({axis.ctype})"
            index = f"{wide}blockIdx.{axis.dim} * blockDim.{axis.dim} + threadIdx.{axis.dim}"
            lines.append(f"{INDENT}const {axis.ctype} {axis.name} = {index};")
        else:
            number = "xyz".index(axis.dim)
            ctype = opencl_type(axis.ctype)
            index = f"get_group_id({number}) * get_local_size({number}) + get_local_id({number})"
            lines.append(f"{INDENT}const {ctype} {axis.name} = ({ctype})({index});")
    return lines


def _guarded(kernel: Kernel, printer: StmtPrinter) -> list[str]:
    """The body; inside the bounds of its axes while they are not written into it."""
    condition = None if kernel.mapped else conjunction([term for axis in kernel.axes for term in _bounds(axis)])
    if condition is None:
        return printer.body(kernel.body, 1)
    return [f"{INDENT}if ({printer.expr.text(condition)}) {{", *printer.body(kernel.body, 2), f"{INDENT}}}"]


def _bounds(axis: Axis) -> list[Expr]:
    terms: list[Expr] = []
    if axis.lower is not None:
        terms.append(Binary(">=", Var(axis.name), axis.lower))
    if axis.upper is not None:
        terms.append(Binary("<", Var(axis.name), axis.upper))
    return terms


def _preamble(kernel: Kernel, target: Target, text: str) -> str:
    """Everything in front of the kernel."""
    if target is Target.CUDA:
        macros = "".join(f"#ifndef {name}\n#define {name} {value}\n#endif\n" for name, value in kernel.macros)
        prelude = kernel.prelude + "\n\n" if kernel.prelude else ""
        head = standard_definitions(kernel.prelude + text)
        return f"{macros}{head}{prelude}"
    passed = frozenset(variable.name for variable in kernel.variables if variable.given)
    prelude = translate_prelude(kernel.prelude, passed) if kernel.prelude else ""
    parts = [f"#ifndef {name}\n#define {name} {value}\n#endif" for name, value in kernel.macros]
    if DYNAMIC_SHARED in text:
        parts.append(f"#ifndef {DYNAMIC_SHARED}\n#define {DYNAMIC_SHARED} 32768\n#endif")
    used = words(prelude + text)
    helpers = "\n".join(filter(None, (half_definitions(used), definitions(used))))
    parts += [f"#define {name} {name}_" for name in sorted(used & _reserved(kernel))]
    parts += [part for part in (helpers, prelude) if part]
    return "\n".join(parts) + "\n\n" if parts else ""


def _reserved(kernel: Kernel) -> frozenset[str]:
    """OpenCL C's own names that the user's may not be: macros move those out of the way, since the printed text spells
    its own otherwise.
    """
    defined = {kernel.name} | (prelude_functions(kernel.prelude) if kernel.prelude else frozenset())
    return KEYWORDS | (BUILTIN_FUNCTIONS & defined)


def entry_name(kernel: Kernel, target: Target) -> str:
    """What the compiled program calls the kernel: OpenCL C has no kernel named ``kernel`` or ``max``."""
    taken = target is Target.OPENCL and kernel.name in _reserved(kernel)
    return f"{kernel.name}_" if taken else kernel.name
