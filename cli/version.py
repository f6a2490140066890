"""``evo-tune version``."""

from __future__ import annotations

import platform
from importlib import metadata

import click


@click.command()
def version() -> None:
    """Prints the version."""
    try:
        number = metadata.version("evo-tune")
    except metadata.PackageNotFoundError:
        number = "(not installed)"
    click.echo(f"evo-tune {number}, Python {platform.python_version()}")
