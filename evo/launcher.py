"""``best.cu``: the evolved kernel, the kernel as it was, and a host launcher that chooses between them. Pure text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from genome.ir.kernel import Param
from genome.ir.variables import Variable
from genome.sizes import SizeExpr
from genome.spec import DTYPES, KernelSpec
from genome.variant import GridAxis, Launch, Memset, Variant

_NAMESPACE = "baseline"
"""Around the kernel as it was, where its helpers differ from those of the evolved one."""

_KERNEL_START = 'extern "C" __global__'
_HELPERS = """\
static inline unsigned int {blocks}(long long extent, long long tile)
{{
  const long long count = (extent + tile - 1) / tile;
  return count < 1 ? 1u : static_cast<unsigned int>(count);
}}
"""


@dataclass(frozen=True)
class _Names:
    """Identifiers of the launcher that no kernel argument has."""

    sizes: Mapping[str, str]
    stream: str
    extra: tuple[tuple[str, str], ...]  # (size, parameter) of sizes that no kernel argument holds
    contents: tuple[tuple[str, str], ...]  # (variable, parameter) of variables that the host fills
    scopes: Mapping[str, str]  # variable -> the namespaces in front of it
    blocks: str
    fits: str
    status: str


def cuda_program(
    spec: KernelSpec, best: Variant, baseline: Variant, params: Sequence[Param], header: Sequence[str],
    variables: Sequence[Variable] = (),
) -> str:  # fmt: skip
    """One self-contained translation unit for nvcc.

    Args:
        spec: The kernel's arguments and sizes.
        best: The evolved variant, printed for CUDA.
        baseline: The kernel as it was, printed for CUDA.
        params: The signature.
        header: Lines of the comment on top.
        variables: Of the file, as far as a host fills them.

    Returns:
        Text with ``extern "C" cudaError_t launch_<entry>(arguments, further sizes, contents of variables, cudaStream_t
        stream)``.
    """
    head = "\n".join(f"// {line}".rstrip() for line in header)
    names = _names(spec, params, variables)
    old = f"{spec.entry}_baseline"
    sources = _both_sources(spec.entry, best, baseline, old)
    inside = f"{_NAMESPACE}::" if any(f"namespace {_NAMESPACE} {{" in source for source in sources) else ""
    parts = [head, "\n".join(_includes(sources)), *sources, _HELPERS.format(blocks=names.blocks).rstrip(),
             _baseline_launcher(spec, baseline, params, names, old, inside),
             _launcher(spec, best, params, names)]  # fmt: skip
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def _includes(sources: Sequence[str]) -> list[str]:
    text = "\n".join(sources)
    lines = ["#include <cuda_runtime.h>"]
    for words, header in ((r"(__)?half2?", "cuda_fp16.h"), (r"(__)?nv_bfloat162?", "cuda_bf16.h")):
        if re.search(rf"\b{words}\b", text) and header not in text:
            lines.append(f"#include <{header}>")
    return lines


def split_source(source: str) -> tuple[str, str]:
    """What stands in front of the kernel, and the kernel, which is the last function of a printed source."""
    start = source.rfind(f"\n{_KERNEL_START}") + 1
    return source[:start], source[start:]


def _both_sources(entry: str, best: Variant, baseline: Variant, old: str) -> tuple[str, ...]:
    """Evolved and original kernel; helpers that both need stand there once."""
    helpers, evolved = split_source(best.source)
    old_helpers, original = split_source(baseline.source)
    original = re.sub(rf"\b{re.escape(entry)}\b(?=\s*\()", old, original, count=1)
    evolved = f"// The evolved kernel.\n{evolved}"
    original = f"// The kernel as it was.\n{original}"
    if old_helpers.strip() and old_helpers.strip() not in helpers:
        macros = re.findall(r"^#\s*define\s+(\w+)", helpers, re.MULTILINE)
        undefine = "\n".join(f"#undef {name}" for name in dict.fromkeys(macros))
        hoisted, kept = _hoisted(old_helpers)
        wrapped = f"namespace {_NAMESPACE} {{\n{kept.strip()}\n\n{original}}}\nusing {_NAMESPACE}::{old};"
        return helpers, evolved, undefine, hoisted, wrapped
    return helpers, evolved, original


def _hoisted(text: str) -> tuple[str, str]:
    """Include lines, which may not stand inside a namespace, and the rest."""
    lines = text.splitlines()
    included = [line for line in lines if re.match(r"\s*#\s*include\b", line)]
    return "\n".join(included), "\n".join(line for line in lines if line not in included)


def _names(spec: KernelSpec, params: Sequence[Param], variables: Sequence[Variable]) -> _Names:
    taken = {param.name for param in params} | {spec.entry} | {arg.name for arg in spec.variables}

    def fresh(base: str) -> str:
        name = base
        while name in taken:
            name += "_"
        taken.add(name)
        return name

    size_names = [name for name, _ in spec.sizes[0].values] if spec.sizes else []
    held = {str(arg.value) for arg in spec.parameters if arg.is_scalar}
    extra = tuple((size, fresh(size)) for size in size_names if size not in held)
    sizes = {size: fresh(f"size_{size}") for size in size_names}
    contents = tuple((arg.name, fresh(f"{arg.name}_contents")) for arg in spec.variables)
    scopes = {variable.name: variable.scope for variable in variables}
    return _Names(sizes, fresh("stream"), extra, contents, scopes, fresh("evo_blocks"), fresh("fits"), fresh("status"))


def _baseline_launcher(
    spec: KernelSpec, baseline: Variant, params: Sequence[Param], names: _Names, old: str, inside: str
) -> str:
    lines = _fillings(spec, names, inside)
    defaults = [(tunable.name, tunable.values[0]) for tunable in spec.tunables]
    sides = spec.launch.at(defaults).sized_block
    launched = _launch(baseline.launches[0], old, names, sides, covers=bool(spec.launch.domain))
    lines += [*launched, "return cudaGetLastError();"]
    title = "\n".join(["// Launches the kernel as it was.", *_about_contents(spec, names)])
    return "\n".join([title, *_function(f"launch_{old}", spec, params, names, lines)])


def _launcher(spec: KernelSpec, best: Variant, params: Sequence[Param], names: _Names) -> str:
    lines: list[str] = []
    title = "// Launches the evolved kernel."
    conditions = _conditions(spec, best, names)
    if conditions:
        joint = "\n    && ".join(conditions)
        further = [name for _, name in (*names.extra, *names.contents)]
        passed = ", ".join([*(param.name for param in params), *further, names.stream])
        lines += [f"const bool {names.fits} = {joint};",
                  f"if (!{names.fits}) return launch_{spec.entry}_baseline({passed});"]  # fmt: skip
        title = "// Launches the evolved kernel where it applies, else the kernel as it was."
    lines += [*_fillings(spec, names), *_steps(spec, best, names)]
    title = "\n".join([title, *_about_contents(spec, names)])
    return "\n".join([title, *_function(f"launch_{spec.entry}", spec, params, names, lines)])


def _about_contents(spec: KernelSpec, names: _Names) -> list[str]:
    return [
        f"// {parameter}: what goes into the variable {name} first, in host or device memory; null leaves it as it is."
        for name, parameter in names.contents
    ]


def _fillings(spec: KernelSpec, names: _Names, inside: str = "") -> list[str]:
    """Copies into the variables of the file; ``inside`` is the namespace that stands around all of it."""
    parameters, lines = dict(names.contents), []
    for arg in spec.variables:
        name, given = f"{inside}{names.scopes.get(arg.name, '')}{arg.name}", parameters[arg.name]
        count = "".join(f" * ({extent.to_c(names.sizes)})" for extent in arg.shape)
        copied = f"{name}, {given}, sizeof({DTYPES[arg.dtype][0]}){count}, 0, cudaMemcpyDefault, {names.stream}"
        lines.append(f"if ({given}) cudaMemcpyToSymbolAsync({copied});")
    return lines


def _function(name: str, spec: KernelSpec, params: Sequence[Param], names: _Names, body: Sequence[str]) -> list[str]:
    """A host function; sizes that its body uses are declared in front."""
    text = "\n".join(body)
    sizes = [
        f"const long long {names.sizes[size]} = {value};"
        for size, value in _size_values(spec, names)
        if re.search(rf"\b{names.sizes[size]}\b", text)
    ]
    indented = [f"  {line}" for line in "\n".join([*sizes, *body]).split("\n")]
    return [f'extern "C" cudaError_t {name}({_parameters(spec, params, names)})', "{", *indented, "}"]


def _parameters(spec: KernelSpec, params: Sequence[Param], names: _Names) -> str:
    texts = [f"{'const ' if p.const and p.pointer else ''}{p.ctype}{'*' if p.pointer else ''} {p.name}" for p in params]
    texts += [f"long long {parameter}" for _, parameter in names.extra]
    dtypes = {arg.name: arg.dtype for arg in spec.variables}
    texts += [f"const {DTYPES[dtypes[name]][0]}* {parameter}" for name, parameter in names.contents]
    return ", ".join([*texts, f"cudaStream_t {names.stream}"])


def _size_values(spec: KernelSpec, names: _Names) -> list[tuple[str, str]]:
    """(size, C expression over the launcher's parameters); the first argument that holds a size gives it."""
    extra = dict(names.extra)
    values: list[tuple[str, str]] = []
    for size in names.sizes:
        holder = next((arg.name for arg in spec.parameters if arg.is_scalar and str(arg.value) == size), None)
        values.append((size, holder or extra[size]))
    return values


def _conditions(spec: KernelSpec, best: Variant, names: _Names) -> list[str]:
    """Guard of the variant, and that arguments have the values which the campaign gave them."""
    if not best.guard.conditions and not best.guard.alignments:
        return []
    conditions = [condition.to_c(names.sizes) for condition in best.guard.conditions]
    conditions += [f"reinterpret_cast<size_t>({name}) % {by} == 0" for name, by in best.guard.alignments]
    given = dict(_size_values(spec, names))
    for arg in spec.parameters:
        if isinstance(arg.value, SizeExpr) and given.get(str(arg.value)) != arg.name:
            conditions.append(f"{arg.name} == {arg.value.to_c(names.sizes)}")
    return conditions


def _steps(spec: KernelSpec, best: Variant, names: _Names) -> list[str]:
    lines: list[str] = []
    ctypes = {dtype: ctype for dtype, (ctype, _) in DTYPES.items()}
    if best.scratch:
        lines.append(f"cudaError_t {names.status} = cudaSuccess;")
    for buffer in best.scratch:
        size = f"sizeof({ctypes[buffer.dtype]}) * {buffer.elements.to_c(names.sizes)}"
        lines += [
            f"{ctypes[buffer.dtype]}* {buffer.name} = nullptr;",
            f"if ({names.status} == cudaSuccess) {names.status} = "
            f"cudaMallocAsync(reinterpret_cast<void**>(&{buffer.name}), {size}, {names.stream});",
        ]
    if best.scratch:
        lines.append(f"if ({names.status} != cudaSuccess) return {names.status};")
    for step in best.steps:
        if isinstance(step, Memset):
            lines.append(_memset(spec, best, step, names))
        else:
            lines += _launch(step, step.entry, names)
    if not best.scratch:
        return [*lines, "return cudaGetLastError();"]
    lines.append(f"{names.status} = cudaGetLastError();")
    lines += [f"cudaFreeAsync({buffer.name}, {names.stream});" for buffer in best.scratch]
    return [*lines, f"return {names.status};"]


def _memset(spec: KernelSpec, best: Variant, step: Memset, names: _Names) -> str:
    scratch = next((buffer for buffer in best.scratch if buffer.name == step.buffer), None)
    if scratch:
        dtype, elements = scratch.dtype, scratch.elements.to_c(names.sizes)
    else:
        arg = next(arg for arg in spec.args if arg.name == step.buffer)
        dtype, elements = arg.dtype, " * ".join(extent.to_c(names.sizes) for extent in arg.shape)
    size = f"sizeof({DTYPES[dtype][0]}) * {elements}"
    return f"cudaMemsetAsync({step.buffer}, {step.value}, {size}, {names.stream});"


def _launch(
    launch: Launch, function: str, names: _Names, sides: Sequence[SizeExpr] = (), covers: bool = False
) -> list[str]:
    """A launch.

    Args:
        launch: What is launched.
        function: Its name in the text.
        names: Of the launcher.
        sides: Of the block, where it follows the sizes.
        covers: True if each of such blocks covers as much of the domain as it has threads.
    """
    block = [side.to_c(names.sizes) for side in sides]
    block += map(str, launch.block[len(block) :])
    tiles = [text if covers and sides else str(axis.tile) for text, axis in zip(block, launch.grid, strict=True)]
    grid = ", ".join(_blocks(axis, tile, names) for axis, tile in zip(launch.grid, tiles, strict=True))
    shared = launch.shared_bytes.to_c(names.sizes)
    lines = []
    if not shared.isdigit() or int(shared) > 48 * 1024:
        lines.append(f"cudaFuncSetAttribute({function}, cudaFuncAttributeMaxDynamicSharedMemorySize, {shared});")
    arguments = ", ".join(launch.args)
    lines.append(f"{function}<<<dim3({grid}), dim3({', '.join(block)}), {shared}, {names.stream}>>>({arguments});")
    return lines


def _blocks(axis: GridAxis, tile: str, names: _Names) -> str:
    text = axis.extent.to_c(names.sizes)
    if text.isdigit() and tile.isdigit():
        return str(GridAxis(axis.extent, int(tile)).blocks({}))
    return f"{names.blocks}({text}, {tile})"
