"""``evo-tune``: the group of all commands."""

from __future__ import annotations

import signal
import sys
from importlib import import_module

import click

from cli.errors import GuardedGroup

COMMANDS = {
    "init": "Writes a commented campaign file from the signature of the kernel in KERNEL (a .cu file).",
    "inspect": "Says what the engine understood of a kernel, which transforms apply where, and why others do not.",
    "run": "Evolves the kernel (or the entries) of the CAMPAIGN file within its budget.",
    "verify": "Repeats the whole proof of the BEST.json of a run: right at every size, and faster in fresh processes.",
    "retune": "Proves the champions of the knowledge base again where driver, compiler, device or evo-tune have "
    "changed.",
    "profile": "Says what limits the kernel (or each entry) of the CAMPAIGN file at every tuned size.",
    "portability": "Carries the champions of each device in the STUDY file over to the others.",
    "kb": "Asks and keeps the knowledge base.",
    "devices": "Lists the devices of this machine.",
    "version": "Prints the version.",
}
"""Command -> how its own help begins. The module ``cli.NAME`` holds it under the same name."""


class LazyGroup(GuardedGroup):
    """Loads the module of a command when it is asked for: models and plots take seconds to import."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order in which a person meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or None."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"cli.{cmd_name}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the commands in the help, and loads none of them for it."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


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
