"""``evo-tune kb import``: recorded search spaces, published parameters, results of runs and other bases."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from cli.kb_common import JSON, URL, Column, open_base, show, show_json, version
from evo.importing import Imported, import_file

_COLUMNS: tuple[Column, ...] = (
    ("file", lambda row: Path(row.file).name), ("what", lambda row: row.what), ("kernel", lambda row: row.kernel),
    ("device", lambda row: row.device), ("size", lambda row: row.size), ("rows", lambda row: row.rows),
    ("new", lambda row: row.fresh), ("best ms", lambda row: row.best_ms),
)  # fmt: skip


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--kernel", help="Name of the kernel of a recording that does not tell (or tells another).")
@click.option("--device", help="Name of the device of a recording that does not tell (or tells another).")
@URL
@JSON
def import_(files: tuple[Path, ...], kernel: str | None, device: str | None, url: str | None, as_json: bool) -> None:
    """Takes in FILES: Kernel Tuner caches, T4 results, tables, CLBlast's parameters, run folders, exported bases.

    Each file is taken in as a whole or not at all; what the base holds already is not doubled.
    """
    done: list[Imported] = []
    try:
        with open_base(url) as base:
            for file in files:
                done.append(import_file(base, file, kernel, device, version()))
    finally:  # what was taken in before a bad file stays
        if as_json:
            show_json([asdict(item) for item in done])
        elif done:
            show(done, _COLUMNS)
