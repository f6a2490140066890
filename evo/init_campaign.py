"""Writes a first campaign file from a kernel's own signature: ``evo-tune init``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evo.campaign_errors import nearest
from evo.campaign_kernel import dtype_of
from evo.campaign_types import CampaignError
from genome.analysis.effects import effects
from genome.ir.expr import Binary, Const, Expr, Var, accesses
from genome.ir.kernel import Kernel, Param
from genome.ir.stmt import Assign, flatten
from genome.source.frontend import SourceError, entries, parse_kernel
from genome.source.signature import signature

SIZE_PLACEHOLDER = "FILL_IN"
"""Stands where only the user knows the number; loading the file says so, with the line."""

_BLOCKS = {1: "{x: 256}", 2: "{x: 16, y: 16}", 3: "{x: 8, y: 8, z: 4}"}


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
    """

    source: str
    entry: str
    params: tuple[Param, ...]
    sizes: tuple[str, ...]
    domain: tuple[str, ...]
    read: frozenset[str] = frozenset()


def init_campaign(kernel: Path, entry: str | None, output: Path, force: bool) -> Path:
    """Writes the campaign file, and returns its path. An existing file is kept unless ``force``.

    Raises:
        CampaignError: If the entry is not clear, or the file is there already.
        SourceError: If the source cannot be read by the front end.
        OSError: If the file cannot be written.
    """
    source = read_kernel(kernel)
    chosen = chosen_entry(entry, source, kernel)
    text = campaign_text(draft(source, chosen, kernel, _relative(kernel, output)))
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


def draft(source: str, entry: str, path: Path, shown: str) -> Draft:
    """What can be read from the source; the launch stays open if the body is out of the front end's reach."""
    try:
        kernel: Kernel | None = parse_kernel(source, entry, path=str(path))
    except SourceError:
        kernel = None
    params = kernel.params if kernel else signature(source, entry, str(path))
    sizes = tuple(p.name for p in params if not p.pointer and (dtype_of(p.ctype) or "").lstrip("u").startswith("int"))
    if kernel is None:
        return Draft(shown, entry, params, sizes, ())
    return Draft(shown, entry, params, sizes, _domain(kernel, sizes), _read(kernel))


def _read(kernel: Kernel) -> frozenset[str]:
    """Arrays whose old values the kernel may use; all of them where a part of it was not looked into."""
    found = effects(kernel.body)
    if found.opaque or found.calls:
        return frozenset(param.name for param in kernel.params if param.pointer)
    read = {access.array for access in found.reads}
    for stmt in flatten(kernel.body):
        if isinstance(stmt, Assign):
            read |= {access.array for access in accesses(stmt.value)}
    return frozenset(read)


def _domain(kernel: Kernel, sizes: Sequence[str]) -> tuple[str, ...]:
    extents: dict[str, str] = {}
    for axis in kernel.axes:
        text = _size_text(axis.upper, sizes) if axis.upper is not None else None
        if text is None:
            return ()
        extents[axis.dim] = text
    used = "xyz"[: max(("xyz".index(dim) + 1 for dim in extents), default=0)]
    return tuple(extents.get(dim, "1") for dim in used)


def _size_text(expr: Expr, sizes: Sequence[str]) -> str | None:
    """The bound as an expression of sizes, or None where it is something else."""
    match expr:
        case Const() if expr.value is not None:
            return str(expr.value)
        case Var(name):
            return name if name in sizes else None
        case Binary(op, left, right) if op in "+-*/%":
            first, second = _size_text(left, sizes), _size_text(right, sizes)
            return f"({first} {'//' if op == '/' else op} {second})" if first and second else None
    return None


def campaign_text(found: Draft) -> str:
    """The commented YAML. It is valid as it stands but for the numbers that only the user knows."""
    arrays = [param for param in found.params if param.pointer]
    shape = _default_shape(found)
    arguments = "\n".join(_argument(param, found, shape) for param in found.params)
    sizes = found.sizes or ("N",)
    blanks = ", ".join(f"{name}: {SIZE_PLACEHOLDER}" for name in sizes)
    return _TEMPLATE.format(
        entry=found.entry,
        source=_quoted(found.source),
        arguments=arguments,
        domain=_domain_text(found, sizes),
        block=_BLOCKS[max(1, len(found.domain))],
        blanks=blanks,
        sizes=", ".join(sizes),
        first=sizes[0],
        outputs=", ".join(param.name for param in arrays if not param.const) or "none found",
    )


def _domain_text(found: Draft, sizes: Sequence[str]) -> str:
    if found.domain:
        return ", ".join(f"{dim}: {_plain(text)}" for dim, text in zip("xyz", found.domain, strict=False))
    return f"x: {sizes[0]}"


def _plain(text: str) -> str:
    return text[1:-1] if text.startswith("(") and text.endswith(")") and text.count("(") == 1 else text


def _default_shape(found: Draft) -> str:
    """Extents of the launch, slowest first: right for arrays that every thread owns one element of."""
    extents = [_plain(text) for text in reversed(found.domain)] or [(found.sizes or ("N",))[0]]
    return f"[{', '.join(extents)}]"


def _argument(param: Param, found: Draft, shape: str) -> str:
    dtype = dtype_of(param.ctype) or "float32"
    note = "" if dtype_of(param.ctype) else f" # {param.ctype} in the kernel: check the dtype"
    if param.pointer:
        role = "in" if param.const else "inout" if param.name in found.read else "out"
        return f"  - {{name: {param.name}, dtype: {dtype}, shape: {shape}, role: {role}}}{note}"
    value = param.name if param.name in found.sizes else "1.0"
    return f"  - {{name: {param.name}, dtype: {dtype}, value: {value}}}{note}"


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
  # template_args: [float, 16]         # for a kernel template, in order
  # defines: {{NAME: value}}             # macros
  # include: [include]                 # folders of included files

# One entry a parameter, in the order of the signature.
#   dtype: float32, float64, float16, int8 ... int64, uint8 ... uint64
#   shape: extents of an array as expressions of sizes, row-major: [M, K], [2*N + 1], [(N + 15) // 16]
#   value: of a scalar: an expression of sizes, or a number
#   role:  in, out (written only) or inout (read and written). Written here: {outputs}
#   init:  uniform | normal | integers | constant | zeros | arange | permutation | file, with their numbers:
#          {{kind: uniform, low: -1, high: 1}}, {{kind: normal, mean: 0, std: 2}}, {{kind: file, path: data.npy}}
# The shapes below are guesses from the launch: a signature does not tell them.
arguments:
{arguments}

launch:
  domain: {{{domain}}} # iterations along each axis; the grid is ceil(domain / block)
  # grid: {{x: {first}}}                 # instead of a domain, where blocks are not a cover of it (a block a row, say)
  block: {block}
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
  alignment: 4                         # bytes that every pointer is a multiple of; cudaMalloc gives 256
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
