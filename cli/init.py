"""``evo-tune init``: a first campaign file."""

from __future__ import annotations

from pathlib import Path

import click

from evo.init_campaign import SIZE_PLACEHOLDER, init_campaign, template_arguments


@click.command()
@click.argument("kernel", type=click.Path(path_type=Path))
@click.option("--entry", help="Name of the __global__ function, where the file holds several.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Campaign file; beside the kernel by default.")
@click.option("--template-args", help="Arguments of a kernel template, in order: float,16.")
@click.option("--force", is_flag=True, help="Write over an existing campaign file.")
def init(kernel: Path, entry: str | None, output: Path | None, template_args: str | None, force: bool) -> None:
    """Writes a commented campaign file from the signature of the kernel in KERNEL (a .cu file)."""
    written = init_campaign(
        kernel, entry, output or kernel.parent / "campaign.yaml", force, template_arguments(template_args)
    )
    click.echo(f"wrote {written}: fill in `sizes` ({SIZE_PLACEHOLDER}), look over the shapes, then")
    click.echo(f"  evo-tune run {written}")
