"""The commented YAML of a first campaign file."""

from __future__ import annotations

from collections.abc import Sequence

from evo.init_draft import Draft
from evo.init_shapes import Shape
from genome.ir.kernel import Param
from genome.ir.types import VECTOR_TYPES
from genome.ir.variables import Variable
from genome.spec import DTYPES, Role, dtype_of

SIZE_PLACEHOLDER = "FILL_IN"
"""Stands where only the user knows the number; loading the file says so, with the line."""


def campaign_text(found: Draft, others: Sequence[str] = ()) -> str:
    """The commented YAML. It is valid as it stands but for the numbers that only the user knows.

    ``others`` are further kernels of the file.
    """
    arrays = [param for param in found.params if param.pointer]
    arguments = "\n".join(_argument(param, found) for param in found.params)
    sizes = found.sizes or ("N",)
    blanks = ", ".join(f"{name}: {SIZE_PLACEHOLDER}" for name in sizes)
    return _TEMPLATE.format(
        entry=found.entry,
        source=_quoted(found.source),
        arguments=arguments,
        constants=_constants(found),
        template=_template_text(found),
        launch=_launch_text(found, sizes),
        block=_per_axis(tuple(map(str, found.block))),
        alignment=max([4, *(DTYPES[dtype_of(p.ctype) or "float32"][1] for p in arrays)]),
        blanks=blanks,
        sizes=", ".join(sizes),
        first=sizes[0],
        outputs=", ".join(param.name for param in arrays if found.role(param) is not Role.IN) or "none found",
        entries=_entries_text(found.entry, others),
    )


def _template_text(found: Draft) -> str:
    if not found.template:
        return "# template_args: [float, 16]         # for a kernel template, in order"
    note = f" # {found.guessed}: a guess, put in what you launch it with" if found.guessed else ""
    return f"template_args: [{', '.join(map(_quoted, found.template))}]{note}"


def _entries_text(entry: str, others: Sequence[str]) -> str:
    """How several kernels of a file share the budget; empty where there is one."""
    if not others:
        return ""
    second = f"#   - kernel: {{entry: {others[0]}}}"
    return (
        f"\n# Kernels of one file that share the budget (also there: {', '.join(others)}). What is said above is "
        f"for all of them.\n# entries:\n#   - kernel: {{entry: {entry}}}\n{second}\n"
        "#     # calls: 2                       # for each call of the others\n"
        "#     # arguments: [...]               # and launch, sizes, reference, assume, ... where they differ\n"
    )


def _launch_text(found: Draft, sizes: Sequence[str]) -> str:
    guess = " A GUESS: look it over." if found.unsure else ""
    extents = found.iterations or (sizes[0],)
    domain = f"domain: {{{_per_axis(extents)}}}"
    if not found.grid:
        return (f"  {domain} # iterations along each axis; the grid is ceil(domain / block).{guess}\n"
                f"  # grid: {{x: {sizes[0]}}}                 # instead of a domain, where blocks are no cover of it "
                "(a block a row, say)")  # fmt: skip
    why = "one has a number of its own" if found.alone else "one covers as much as its text says"
    return (f"  grid: {{{_per_axis(found.grid)}}} # blocks along each axis: {why}.{guess}\n"
            f"  # {domain}               # instead of a grid: iterations along each axis")  # fmt: skip


def _per_axis(texts: Sequence[str]) -> str:
    return ", ".join(f"{dim}: {text}" for dim, text in zip("xyz", texts, strict=False))


def _default_shape(found: Draft) -> Shape:
    """Extents of the launch, slowest first: right for arrays that every thread owns one element of."""
    extents = tuple(reversed(found.domain)) or ((found.sizes or ("N",))[0],)
    return Shape(extents, "a guess from the launch: its subscripts do not tell")


def _argument(param: Param, found: Draft) -> str:
    dtype = dtype_of(param.ctype) or "float32"
    notes = [] if dtype_of(param.ctype) else [f"{param.ctype} in the kernel: check the dtype"]
    if param.pointer:
        shape = found.shapes.get(param.name) or _default_shape(found)
        role = found.role(param).value
        notes += [shape.note] if shape.note else []
        notes += ["updated by atomics: add `init: zeros` if it starts from zero"] if param.name in found.updated else []
        extents = ", ".join(shape.extents)
        return f"  - {{name: {param.name}, dtype: {dtype}, shape: [{extents}], role: {role}}}{_remark(notes)}"
    value = param.name if param.name in found.sizes else "1.0"
    return f"  - {{name: {param.name}, dtype: {dtype}, value: {value}}}{_remark(notes)}"


def _constants(found: Draft) -> str:
    """What the host puts into variables of the file; empty where the kernel uses none."""
    if not found.variables:
        return ""
    lines = [
        "",
        "# Variables of the file that the host fills, by name: a number has a `value:`, an array a `shape:` and,",
        "# as an argument may have, an `init:`.",
        "constants:",
    ]
    return "\n".join([*lines, *map(_constant, found.variables)]) + "\n"


def _constant(variable: Variable) -> str:
    dtype = dtype_of(variable.ctype)
    notes = [] if dtype else [f"{variable.ctype} in the file, which cannot be filled: make it a parameter"]
    dims = list(variable.dims)
    if variable.ctype in VECTOR_TYPES:
        dims.append(variable.ctype[-1])
    unknown = [extent for extent in dims if not extent.isdigit()]
    notes += [f"{unknown[0]} is not known here: put in a number"] if unknown else []
    what = f"shape: [{', '.join(dims)}]" if dims else "value: 1"
    return f"  {variable.name}: {{dtype: {dtype or 'float32'}, {what}}}{_remark(notes)}"


def _remark(notes: Sequence[str]) -> str:
    return f" # {'; '.join(notes)}" if notes else ""


def _quoted(text: str) -> str:
    return text if text.replace("/", "").replace(".", "").replace("_", "").replace("-", "").isalnum() else repr(text)


_TEMPLATE = """\
# A campaign of evo-tune: what to tune, on what, and for how long. Paths are relative to this file.
# Fill in `sizes`, look over `arguments` and `launch`, then: evo-tune run campaign.yaml
version: 1
name: {entry}

kernel:
  source: {source}
  entry: {entry}
  {template}
  # defines: {{NAME: value}}             # macros
  # include: [include]                 # folders of included files

# One entry a parameter, in the order of the signature.
#   dtype: float32, float64, float16, bfloat16, int8 ... int64, uint8 ... uint64
#   shape: extents of an array as expressions of sizes, row-major: [M, K], [2*N + 1], [(N + 15) // 16]
#   value: of a scalar: an expression of sizes, or a number
#   role:  in, out (written only) or inout (read and written). Written here: {outputs}
#   init:  uniform | normal | integers | constant | zeros | arange | permutation | file, with their numbers:
#          {{kind: uniform, low: -1, high: 1}}, {{kind: normal, mean: 0, std: 2}}, {{kind: file, path: data.npy}}
# The shapes below are read off the kernel's subscripts: look them over.
arguments:
{arguments}
{constants}
launch:
{launch}
  block: {{{block}}}
  # shared_bytes: 0                    # dynamic shared memory

# Tuned on these: fitness is the weighted geometric mean of the speed-ups.
sizes:
  - {{{blanks}}} # weight: 1

# Never tuned on: every candidate must be right here too. At least three of your own, or made from `sizes`.
check_sizes: generate

# Who knows the right answer: `file.py:function` (numpy), `{{checker: file.py:function}}`, or none: the kernel as it is.
reference: none
# tolerance: {{rtol: 1.0e-4, atol: 1.0e-5, norm: 1.0e-5}}   # default by dtype

# What you promise beyond what the source proves. Each one allows more.
assume:
  no_alias: false                      # arrays do not overlap: true allows restrict, tiles, registers for sums
  alignment: {alignment}                         # bytes that every pointer is a multiple of; cudaMalloc gives 256
  # divisible: {{{first}: 8}}              # by scalar parameter
  # ranges: {{{first}: [1, 65536]}}
  reassociation: false                 # sums of floating-point numbers may be reordered
  fast_math: false
  # tf32: false                        # products of floats on tensor cores, of 11 bits; set a tolerance that allows it

# tunables: {{TILE: [16, 32, 64]}}        # macros of your own; the first is the default; block and grid may use them
# restrictions: [TILE % 16 == 0]
# transforms:
#   forbid: [unroll, shared_tile@A]    # by transform, transform@site or @site
#   focus: []                          # when given, only these
#   pin: [{{transform: unroll, site: k, params: {{factor: 4}}}}]
# limits: {{registers: 128, shared_memory: 49152, threads: 512}}
{entries}
objective: latency                     # throughput, energy; {{kind: throughput, at_most: {{latency_ms: 2}}}}
budget: {{evaluations: 100, minutes: 10}} # patience: 50 stops after so many measurements without a gain
# population: 24
seed: 1
# device: auto                         # opencl:0, cuda:0; `evo-tune devices` lists them
# surrogate: true                      # a model that skips the hopeless ones
# epsilon: 0.1                         # share of proposals that it may not skip
knowledge: auto                        # none, or postgresql+psycopg://user@host/base
output: evo-out
"""
