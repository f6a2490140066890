"""The one place where errors become a message and an exit code."""

from __future__ import annotations

import os
import sys
from typing import Any

import click
from click.exceptions import NoArgsIsHelpError

BAD_INPUT = 2
LOST = 3
INTERRUPTED = 130


class UserError(click.ClickException):
    """Bad input, or surroundings that the user has to mend: one message, exit code 2."""

    exit_code = BAD_INPUT

    def show(self, file: Any = None) -> None:
        """Prints the message on stderr."""
        click.echo(f"evo-tune: {self.format_message()}", file=file or sys.stderr)


def usage_line(error: click.UsageError) -> str:
    """A wrong use of the command line in one line: which command, which option, what was expected."""
    command = error.ctx.command_path if error.ctx else "evo-tune"
    message = " ".join(error.format_message().split()).rstrip(".")
    if isinstance(error, click.BadParameter) and error.param is not None:
        names = [name for name in error.param.opts if name.startswith("--")] or [error.param.human_readable_name]
        message = f"{names[0]}: {' '.join(error.message.split()).rstrip('.') or 'missing'}"
    return f"{message}; see `{command} --help`"


class GuardedGroup(click.Group):
    """A group whose commands end with one clear message instead of a traceback."""

    def make_context(self, *arguments: Any, **settings: Any) -> click.Context:
        """Reads the group's own options; a wrong one is a UserError."""
        try:
            return super().make_context(*arguments, **settings)
        except NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            raise UserError(usage_line(error)) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the command; expected errors become a UserError, Ctrl-C the exit code 130."""
        try:
            return super().invoke(ctx)
        except NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            raise UserError(usage_line(error)) from None
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
        except Exception as error:
            from evo.expected import expected_errors  # only here: most commands need none of what it imports

            if not isinstance(error, expected_errors()):
                raise
            raise UserError(str(error)) from None
