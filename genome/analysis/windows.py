"""Windows: boxes of elements that reads of one shape fill, each found again by its place in the box."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from genome.analysis.filled import unfilled
from genome.analysis.footprint import Box, FootprintError, Range, footprint, union
from genome.ir.expr import Expr, Index, names
from genome.ir.poly import constant, poly


@dataclass(frozen=True)
class Window:
    """Reads of one shape: for each subscript their box, and where each read starts in it."""

    reads: tuple[Index, ...]
    boxes: tuple[Box, ...]
    offsets: tuple[tuple[tuple[int, ...], ...], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Elements along each dimension of the boxes of all subscripts."""
        return tuple(
            box.size(d) + max(row[d] for row in starts)
            for box, starts in zip(self.boxes, self.offsets, strict=True)
            for d in range(len(box.strides))
        )

    def place(self, read: int) -> tuple[Expr, ...]:
        """Where in the window a read finds its element."""
        return tuple(
            (box.local(d) + constant(starts[read][d])).to_expr()
            for box, starts in zip(self.boxes, self.offsets, strict=True)
            for d in range(len(box.strides))
        )

    def address(self, at: Sequence[Expr]) -> tuple[Expr, ...]:
        """The subscripts of the element at a place of the window, given by dimension."""
        left, found = list(at), []
        for box in self.boxes:
            total = box.base
            for stride in box.strides:
                total += stride * poly(left.pop(0))
            found.append(total.to_expr())
        return tuple(found)


def windows_of(reads: Sequence[Index], ranges: Mapping[str, Range]) -> tuple[Window, ...]:
    """Each read with the first others with which it fills a box.

    Args:
        reads: Elements of one array.
        ranges: Variables that take every value of their range; the others stand.

    Raises:
        FootprintError: If a read fills no box, or is not affine.
    """
    found: list[Window] = []
    for read in reads:
        for number, window in enumerate(found):
            joined = _window((*window.reads, read), ranges)
            if joined is not None:
                found[number] = joined
                break
        else:
            own = _window((read,), ranges)
            if own is None:
                raise FootprintError(f"reads of {read.array} leave gaps")
            found.append(own)
    return tuple(found)


def _window(reads: Sequence[Index], ranges: Mapping[str, Range]) -> Window | None:
    """The window of some reads; None if they do not fill one."""
    boxes, offsets = [], []
    for number in range(len(reads[0].subscripts)):
        parts = [read.subscripts[number] for read in reads]
        used = {name for part in parts for name in names(part)}
        mine = {name: values for name, values in ranges.items() if name in used}
        try:
            box, starts = union([footprint(part, mine) for part in parts])
        except FootprintError:
            if len(reads) == 1:
                raise
            return None
        boxes.append(box)
        offsets.append(starts)
    running = [extent.variable for box in boxes for along in box.extents for extent in along]
    rows = [tuple(at for starts in offsets for at in starts[read]) for read in range(len(reads))]
    extents = [along for box in boxes for along in box.extents]
    if len(set(running)) < len(running) or unfilled(extents, rows):
        return None
    return Window(tuple(reads), tuple(boxes), tuple(offsets))
