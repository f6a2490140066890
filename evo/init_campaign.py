"""Writes a first campaign file from a kernel's own signature, subscripts and guards: ``evo-tune init``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evo.campaign_types import CampaignError
from evo.init_draft import draft
from evo.init_text import SIZE_PLACEHOLDER, campaign_text
from evo.kernel_text import kernel_text, no_kernel
from evo.nearest import nearest
from genome.ir.print_tokens import render, split_commas, tokenize
from genome.source.frontend import entries

__all__ = ["SIZE_PLACEHOLDER", "chosen_entry", "init_campaign", "read_kernel", "template_arguments"]


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
    source, _ = read_kernel(kernel)
    chosen = chosen_entry(entry, source, kernel)
    others = [name for name in entries(source, str(kernel)) if name != chosen]
    text = campaign_text(draft(source, chosen, kernel, _relative(kernel, output), template_args), others)
    try:
        with output.open("w" if force else "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise CampaignError(f"{output}: the file is there already; --force writes over it, -o names another") from None
    return output


def read_kernel(path: Path) -> tuple[str, str]:
    """Text of a ``.cu`` file, and a remark on its encoding where there is one to make.

    Raises:
        CampaignError: If it cannot be read.
        SourceError: If it is no text.
    """
    try:
        return kernel_text(path)
    except FileNotFoundError:
        raise CampaignError(f"{path}: no such file; give the .cu file that holds the kernel") from None
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


def chosen_entry(
    entry: str | None,
    source: str,
    path: Path,
    defines: Sequence[tuple[str, str]] = (),
    include_dirs: Sequence[str] = (),
) -> str:
    """The named kernel, else the only one of the file.

    Raises:
        CampaignError: If it is not there, or not unique.
    """
    names = entries(source, str(path), defines=defines, include_dirs=include_dirs)
    if not names:
        line, words = no_kernel(source)
        raise CampaignError(f"{path}:{line}: {words}" if line else f"{path}: {words}")
    if entry is None and len(names) > 1:
        raise CampaignError(f"{path}: holds several kernels; choose one with --entry ({', '.join(names)})")
    if entry is not None and entry not in names:
        raise CampaignError(f"{path}: has no kernel '{entry}'; {nearest(entry, names)}")
    return entry or names[0]
