"""Options that say which rows a question is about."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from typing import Any

import click

from evo.campaign import CampaignError
from knowledge.filters import DTYPES, Filter

_SIZE = re.compile(r"[A-Za-z_]\w*=\d+(,[A-Za-z_]\w*=\d+)*")
_RANGE = re.compile(r"([A-Za-z_]\w*)=(\d*)\.\.(\d*)")
LARGEST = 2**63 - 1

_OPTIONS = (
    click.option("--device", help="Part of a device's name or architecture."),
    click.option("--architecture", help="Part of it: sm_90."),
    click.option("--vendor", help="Part of the vendor's name."),
    click.option("--toolchain", help="Part of platform, driver or compiler: 'CUDA 13'."),
    click.option("--dtype", type=click.Choice(DTYPES), help="Type of the elements of at least one array."),
    click.option("--range", "ranges", multiple=True, help="Sizes from one to another: N=1024..4096, N=..64."),
    click.option("--since", help="Recorded on this day or later: 2026-01-31."),
    click.option("--until", help="Recorded before this day."),
)


def filtered(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds the options of all conditions but the kernel's name; the command gets ``wanted``, a ``Filter``."""

    @wraps(command)
    def ask(**options: Any) -> Any:
        names = ("device", "architecture", "vendor", "toolchain", "dtype")
        conditions = {name: options.pop(name) for name in names}
        ranges = tuple(size_range(text) for text in options.pop("ranges"))
        since, until = (day(options.pop(name), f"--{name}") for name in ("since", "until"))
        return command(wanted=Filter(**conditions, ranges=ranges, since=since, until=until), **options)

    decorated: Callable[..., Any] = ask
    for option in reversed(_OPTIONS):
        decorated = option(decorated)
    return decorated


def check_size(text: str | None) -> None:
    """Refuses what is not a size's label."""
    if text is not None and not _SIZE.fullmatch(text):
        raise CampaignError(f"--size: expected NAME=NUMBER, several with commas (M=512,N=512), got '{text}'")


def size_range(text: str) -> tuple[str, int, int]:
    """``N=1024..4096`` as (name, lowest, highest); an end may be left out."""
    match = _RANGE.fullmatch(text)
    low, high = (match[2], match[3]) if match else ("", "")
    if match is None or not (low or high):
        raise CampaignError(f"--range: expected NAME=LOW..HIGH, one of the two may be left out, got '{text}'")
    ends = int(low or 0), int(high or LARGEST)
    if ends[0] > ends[1] or ends[1] > LARGEST:
        raise CampaignError(f"--range: expected the lower end first, and ends below 2**63, got '{text}'")
    return (match[1], *ends)


def day(text: str | None, option: str) -> datetime | None:
    """A day, or a moment, in UTC where it does not tell."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise CampaignError(f"{option}: expected a day like 2026-01-31, got '{text}'") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
