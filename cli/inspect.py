"""``evo-tune inspect``: what the engine understood of a kernel, what it offers, and why not more."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click

from evo.campaign_types import CampaignError
from evo.inspection.inspect import inspect_kernel
from evo.inspection.record import Inspection
from evo.plugins import transforms
from genome.variant import Target

_NAME = re.compile(r"[A-Za-z_]\w*")
_CAMPAIGNS = (".yaml", ".yml")


@click.command()
@click.argument("path", metavar="KERNEL|CAMPAIGN", type=click.Path(path_type=Path))
@click.option("--entry", help="Name of the __global__ function, or of the campaign's entry, where there are several.")
@click.option("--template-args", help="Arguments of a kernel template, in order: float,16.")
@click.option("-D", "defines", multiple=True, metavar="NAME=VALUE", help="A macro; may be given several times.")
@click.option("-I", "folders", multiple=True, type=click.Path(path_type=Path), help="A folder of included files.")
@click.option("--target", type=click.Choice([target.value for target in Target]), default=Target.CUDA.value,
              show_default=True, help="Language that the kernel would be printed in.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else, on stdout.")
@click.option("--html", type=click.Path(path_type=Path), help="Write a page with the source and remarks beside it.")
def inspect(
    path: Path,
    entry: str | None,
    template_args: str | None,
    defines: tuple[str, ...],
    folders: tuple[Path, ...],
    target: str,
    as_json: bool,
    html: Path | None,
) -> None:
    """Says what the engine understood of a kernel, which transforms apply where, and why others do not.

    Takes a campaign file, or a .cu file alone: launch and sizes are then guessed as `evo-tune init` does. Nothing is
    compiled or run.
    """
    if html is not None and html.is_dir():
        raise CampaignError(f"--html {html}: this is a folder; name a file in it")
    if path.suffix in _CAMPAIGNS:
        if template_args or defines or folders:
            raise CampaignError(f"{path}: a campaign says so itself (`kernel: {{template_args, defines, include}}`); "
                                "leave out --template-args, -D and -I")  # fmt: skip
        seen = _campaign(path, entry or "", Target(target))
    else:
        seen = _file(path, entry, template_args, defines, folders, Target(target))
    if html is not None:
        from evo.report.files import write_atomic
        from evo.report.inspection_html import inspection_html

        write_atomic(html, inspection_html(seen).encode())
    if as_json:
        click.echo(json.dumps(seen.to_json(), indent=2))
        return
    from cli.inspect_view import show

    show(seen)
    if html is not None:
        click.echo(f"wrote {html}")


def _campaign(path: Path, entry: str, target: Target) -> Inspection:
    from evo.campaign import load_campaign
    from evo.campaign_replay import require_kernel

    offered = transforms()
    campaign = require_kernel(load_campaign(path, None, offered, entry), "inspect")
    return inspect_kernel(campaign.spec, offered, target, campaign=str(path))


def _file(
    path: Path,
    entry: str | None,
    template_args: str | None,
    defines: tuple[str, ...],
    folders: tuple[Path, ...],
    target: Target,
) -> Inspection:
    from evo.init_campaign import template_arguments
    from evo.kernel_guess import file_kernel

    for folder in folders:
        if not folder.is_dir():
            raise CampaignError(f"-I {folder}: no such folder")
    macros = [_macro(text) for text in defines]
    given = template_arguments(template_args)
    found = file_kernel(path, entry, given, macros, [str(folder.resolve()) for folder in folders])
    return inspect_kernel(found.spec, transforms(), target, guesses=found.guesses)


def _macro(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not _NAME.fullmatch(name):
        raise CampaignError(f"-D {text}: expected NAME=VALUE or NAME")
    return name, value if equals else "1"
