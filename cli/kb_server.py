"""``evo-tune kb start|stop|status|url|upgrade|grant``: the server behind the knowledge base."""

from __future__ import annotations

from dataclasses import asdict

import click

from cli.kb_common import JSON, URL, base_url, show_json
from evo.campaign import CampaignError
from knowledge import server
from knowledge.server import ServerStatus
from knowledge.url import parse_url, shown


@click.command()
def start() -> None:
    """Starts the embedded server and keeps it running; else it runs as long as a command needs it."""
    if base_url(None) is not None:
        raise CampaignError("a URL is set: that server is not ours to start; without it the embedded one is used")
    _print(server.start())


@click.command()
def stop() -> None:
    """Stops the embedded server as soon as nobody uses it."""
    stopped = server.stop()
    click.echo("stopped" if stopped else "other programs use it: it stops with the last of them")


@click.command()
@URL
@JSON
def status(url: str | None, as_json: bool) -> None:
    """How the server is; it is not started for that."""
    found = server.status(base_url(url))
    if as_json:
        show_json(asdict(found))
    else:
        _print(found)


@click.command("url")
@URL
def show_url(url: str | None) -> None:
    """The URL of the base, without its password."""
    named = base_url(url)
    click.echo(shown(server.embedded_url() if named is None else parse_url(named)))


@click.command()
@URL
def upgrade(url: str | None) -> None:
    """Brings the base to the schema of this evo-tune, as every other command does by itself."""
    before, now = server.upgrade(base_url(url))
    click.echo(f"revision {now}, as it was" if before == now else f"revision {before or 'none'} -> {now}")


@click.command()
@click.argument("role")
@click.option("--write", is_flag=True, help="Let it write as well.")
@click.option("--revoke", is_flag=True, help="Take all of its rights away.")
@URL
def grant(role: str, write: bool, revoke: bool, url: str | None) -> None:
    """Lets a ROLE of the server read the base."""
    if write and revoke:
        raise CampaignError("give either --write or --revoke")
    server.grant(base_url(url), role, write, revoke)
    click.echo(f"{role} may {'no longer use' if revoke else 'read and write' if write else 'read'} the base")


def _print(found: ServerStatus) -> None:
    click.echo(found.where)
    if not found.running:
        click.echo("does not run; it starts with the command that needs it")
        return
    kept = "" if not found.embedded else ", kept running" if found.kept else ", while somebody uses it"
    click.echo(f"runs{kept}: Postgres {found.version}, {(found.bytes or 0) / 2**20:.1f} MiB, "
               f"{found.connections} connections")  # fmt: skip
    newer = "" if found.revision == found.newest else f"; this evo-tune makes it {found.newest}"
    click.echo(f"revision {found.revision or 'none'}{newer}")
