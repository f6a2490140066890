"""``evo-tune``: the group of all commands."""

from __future__ import annotations

import signal
import sys
from importlib import import_module

import click

from cli.errors import GuardedGroup

COMMANDS = {
    "init": "cli.init", "inspect": "cli.inspect", "run": "cli.run", "verify": "cli.verify", "retune": "cli.retune",
    "profile": "cli.profile", "portability": "cli.portability", "kb": "cli.kb", "devices": "cli.devices",
    "version": "cli.version",
}  # fmt: skip
"""Command -> module that holds it under the same name."""


class LazyGroup(GuardedGroup):
    """Loads the module of a command when it is asked for: models and plots take seconds to import."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order in which a person meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or None."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(COMMANDS[cmd_name]), cmd_name)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
def app() -> None:
    """Evolves CUDA kernels: verified source transforms, measured where they will run."""


def main() -> None:
    """Entry point of the console script. Ctrl-C ends it without a traceback at any time, also while modules load."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs inherit "ignore"
    try:
        app(prog_name="evo-tune")
    except KeyboardInterrupt:
        print("evo-tune: interrupted", file=sys.stderr)
        sys.exit(130)
