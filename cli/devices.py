"""``evo-tune devices``: what kernels can be tuned on here."""

from __future__ import annotations

import json
from dataclasses import asdict

import click
from rich.console import Console
from rich.table import Table

from evaluator.devices import list_devices


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def devices(as_json: bool) -> None:
    """Lists the devices of this machine."""
    found = list_devices()
    if as_json:
        click.echo(json.dumps([asdict(device) for device in found], indent=2))
        return
    if not found:
        click.echo("no device found: install pocl-binary-distribution (Linux x86-64) or an OpenCL or CUDA driver")
        return
    table = Table(box=None, pad_edge=False)
    for title in ("id", "name", "vendor", "kind", "units", "memory", "architecture"):
        table.add_column(title, justify="right" if title in ("units", "memory") else "left")
    for device in found:
        units, memory = str(device.units), f"{device.memory_bytes / 2**30:.1f} GiB"
        table.add_row(device.id, device.name, device.vendor, device.kind, units, memory, device.architecture)
    Console().print(table)
