"""The one place where errors become a message and an exit code."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from evaluator.api import EvaluatorError
from evaluator.devices import DeviceError
from evo.campaign import CampaignError
from evo.export import ExportError
from genome.source.frontend import SourceError
from knowledge.errors import KnowledgeError

BAD_INPUT = 2
LOST = 3
INTERRUPTED = 130
EXPECTED = (CampaignError, SourceError, DeviceError, EvaluatorError, KnowledgeError, ExportError)


class UserError(click.ClickException):
    """Bad input, or surroundings that the user has to mend: one message, exit code 2."""

    exit_code = BAD_INPUT

    def show(self, file: Any = None) -> None:
        """Prints the message on stderr."""
        click.echo(f"evo-tune: {self.format_message()}", file=file or sys.stderr)


class GuardedGroup(click.Group):
    """A group whose commands end with one clear message instead of a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; expected errors become a UserError, Ctrl-C the exit code 130."""
        try:
            return super().invoke(ctx)
        except EXPECTED as error:
            raise UserError(str(error)) from None
        except BrokenPipeError:
            # Whoever read our output has gone: there is nobody to tell.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(1)
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            raise UserError(f"{place}{error.strerror or error}") from None
        except KeyboardInterrupt:
            click.echo("evo-tune: interrupted", err=True)
            ctx.exit(INTERRUPTED)
