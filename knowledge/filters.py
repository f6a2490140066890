"""Which rows a question is about: conditions on kernel, device, toolchain, size and date, as SQL with parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, func

from knowledge import encode, schema
from knowledge.kernel_features import KERNEL_FEATURE_VERSION, KERNEL_FEATURES

DTYPES = ("int", "float16", "float32", "float64", "narrow")
"""Element types that a kernel's arguments can be asked for; ``float16`` is any float of 16 bits."""


@dataclass(frozen=True)
class Filter:
    """What rows must be like; None and empty ask nothing.

    Attributes:
        kernel: Exact name; a remark in parentheses may follow it.
        device: Part of a device's name or architecture, any case.
        architecture, vendor, toolchain: Part of the text, any case.
        dtype: One of ``DTYPES``: at least one array argument has it. Recorded spaces do not tell.
        ranges: (size name, lowest, highest), inclusive; a problem without that size does not match.
        since, until: When it was recorded.
    """

    kernel: str | None = None
    device: str | None = None
    architecture: str | None = None
    vendor: str | None = None
    toolchain: str | None = None
    dtype: str | None = None
    ranges: tuple[tuple[str, int, int], ...] = ()
    since: datetime | None = None
    until: datetime | None = None

    def on_kernel(self) -> list[ColumnElement[bool]]:
        """Conditions on ``kernel``."""
        found = [] if self.kernel is None else [is_named(self.kernel)]
        if self.dtype is not None:
            only = encode.vector([name == self.dtype for name in KERNEL_FEATURES], schema.KERNEL_DIMENSIONS)
            found.append(schema.kernel.c.feature_version == KERNEL_FEATURE_VERSION)
            found.append(schema.kernel.c.features.max_inner_product(only) < 0)  # the negative product, says pgvector
        return found

    def on_hardware(self) -> list[ColumnElement[bool]]:
        """Conditions on ``hardware``."""
        table = schema.hardware
        found: list[ColumnElement[bool]] = []
        if self.device is not None:
            found.append(_holds(table.c.name, self.device) | _holds(table.c.architecture, self.device))
        if self.architecture is not None:
            found.append(_holds(table.c.architecture, self.architecture))
        if self.vendor is not None:
            found.append(_holds(table.c.vendor, self.vendor))
        return found

    def on_toolchain(self) -> list[ColumnElement[bool]]:
        """Conditions on ``toolchain``."""
        table = schema.toolchain
        text = func.concat_ws(" | ", table.c.platform, table.c.driver, table.c.compiler)
        return [] if self.toolchain is None else [_holds(text, self.toolchain)]

    def on_problem(self) -> list[ColumnElement[bool]]:
        """Conditions on ``problem``. JSON numbers compare as numbers, and other JSON lies outside every range."""
        values = schema.problem.c["values"]
        return [values[name].between(func.to_jsonb(low), func.to_jsonb(high)) for name, low, high in self.ranges]

    def on_date(self, column: ColumnElement[datetime]) -> list[ColumnElement[bool]]:
        """Conditions on a column of times."""
        found = [] if self.since is None else [column >= self.since]
        return found if self.until is None else [*found, column < self.until]

    def everywhere(self, date: ColumnElement[datetime]) -> Sequence[ColumnElement[bool]]:
        """All conditions, for a query that joins all four tables."""
        return (*self.on_kernel(), *self.on_hardware(), *self.on_toolchain(), *self.on_problem(), *self.on_date(date))


def is_named(name: str) -> ColumnElement[bool]:
    """Kernels of this very name, or with nothing but a remark in parentheses after it."""
    column, text = schema.kernel.c.name, encode.text(name, encode.NAME_LENGTH)
    return (column == text) | column.startswith(f"{text} (", autoescape=True)


def _holds(column: ColumnElement[str], part: str) -> ColumnElement[bool]:
    return column.icontains(encode.text(part), autoescape=True)
