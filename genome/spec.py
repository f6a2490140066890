"""What a campaign says about a kernel: arguments, launch, sizes, assumptions, tolerance, tunables.

Frozen, picklable, without behaviour that touches a device. ``evo.campaign`` builds them from YAML.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from genome.limits import DeviceLimits
from genome.sizes import SizeExpr

DTYPES: Mapping[str, tuple[str, int]] = {
    "float32": ("float", 4), "float64": ("double", 8), "float16": ("half", 2), "bfloat16": ("__nv_bfloat16", 2),
    "int8": ("signed char", 1), "uint8": ("unsigned char", 1), "int16": ("short", 2), "uint16": ("unsigned short", 2),
    "int32": ("int", 4), "uint32": ("unsigned int", 4), "int64": ("long long", 8), "uint64": ("unsigned long long", 8),
}  # fmt: skip
"""Name of a dtype -> (C type, bytes). The names are numpy's; ``bfloat16``, which numpy lacks, is ml_dtypes'."""

ELEMENT_BYTES: Mapping[str, int] = {ctype: size for ctype, size in DTYPES.values()}
"""C type -> bytes."""

_DTYPE_OF = {ctype: dtype for dtype, (ctype, _) in DTYPES.items()} | {
    "char": "int8", "unsigned": "uint32", "short int": "int16", "long long int": "int64", "long": "int64",
    "unsigned long": "uint64", "size_t": "uint64", "ptrdiff_t": "int64", "uint": "uint32", "bool": "uint8",
    "int8_t": "int8", "uint8_t": "uint8", "int16_t": "int16", "uint16_t": "uint16", "int32_t": "int32",
    "uint32_t": "uint32", "int64_t": "int64", "uint64_t": "uint64", "__half": "float16", "uchar": "uint8",
    "nv_bfloat16": "bfloat16",
}  # fmt: skip


def dtype_of(ctype: str) -> str | None:
    """Name of the dtype of a C type (vectors by their element), or None for types that have none."""
    if ctype in _DTYPE_OF:
        return _DTYPE_OF[ctype]
    return _DTYPE_OF.get(ctype[:-1]) if ctype[-1:] in "234" else None


class Role(StrEnum):
    """How a kernel uses an argument."""

    IN = "in"
    OUT = "out"
    INOUT = "inout"


@dataclass(frozen=True)
class Initialiser:
    """How an array argument is filled, from the campaign's seed.

    Attributes:
        kind: ``uniform`` (low, high), ``normal`` (mean, std), ``integers`` (low, high exclusive), ``constant`` (value),
            ``zeros``, ``arange``, ``permutation``, ``file`` (path to .npy).
        params: Numeric parameters by name.
        path: For ``file``.
    """

    kind: str = "uniform"
    params: tuple[tuple[str, float], ...] = ()
    path: str = ""


@dataclass(frozen=True)
class ArgSpec:
    """One kernel argument, in the order of the signature.

    Attributes:
        name: Parameter name in the source.
        dtype: A key of ``DTYPES``.
        role: in, out or inout.
        shape: Extents as expressions of sizes; empty for a scalar.
        value: A scalar's value: an expression of sizes, or a number.
        init: How an array is filled (ignored for pure outputs).
        variable: True for a ``__constant__`` or ``__device__`` variable of the file, which the host fills instead of
            passing it.
    """

    name: str
    dtype: str
    role: Role = Role.IN
    shape: tuple[SizeExpr, ...] = ()
    value: SizeExpr | float | None = None
    init: Initialiser = field(default_factory=Initialiser)
    variable: bool = False

    @property
    def is_scalar(self) -> bool:
        """True for a by-value argument."""
        return not self.shape

    def extent(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Shape at these sizes (row-major)."""
        return tuple(axis.evaluate(sizes) for axis in self.shape)


@dataclass(frozen=True)
class LaunchSpec:
    """Launch geometry. Exactly one of ``domain`` and ``grid`` is given.

    Attributes:
        block: Threads of a block along x, y, z.
        domain: Iterations along x, y, z as expressions of sizes; the grid is ceildiv(domain, block * coarsening).
        grid: Blocks along x, y, z, where the grid is not a domain (a block a row, say): geometry genes are locked.
        shared_bytes: Dynamic shared memory in bytes.
        block_exprs: Threads of a block along x, y, z as expressions of tunables; ``block`` then holds their values at
            the defaults, and no gene but the tunables' own changes the block. Empty where the block is fixed.
        sized_block: The same as the user wrote it, where that is in terms of sizes too: variants are right only at
            sizes that give the block which they are compiled for. Empty where no size is in it.

    ``grid`` and ``shared_bytes`` may use tunables as well.
    """

    block: tuple[int, int, int]
    domain: tuple[SizeExpr, ...] = ()
    grid: tuple[SizeExpr, ...] = ()
    shared_bytes: SizeExpr = field(default_factory=lambda: SizeExpr("0"))
    block_exprs: tuple[SizeExpr, ...] = ()
    sized_block: tuple[SizeExpr, ...] = ()

    def at(self, macros: Sequence[tuple[str, str]]) -> LaunchSpec:
        """The launch under these values of the tunable macros: nothing but sizes is left in it."""
        numbers = {name: int(value) for name, value in macros if value.lstrip("-").isdigit()}
        if not numbers:
            return self
        sides = tuple(side.evaluate(numbers) for side in self.block_exprs) or self.block
        block = (*sides, 1, 1)[:3]
        return replace(
            self,
            block=(block[0], block[1], block[2]),
            grid=tuple(extent.bind(numbers) for extent in self.grid),
            shared_bytes=self.shared_bytes.bind(numbers),
            sized_block=tuple(side.bind(numbers) for side in self.sized_block),
        )


@dataclass(frozen=True)
class ProblemSize:
    """Named sizes at which the kernel is measured or checked. ``weight`` counts in the fitness."""

    values: tuple[tuple[str, int], ...]
    weight: float = 1.0

    @property
    def env(self) -> dict[str, int]:
        """Size name -> value."""
        return dict(self.values)

    @property
    def label(self) -> str:
        """``M=512,N=512``, the form in which the knowledge base and the reports name it."""
        return ",".join(f"{name}={value}" for name, value in self.values)


@dataclass(frozen=True)
class Assumptions:
    """What the user grants beyond what the source proves.

    Attributes:
        no_alias: Pointer arguments do not overlap.
        alignment: Bytes that every pointer argument is a multiple of.
        divisible: (scalar parameter, number that divides it).
        ranges: (scalar parameter, low, high), inclusive.
        reassociation: Floating-point sums may be reordered.
        fast_math: Fast-math compile options are allowed.
        tf32: Factors of sums of products in single precision may be rounded to 11 significant bits.
    """

    no_alias: bool = False
    alignment: int = 4
    divisible: tuple[tuple[str, int], ...] = ()
    ranges: tuple[tuple[str, int, int], ...] = ()
    reassociation: bool = False
    fast_math: bool = False
    tf32: bool = False


@dataclass(frozen=True)
class Tolerance:
    """Largest accepted error against the float64 oracle: by element |x - y| <= atol + rtol * |y|, and by norm.

    ``norm`` bounds ||x - y|| / ||y||. None takes the default of the output's dtype.
    """

    rtol: float | None = None
    atol: float | None = None
    norm: float | None = None


@dataclass(frozen=True)
class Tunable:
    """A macro of the user's own with its possible values (printed as ``-DNAME=value``); the first is the default."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Steering:
    """A person's veto and knowledge over genes.

    Each entry is ``transform``, ``transform@site`` or ``@site``, the site by label, role, line (``12``) or lines
    (``10-14``); ``forbid`` drops matching genes, ``focus`` (when not empty) keeps only matching ones, ``pin`` are genes
    in canonical JSON that every genome holds.
    """

    forbid: tuple[str, ...] = ()
    focus: tuple[str, ...] = ()
    pin: tuple[str, ...] = ()


class Reading(StrEnum):
    """What the kernel is printed from."""

    BOTH = "both"  # the user's own text while no gene touches the body, the parsed form once one does
    TEXT = "text"  # the user's text only: the parsed form computes something else
    PARSED = "parsed"  # the parsed form only: the target's language cannot say the text


@dataclass(frozen=True)
class KernelSpec:
    """Everything ``lower`` and the evaluator need to know about a kernel.

    A recorded search space has no ``source`` (empty text): only its tunables are genes. ``args`` are the parameters in
    the order of the signature, then the variables of the file that the campaign fills.
    """

    name: str
    source: str
    entry: str
    args: tuple[ArgSpec, ...]
    launch: LaunchSpec
    sizes: tuple[ProblemSize, ...]
    check_sizes: tuple[ProblemSize, ...] = ()
    assumptions: Assumptions = field(default_factory=Assumptions)
    tolerance: Tolerance = field(default_factory=Tolerance)
    tunables: tuple[Tunable, ...] = ()
    restrictions: tuple[SizeExpr, ...] = ()
    steering: Steering = field(default_factory=Steering)
    limits: DeviceLimits | None = None
    template_args: tuple[str, ...] = ()
    defines: tuple[tuple[str, str], ...] = ()
    include_dirs: tuple[str, ...] = ()
    path: str = "kernel.cu"
    reading: Reading = Reading.BOTH

    @property
    def parameters(self) -> tuple[ArgSpec, ...]:
        """The arguments that the kernel's signature names, in its order."""
        return tuple(arg for arg in self.args if not arg.variable)

    @property
    def variables(self) -> tuple[ArgSpec, ...]:
        """The variables of the file that the host fills."""
        return tuple(arg for arg in self.args if arg.variable)

    def arg(self, name: str) -> ArgSpec | None:
        """The argument of that name, or None."""
        return next((arg for arg in self.args if arg.name == name), None)
