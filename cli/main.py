"""``evo-tune``: the group of all commands."""

from __future__ import annotations

import click

from cli.devices import devices
from cli.errors import GuardedGroup
from cli.init import init
from cli.kb import kb
from cli.run import run
from cli.version import version


@click.group(cls=GuardedGroup, context_settings={"help_option_names": ["-h", "--help"]})
def app() -> None:
    """Evolves CUDA kernels: verified source transforms, measured where they will run."""


for command in (init, run, kb, devices, version):
    app.add_command(command)


def main() -> None:
    """Entry point of the console script."""
    app(prog_name="evo-tune")
