"""``evo-tune profile``: what limits a kernel, and the evidence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from evaluator.result import Profile
from evo.campaign import Campaign, CampaignError, Overrides, load_plan
from evo.entries_verify import read_whole
from evo.profiling import Profiling, Row, profiling_json
from evo.profiling import profile as profile_kernel
from evo.report.charts import roofline_png
from evo.report.files import write_atomic
from evo.report.summary import milliseconds
from evo.verify import Claim, read_claim
from evo.wire import transforms

_COLUMNS = ("kernel", "size", "time", "bottleneck", "GB/s", "GFLOP/s", "roofline", "registers", "shared", "energy")
_WIDTH = 100  # of the table; narrower terminals wrap it rather than lose a figure


@click.command()
@click.argument("campaign", type=click.Path(path_type=Path))
@click.option("--genome", type=click.Path(path_type=Path), help="best.json of a run, to be profiled beside the kernel.")
@click.option("--device", help="auto, opencl:N or cuda:N; as in the campaign if not given.")
@click.option("--entry", help="One of the file's entries; all of them if not given.")
@click.option("--picture", type=click.Path(path_type=Path), help="Write the roofline as a PNG there.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, and nothing else, on stdout.")
def profile(
    campaign: Path, genome: Path | None, device: str | None, entry: str | None, picture: Path | None, as_json: bool
) -> None:
    """Says what limits the kernel (or each entry) of the CAMPAIGN file at every tuned size.

    Peaks are measured on this device once and kept; hardware counters are read where ncu is on PATH. Each figure says
    whether it was measured or estimated.
    """
    plans, claims = _plans(campaign, device, entry), _claims(genome, campaign)
    if claims and not claims.keys() & plans.keys():
        raise CampaignError(f"--genome: {genome} is a result of {', '.join(claims)}, which is not profiled here")
    if picture and len(plans) > 1:
        raise CampaignError(f"--picture: {campaign} holds several entries; name one with --entry ({', '.join(plans)})")
    results = {name: profile_kernel(plan, claims.get(name)) for name, plan in plans.items()}
    if picture:
        _draw(picture, next(iter(results.values())))
    if as_json:
        found = {name: profiling_json(result) for name, result in results.items()}
        click.echo(json.dumps({"entries": found} if len(found) > 1 else next(iter(found.values())), indent=2))
        return
    for name, result in results.items():
        if name:
            click.echo(f"{name}:")
        _print(result)


def _plans(path: Path, device: str | None, entry: str | None) -> dict[str, Campaign]:
    """The campaigns to look at, by the name of their entry."""
    plan = load_plan(path, Overrides(device=device), transforms())
    if isinstance(plan, Campaign):
        if entry:
            raise CampaignError(f"--entry: {path} has no `entries:`; leave it out")
        return {"": plan}
    plans = {part.name: part.campaign for part in plan.entries}
    if entry and entry not in plans:
        raise CampaignError(f"--entry: {path} has none named '{entry}'; possible: {', '.join(plans)}")
    return {entry: plans[entry]} if entry else plans


def _claims(genome: Path | None, campaign: Path) -> dict[str, Claim]:
    """Results to be profiled beside the kernels, by the name of their entry."""
    if genome is None:
        return {}
    whole = read_whole(genome, campaign)
    if whole is not None:
        return {name: claim for name, _, claim in whole.entries}
    claim = read_claim(genome, campaign)
    return {claim.entry: claim}


def _draw(picture: Path, result: Profiling) -> None:
    drawn = roofline_png(result.device, _profiles(result.before), _profiles(result.after))
    if drawn is None:
        click.echo("no picture: the kernel's operations could not be counted", err=True)
    else:
        write_atomic(picture, drawn)


def _profiles(rows: Sequence[Row]) -> dict[str, Profile]:
    return {row.size: row.profile for row in rows}


def _print(result: Profiling) -> None:
    console, device = Console(), result.device
    console.width = max(console.width, _WIDTH)
    console.print(f"{device.name}: {device.bandwidth_gbs:.0f} GB/s and {device.peak_gflops:.0f} GFLOP/s, measured",
                  highlight=False)  # fmt: skip
    table = Table(box=None, pad_edge=False)
    for title in _COLUMNS:
        table.add_column(title, justify="left" if title in ("kernel", "size", "bottleneck") else "right")
    for row in (*result.before, *result.after):
        found, resources = row.profile, row.resources
        table.add_row(
            row.kernel, row.size, milliseconds(row.ms), str(found.bottleneck), f"{found.gbytes_per_s:.3g}",
            f"{found.gflops:.3g}" if found.flops else "-", f"{found.roofline_fraction:.0%}",
            "-" if resources.registers is None else str(resources.registers),
            "-" if resources.shared_bytes is None else str(resources.shared_bytes),
            "-" if row.energy_mj is None else f"{row.energy_mj:.3g} mJ",
        )  # fmt: skip
    console.print(table)
    for row in (*result.before, *result.after):
        given = ", ".join(row.measured)
        text = f"{row.kernel} at {row.size}: {row.profile.evidence} (measured: {given}; the rest is the model's)"
        console.print(text, highlight=False, soft_wrap=True)
        for name, value in row.profile.counters:
            console.print(f"  {name}: {value:.4g}", highlight=False)
