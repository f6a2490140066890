"""A kernel known by its file alone: the campaign that ``evo-tune init`` would write, numbers in place of blanks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evo.init_campaign import chosen_entry, read_kernel
from evo.init_draft import Draft, draft
from genome.ir.kernel import Param
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, KernelSpec, LaunchSpec, ProblemSize, dtype_of

GUESSED_SIZE = 1024
"""Every size of a kernel whose campaign is not written yet."""


@dataclass(frozen=True)
class FileKernel:
    """What a file suggests.

    Attributes:
        spec: Nothing is assumed in it, and its one size is made up.
        guesses: What was guessed, a sentence each.
    """

    spec: KernelSpec
    guesses: tuple[str, ...]


def file_kernel(
    path: Path,
    entry: str | None,
    template_args: Sequence[str] = (),
    defines: Sequence[tuple[str, str]] = (),
    include_dirs: Sequence[str] = (),
) -> FileKernel:
    """The kernel of a ``.cu`` file with the launch, shapes and roles that ``evo-tune init`` would guess.

    Arguments of a kernel template are guessed where none are given.

    Raises:
        CampaignError: If the file or the entry is not there.
        SourceError: If the file cannot be preprocessed.
    """
    source, remark = read_kernel(path)
    chosen = chosen_entry(entry, source, path, defines, include_dirs)
    found = draft(source, chosen, path, str(path), template_args, defines, include_dirs)
    sizes = found.sizes or ("N",)
    spec = KernelSpec(
        name=found.entry,
        source=source,
        entry=found.entry,
        args=tuple(_argument(param, found, sizes) for param in found.params),
        launch=_launch(found, sizes),
        sizes=(ProblemSize(tuple((name, GUESSED_SIZE) for name in sizes)),),
        template_args=found.template,
        defines=tuple(defines),
        include_dirs=tuple(include_dirs),
        path=str(path),
    )
    return FileKernel(spec, (*filter(None, (remark,)), *_guesses(found, spec)))


def _argument(param: Param, found: Draft, sizes: Sequence[str]) -> ArgSpec:
    dtype = dtype_of(param.ctype) or "float32"
    if not param.pointer:
        return ArgSpec(param.name, dtype, value=SizeExpr(param.name) if param.name in sizes else 1.0)
    shape = found.shapes.get(param.name)
    extents = shape.extents if shape else (tuple(reversed(found.domain)) or sizes[:1])
    return ArgSpec(param.name, dtype, found.role(param), tuple(SizeExpr(extent) for extent in extents))


def _launch(found: Draft, sizes: Sequence[str]) -> LaunchSpec:
    block = (*found.block, 1, 1)[:3]
    threads = (block[0], block[1], block[2])
    if found.grid:
        return LaunchSpec(threads, grid=tuple(SizeExpr(extent) for extent in found.grid))
    return LaunchSpec(threads, tuple(SizeExpr(extent) for extent in found.iterations or sizes[:1]))


def _guesses(found: Draft, spec: KernelSpec) -> tuple[str, ...]:
    """What a campaign would say instead."""
    block = "x".join(map(str, found.block))
    extents = " x ".join(found.grid or found.iterations or found.sizes[:1])
    what = "blocks" if found.grid else "threads"
    doubt = ", no more than a guess" if found.unsure or not found.domain else ""
    said = [f"The launch: {extents or 'N'} {what} in blocks of {block}{doubt}."]
    said += [f"The sizes: {' = '.join((*(found.sizes or ('N',)), str(GUESSED_SIZE)))}."]
    if found.guessed:
        said.append(f"The template arguments: {found.guessed} = {', '.join(found.template)}.")
    strange = [param for param in found.params if dtype_of(param.ctype) is None]
    said += [f"{param.name} is a {param.ctype}, which a campaign has no dtype for." for param in strange]
    said.append("Nothing is granted: arrays may overlap, sums keep their order.")
    return (*said, f"`evo-tune init {found.source}` writes a campaign in which all of this can be put right.")
