"""``evo-tune profile``: what limits a kernel, and the evidence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from evaluator.result import Profile
from evo.campaign import Overrides, load_campaign
from evo.profiling import Profiling, Row, profiling_json
from evo.profiling import profile as profile_kernel
from evo.report.charts import roofline_png
from evo.report.files import write_atomic
from evo.report.summary import milliseconds
from evo.verify import read_claim
from evo.wire import transforms

_WIDTH = 100  # of the table; narrower terminals wrap it rather than lose a figure


@click.command()
@click.argument("campaign", type=click.Path(path_type=Path))
@click.option("--genome", type=click.Path(path_type=Path), help="best.json of a run, to be profiled beside the kernel.")
@click.option("--device", help="auto, opencl:N or cuda:N; as in the campaign if not given.")
@click.option("--picture", type=click.Path(path_type=Path), help="Write the roofline as a PNG there.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else, on stdout.")
def profile(campaign: Path, genome: Path | None, device: str | None, picture: Path | None, as_json: bool) -> None:
    """Says what limits the kernel of the CAMPAIGN file at every tuned size.

    Peaks are measured on this device once and kept; hardware counters are read where ncu is on PATH. Each figure says
    whether it was measured or estimated.
    """
    plan = load_campaign(campaign, Overrides(device=device), transforms())
    result = profile_kernel(plan, read_claim(genome, campaign) if genome else None)
    if picture:
        drawn = roofline_png(result.device, _profiles(result.before), _profiles(result.after))
        if drawn is None:
            click.echo("no picture: the kernel's operations could not be counted", err=True)
        else:
            write_atomic(picture, drawn)
    if as_json:
        click.echo(json.dumps(profiling_json(result), indent=2))
        return
    _print(result)


def _profiles(rows: Sequence[Row]) -> dict[str, Profile]:
    return {row.size: row.profile for row in rows}


def _print(result: Profiling) -> None:
    console, device = Console(), result.device
    console.width = max(console.width, _WIDTH)
    console.print(f"{device.name}: {device.bandwidth_gbs:.0f} GB/s and {device.peak_gflops:.0f} GFLOP/s, measured",
                  highlight=False)  # fmt: skip
    table = Table(box=None, pad_edge=False)
    for title in ("kernel", "size", "time", "bottleneck", "GB/s", "GFLOP/s", "roofline", "registers", "shared"):
        table.add_column(title, justify="left" if title in ("kernel", "size", "bottleneck") else "right")
    for row in (*result.before, *result.after):
        found, resources = row.profile, row.resources
        table.add_row(
            row.kernel, row.size, milliseconds(row.ms), str(found.bottleneck), f"{found.gbytes_per_s:.3g}",
            f"{found.gflops:.3g}" if found.flops else "-", f"{found.roofline_fraction:.0%}",
            "-" if resources.registers is None else str(resources.registers),
            "-" if resources.shared_bytes is None else str(resources.shared_bytes),
        )  # fmt: skip
    console.print(table)
    for row in (*result.before, *result.after):
        given = ", ".join(row.profile.measured) or "nothing"
        text = f"{row.kernel} at {row.size}: {row.profile.evidence} (measured: {given}; the rest is the model's)"
        console.print(text, highlight=False, soft_wrap=True)
        for name, value in row.profile.counters:
            console.print(f"  {name}: {value:.4g}", highlight=False)
