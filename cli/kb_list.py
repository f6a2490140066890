"""``evo-tune kb top|history|kernels|devices|similar``: lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from cli.kb_common import CSV, JSON, URL, Column, genes_text, open_base, show, show_json
from cli.kb_filters import check_size, filtered
from evo.init_campaign import template_arguments
from evo.kernel_file import record_of_file
from knowledge.filters import Filter
from knowledge.store import KnowledgeBase

_KERNEL = click.option("--kernel", help="Exact name of a kernel (a remark in parentheses may follow it).")
_LIMIT = click.option("--limit", type=click.IntRange(1), default=20, show_default=True)

_TOP: tuple[Column, ...] = (
    ("rank", lambda row: row.rank), ("kernel", lambda row: row.kernel), ("size", lambda row: row.size),
    ("device", lambda row: row.device), ("ms", lambda row: row.median_ms), ("speedup", lambda row: row.speedup),
    ("variant", lambda row: row.variant), ("agent", lambda row: row.agent),
    ("genes", lambda row: genes_text(row.genome)),
)  # fmt: skip
_HISTORY: tuple[Column, ...] = (
    ("campaign", lambda row: row.id), ("started", lambda row: row.started[:19]), ("name", lambda row: row.name),
    ("kernel", lambda row: row.kernel), ("device", lambda row: row.device),
    ("evaluations", lambda row: row.evaluations), ("failed", lambda row: row.failed), ("best", lambda row: row.best),
    ("seed", lambda row: row.seed), ("state", lambda row: "finished" if row.finished else "open"),
)  # fmt: skip
_KERNELS: tuple[Column, ...] = (
    ("kernel", lambda row: row.name), ("digest", lambda row: row.digest), ("sizes", lambda row: row.sizes),
    ("devices", lambda row: row.devices), ("best", lambda row: row.best), ("published", lambda row: row.published),
    ("source", lambda row: "yes" if row.source else "no"),
)  # fmt: skip
_DEVICES: tuple[Column, ...] = (
    ("device", lambda row: row.name), ("vendor", lambda row: row.vendor), ("kind", lambda row: row.kind),
    ("architecture", lambda row: row.architecture), ("units", lambda row: row.units),
    ("campaigns", lambda row: row.campaigns), ("optima", lambda row: row.optima),
)  # fmt: skip
_SIMILAR: tuple[Column, ...] = (
    ("kernel", lambda row: row.kernel), ("digest", lambda row: row.kernel_digest),
    ("distance", lambda row: row.distance), ("devices", lambda row: row.devices), ("best", lambda row: row.best),
)  # fmt: skip


@click.command()
@_KERNEL
@filtered
@click.option("--size", help="Exact size, for example M=512,N=512.")
@click.option("--limit", type=click.IntRange(1), default=10, show_default=True, help="Variants a size and device.")
@URL
@JSON
@CSV
def top(kernel: str | None, wanted: Filter, size: str | None, limit: int, **output: Any) -> None:
    """The fastest variants of each kernel, size and device."""
    check_size(size)
    _list(lambda base: base.top(replace(wanted, kernel=kernel), size, limit), _TOP, **output)


@click.command()
@_KERNEL
@filtered
@_LIMIT
@URL
@JSON
@CSV
def history(kernel: str | None, wanted: Filter, limit: int, **output: Any) -> None:
    """Campaigns, the newest first."""
    _list(lambda base: base.history(replace(wanted, kernel=kernel), limit), _HISTORY, **output)


@click.command()
@_KERNEL
@filtered
@_LIMIT
@URL
@JSON
@CSV
def kernels(kernel: str | None, wanted: Filter, limit: int, **output: Any) -> None:
    """Kernels that the base knows."""
    _list(lambda base: base.kernels(replace(wanted, kernel=kernel), limit), _KERNELS, **output)


@click.command()
@_KERNEL
@filtered
@_LIMIT
@URL
@JSON
@CSV
def devices(kernel: str | None, wanted: Filter, limit: int, **output: Any) -> None:
    """Devices that the base knows; with --kernel those that have an optimum of it."""
    _list(lambda base: base.devices(replace(wanted, kernel=kernel), limit), _DEVICES, **output)


@click.command()
@click.option("--like", type=click.Path(path_type=Path), required=True, help="A .cu file.")
@click.option("--entry", help="Where the file holds several kernels.")
@click.option("--template-args", help="Arguments of a kernel template, in order: float,16.")
@_LIMIT
@URL
@JSON
@CSV
def similar(like: Path, entry: str | None, template_args: str | None, limit: int, **output: Any) -> None:
    """Kernels that compute something like the one in a file, by distance (0: the same structure)."""
    record = record_of_file(like, entry, template_arguments(template_args))
    _list(lambda base: base.similar(record, limit), _SIMILAR, **output)


def _list(
    ask: Callable[[KnowledgeBase], Sequence[Any]],
    columns: Sequence[Column],
    url: str | None,
    as_json: bool,
    as_csv: bool,
) -> None:
    with open_base(url) as base:
        rows = ask(base)
    if as_json:
        show_json([_json(row) for row in rows])
    else:
        show(rows, columns, as_csv)


def _json(row: Any) -> dict[str, Any]:
    data = asdict(row)
    return {**data, "genome": row.genome.to_json()} if "genome" in data else data
