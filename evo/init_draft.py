"""What a kernel's source suggests for its first campaign file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

from evo.init_positions import Positions, blocks_alone, positions
from evo.init_shapes import Shape, shapes, size_text
from evo.init_stretches import Stretch
from genome.analysis.atomics import updates
from genome.analysis.effects import effects
from genome.analysis.touches import surely_written, touches
from genome.ir.expr import accesses
from genome.ir.kernel import Kernel, Param
from genome.ir.stmt import Assign, flatten
from genome.ir.variables import Variable
from genome.limits import DeviceLimits
from genome.source.frontend import SourceError, parse_kernel
from genome.source.template_guess import Guess, guess_arguments
from genome.source.verbatim import verbatim_kernel
from genome.spec import Role, dtype_of

_BLOCKS = {1: (256,), 2: (16, 16), 3: (8, 8, 4)}


@dataclass(frozen=True)
class Draft:
    """What a signature and an index map suggest.

    Attributes:
        source: File name as it stands in the campaign file.
        entry: The kernel.
        params: In the order of the signature.
        sizes: Scalar integer parameters: the sizes.
        domain: Positions along x, y, z in terms of sizes; empty when the index map was not understood.
        read: Arrays that the body reads: one that may be written too is ``inout``.
        written: Arrays that it writes, or may write.
        shapes: Of the arrays whose subscripts tell one.
        block: Threads along x, y, z.
        template: Arguments of the kernel template, given or guessed.
        guessed: Remark on the template's arguments where they are a guess; else empty.
        unsure: True where the domain is a guess.
        updated: Arrays that atomics update.
        alone: Launch dimensions along which a block has a number of its own: the launch is then a grid.
        variables: Variables of the file that the host fills, and that the kernel uses.
        stretches: Launch dimensions along which a thread has several positions.
    """

    source: str
    entry: str
    params: tuple[Param, ...]
    sizes: tuple[str, ...]
    domain: tuple[str, ...]
    read: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    block: tuple[int, ...] = (256,)
    template: tuple[str, ...] = ()
    guessed: str = ""
    unsure: bool = False
    alone: tuple[str, ...] = ()
    updated: frozenset[str] = frozenset()
    variables: tuple[Variable, ...] = ()
    stretches: Mapping[str, Stretch] = field(default_factory=dict)

    def role(self, param: Param) -> Role:
        """What an array is for: written is what is not const, and no plain input."""
        if param.const or param.name not in self.written:
            return Role.IN
        return Role.INOUT if param.name in self.read else Role.OUT

    @property
    def iterations(self) -> tuple[str, ...]:
        """Threads along x, y, z: as many as positions, but where a thread has several."""
        each = {dim: stretch.each for dim, stretch in self.stretches.items()}
        return tuple(
            _quotient(extent, each[dim]) if dim in each else extent
            for dim, extent in zip("xyz", self.domain, strict=False)
        )

    @property
    def grid(self) -> tuple[str, ...]:
        """Blocks along each dimension where a block has a number of its own, or a stretch that is a number of the text;
        empty where the launch is a domain.
        """
        fixed = {dim: stretch.each * stretch.threads for dim, stretch in self.stretches.items() if stretch.threads}
        if not self.alone and not fixed:
            return ()
        extents = self.domain or ((self.sizes or ("N",))[0],)
        return tuple(
            extent if dim in self.alone else _quotient(extent, fixed.get(dim, threads))
            for dim, extent, threads in zip("xyz", extents, self.block, strict=False)
        )


def _quotient(extent: str, by: int) -> str:
    """``(n + 255) // 256``."""
    return f"({extent} + {by - 1}) // {by}"


def draft(
    source: str, entry: str, path: Path, shown: str, template_args: Sequence[str] = (),
    defines: Sequence[tuple[str, str]] = (), include_dirs: Sequence[str] = (),
) -> Draft:  # fmt: skip
    """What can be read from the source; the launch stays open if the body is out of the front end's reach."""
    guess = Guess() if template_args else guess_arguments(source, entry, str(path), defines, include_dirs)
    given, guessed = tuple(template_args) or guess.arguments, ", ".join(guess.unsure)
    how: dict[str, Any] = {"path": str(path), "template_args": given, "defines": defines, "include_dirs": include_dirs}
    try:
        kernel = parse_kernel(source, entry, **how)
    except SourceError:
        kernel = verbatim_kernel(source, entry, **how)
    sizes = tuple(
        p.name for p in kernel.params if not p.pointer and (dtype_of(p.ctype) or "").lstrip("u").startswith("int")
    )
    text = kernel.verbatim or verbatim_kernel(source, entry, **how).verbatim
    where = positions(kernel, text)
    domain, unsure = _domain(where, sizes)
    alone = blocks_alone(kernel, text)
    single = {dim for dim in alone if dim != "x" and not re.search(rf"\bthreadIdx\s*\.\s*{dim}\b", text)}
    return Draft(
        shown, entry, kernel.params, sizes, domain, _read(kernel), _written(kernel),
        shapes(kernel, where, sizes), _block(where, single),
        given, guessed, unsure, alone,
        frozenset(update.target.array for update in updates(kernel.body)), _filled(kernel), where.stretches,
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


def _block(where: Positions, single: Set[str]) -> tuple[int, ...]:
    """One thread along the ``single`` dimensions, where nobody asks for more.

    A stretch of positions that no block can have threads for is one where each thread has several.
    """
    usual = iter(_BLOCKS[where.dims - len(single)])
    guessed = {dim: 1 if dim in single else next(usual) for dim in "xyz"[: where.dims]}
    told = {**where.threads, **{dim: stretch.threads or guessed[dim] for dim, stretch in where.stretches.items()}}
    read = tuple(told.get(dim, threads) for dim, threads in guessed.items())
    return read if prod(read) <= DeviceLimits().max_threads else tuple(guessed.values())


def _filled(kernel: Kernel) -> tuple[Variable, ...]:
    """Variables that the host fills; those that the kernel writes are none."""
    written = surely_written(kernel.body)
    return tuple(variable for variable in kernel.variables if variable.name not in written)


def _written(kernel: Kernel) -> frozenset[str]:
    """Arrays that the kernel writes; all that are not const where it writes none for sure, or was not looked into."""
    pointers = frozenset(param.name for param in kernel.params if param.pointer and not param.const)
    found = pointers if kernel.verbatim else touches(kernel.body, pointers).written
    return found or pointers


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
