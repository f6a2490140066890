"""Writes a first campaign file from a kernel's own signature: ``evo-tune init``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evo.campaign_errors import nearest
from evo.campaign_kernel import dtype_of
from evo.campaign_types import CampaignError
from evo.init_shapes import Positions, Shape, positions, shapes, size_text
from genome.analysis.effects import effects
from genome.ir.expr import accesses
from genome.ir.kernel import Kernel, Param
from genome.ir.print_tokens import render, split_commas, tokenize
from genome.ir.stmt import Assign, flatten
from genome.source.frontend import SourceError, entries, parse_kernel
from genome.source.template_guess import template_parameters
from genome.source.verbatim import verbatim_kernel
from genome.spec import DTYPES

SIZE_PLACEHOLDER = "FILL_IN"
"""Stands where only the user knows the number; loading the file says so, with the line."""

_BLOCKS = {1: (256,), 2: (16, 16), 3: (8, 8, 4)}


@dataclass(frozen=True)
class Draft:
    """What a signature and an index map suggest.

    Attributes:
        source: File name as it stands in the campaign file.
        entry: The kernel.
        params: In the order of the signature.
        sizes: Scalar integer parameters: the sizes.
        domain: Iterations along x, y, z in terms of sizes; empty when the index map was not understood.
        read: Arrays that the body reads: one that may be written too is ``inout``.
        shapes: Of the arrays whose subscripts tell one.
        block: Threads along x, y, z.
        template: Arguments of the kernel template, given or guessed.
        guessed: Remark on the template's arguments where they are a guess; else empty.
        unsure: True where the domain is a guess.
    """

    source: str
    entry: str
    params: tuple[Param, ...]
    sizes: tuple[str, ...]
    domain: tuple[str, ...]
    read: frozenset[str] = frozenset()
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    block: tuple[int, ...] = (256,)
    template: tuple[str, ...] = ()
    guessed: str = ""
    unsure: bool = False


def init_campaign(
    kernel: Path, entry: str | None, output: Path, force: bool, template_args: Sequence[str] = ()
) -> Path:
    """Writes the campaign file, and returns its path. An existing file is kept unless ``force``.

    Arguments of a kernel template are guessed where none are given.

    Raises:
        CampaignError: If the entry is not clear, or the file is there already.
        SourceError: If the source cannot be read by the front end.
        OSError: If the file cannot be written.
    """
    source = read_kernel(kernel)
    chosen = chosen_entry(entry, source, kernel)
    text = campaign_text(draft(source, chosen, kernel, _relative(kernel, output), template_args))
    try:
        with output.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise CampaignError(f"{output}: the file is there already; --force writes over it, -o names another") from None
    return output


def read_kernel(path: Path) -> str:
    """Text of a ``.cu`` file.

    Raises:
        CampaignError: If it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise CampaignError(f"{path}: no such file; give the .cu file that holds the kernel") from None
    except UnicodeDecodeError as error:
        raise CampaignError(f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    except OSError as error:
        raise CampaignError(f"{path}: cannot be read: {error.strerror}") from None


def _relative(kernel: Path, output: Path) -> str:
    try:
        return str(kernel.resolve().relative_to(output.resolve().parent))
    except ValueError:
        return str(kernel.resolve())


def template_arguments(text: str | None) -> tuple[str, ...]:
    """``float,3`` as arguments; commas inside angle brackets do not part them."""
    return tuple(render(group).strip() for group in split_commas(list(tokenize(text)))) if text else ()


def chosen_entry(entry: str | None, source: str, path: Path) -> str:
    """The named kernel, else the only one of the file.

    Raises:
        CampaignError: If it is not there, or not unique.
    """
    names = entries(source, str(path))
    if not names:
        raise CampaignError(f"{path}: holds no __global__ function")
    if entry is None and len(names) > 1:
        raise CampaignError(f"{path}: holds several kernels; choose one with --entry ({', '.join(names)})")
    if entry is not None and entry not in names:
        raise CampaignError(f"{path}: has no kernel '{entry}'; {nearest(entry, names)}")
    return entry or names[0]


def draft(source: str, entry: str, path: Path, shown: str, template_args: Sequence[str] = ()) -> Draft:
    """What can be read from the source; the launch stays open if the body is out of the front end's reach."""
    template = template_parameters(source, entry, str(path))
    given = tuple(template_args) or tuple(parameter.guess for parameter in template)
    guessed = "" if template_args else ", ".join(parameter.name for parameter in template)
    try:
        kernel = parse_kernel(source, entry, path=str(path), template_args=given)
    except SourceError:
        kernel = verbatim_kernel(source, entry, path=str(path), template_args=given)
    sizes = tuple(
        p.name for p in kernel.params if not p.pointer and (dtype_of(p.ctype) or "").lstrip("u").startswith("int")
    )
    text = kernel.verbatim or verbatim_kernel(source, entry, path=str(path), template_args=given).verbatim
    where = positions(kernel, text)
    domain, unsure = _domain(where, sizes)
    return Draft(
        shown, entry, kernel.params, sizes, domain, _read(kernel), shapes(kernel, where, sizes), _block(where), given,
        guessed, unsure,
    )  # fmt: skip


def _domain(where: Positions, sizes: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """Iterations along each dimension in use, and whether some of them are no more than a guess."""
    if not sizes and not where.extents:
        return (), True
    known = {dim: size_text(upper, sizes) for dim, upper in where.extents.items()}
    left = [name for name in reversed(sizes) if name not in known.values()] or list(sizes)
    domain: list[str] = []
    unsure = False
    for dim in "xyz"[: where.dims]:
        text = known.get(dim)
        if text is None:
            unsure = True
            text = sizes[0] if where.dims == 1 and sizes else left.pop(0) if left else "1"
        domain.append(text)
    return tuple(domain), unsure


def _block(where: Positions) -> tuple[int, ...]:
    usual = _BLOCKS[where.dims]
    return tuple(where.threads.get(dim, threads) for dim, threads in zip("xyz", usual, strict=False))


def _read(kernel: Kernel) -> frozenset[str]:
    """Arrays whose old values the kernel may use; all of them where a part of it was not looked into."""
    found = effects(kernel.body)
    if found.opaque or found.calls or kernel.verbatim:
        return frozenset(param.name for param in kernel.params if param.pointer)
    read = {access.array for access in found.reads}
    for stmt in flatten(kernel.body):
        if isinstance(stmt, Assign):
            read |= {access.array for access in accesses(stmt.value)}
    return frozenset(read)


def campaign_text(found: Draft) -> str:
    """The commented YAML. It is valid as it stands but for the numbers that only the user knows."""
    arrays = [param for param in found.params if param.pointer]
    arguments = "\n".join(_argument(param, found) for param in found.params)
    sizes = found.sizes or ("N",)
    blanks = ", ".join(f"{name}: {SIZE_PLACEHOLDER}" for name in sizes)
    return _TEMPLATE.format(
        entry=found.entry,
        source=_quoted(found.source),
        arguments=arguments,
        template=_template_text(found),
        domain=_per_axis(found.domain or (sizes[0],)),
        guess=" A GUESS: look it over." if found.unsure else "",
        block=_per_axis(tuple(map(str, found.block))),
        alignment=max([4, *(DTYPES[dtype_of(p.ctype) or "float32"][1] for p in arrays)]),
        blanks=blanks,
        sizes=", ".join(sizes),
        first=sizes[0],
        outputs=", ".join(param.name for param in arrays if not param.const) or "none found",
    )


def _template_text(found: Draft) -> str:
    if not found.template:
        return "# template_args: [float, 16]         # for a kernel template, in order"
    note = f" # {found.guessed}: a guess, put in what you launch it with" if found.guessed else ""
    return f"template_args: [{', '.join(map(_quoted, found.template))}]{note}"


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
        role = "in" if param.const else "inout" if param.name in found.read else "out"
        notes += [shape.note] if shape.note else []
        extents = ", ".join(shape.extents)
        return f"  - {{name: {param.name}, dtype: {dtype}, shape: [{extents}], role: {role}}}{_remark(notes)}"
    value = param.name if param.name in found.sizes else "1.0"
    return f"  - {{name: {param.name}, dtype: {dtype}, value: {value}}}{_remark(notes)}"


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
#   dtype: float32, float64, float16, int8 ... int64, uint8 ... uint64
#   shape: extents of an array as expressions of sizes, row-major: [M, K], [2*N + 1], [(N + 15) // 16]
#   value: of a scalar: an expression of sizes, or a number
#   role:  in, out (written only) or inout (read and written). Written here: {outputs}
#   init:  uniform | normal | integers | constant | zeros | arange | permutation | file, with their numbers:
#          {{kind: uniform, low: -1, high: 1}}, {{kind: normal, mean: 0, std: 2}}, {{kind: file, path: data.npy}}
# The shapes below are read off the kernel's subscripts: look them over.
arguments:
{arguments}

launch:
  domain: {{{domain}}} # iterations along each axis; the grid is ceil(domain / block).{guess}
  # grid: {{x: {first}}}                 # instead of a domain, where blocks are not a cover of it (a block a row, say)
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

# tunables: {{TILE: [16, 32, 64]}}        # macros of your own; the first value is the default
# restrictions: [TILE % 16 == 0]
# transforms:
#   forbid: [unroll, shared_tile@A]    # by transform, transform@site or @site
#   focus: []                          # when given, only these
#   pin: [{{transform: unroll, site: k, params: {{factor: 4}}}}]
# limits: {{registers: 128, shared_memory: 49152, threads: 512}}

objective: latency
budget: {{evaluations: 100, minutes: 10}} # patience: 50 stops after so many measurements without a gain
# population: 24
seed: 1
# device: auto                         # opencl:0, cuda:0; `evo-tune devices` lists them
# surrogate: true                      # a model that skips the hopeless ones
# epsilon: 0.1                         # share of proposals that it may not skip
knowledge: auto                        # none, or postgresql+psycopg://user@host/base
output: evo-out
"""
