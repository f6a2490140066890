"""What a backend with memory of its own may offer on top of ``Backend``: comparison and repetition on the device.

Copying whole buffers to the host and comparing them there takes longer than most kernels. A device that offers
``Comparing`` answers questions about its buffers with a few numbers; one that offers ``Repeating`` runs a call several
times, with all that goes before each run, while this process looks on. Both are optional: the host can do all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from evaluator.backend import Buffer, Bytes, Loaded
from evaluator.plan import Call


class Kept(Protocol):
    """A copy of an array in device memory that no variant is given."""

    @property
    def nbytes(self) -> int:
        """Bytes of the array."""

    @property
    def held(self) -> bool:
        """False once the backend has taken the memory back for something else."""

    def release(self) -> None:
        """Gives the memory back. Idempotent."""


@dataclass(frozen=True)
class Canaries:
    """Are the canaries of this buffer whole? Counts bytes that changed."""

    buffer: Buffer


@dataclass(frozen=True)
class Same:
    """Does the buffer hold these bytes? Counts places that differ."""

    buffer: Buffer
    kept: Kept


@dataclass(frozen=True)
class Intact:
    """Does the copy still hold what was stored? Counts 1 if not."""

    kept: Kept


@dataclass(frozen=True)
class Close:
    """Is the buffer near the expected values? Counts elements that are not written and yet changed.

    Attributes:
        buffer: An output.
        values: In float64, or in the output's own dtype.
        written: One byte an element, or None if all are compared.
        dtype: Of the output.
        rtol, atol: Tolerance: errors are relative to ``atol + rtol * |value|``.
        poison: Byte that elements which are not written must still hold; None does not look.
        wide: True if ``values`` are float64 and the output is not.
    """

    buffer: Buffer
    values: Kept
    written: Kept | None
    dtype: str
    rtol: float
    atol: float
    poison: int | None
    wide: bool = True


Question = Canaries | Same | Intact | Close


@dataclass(frozen=True)
class Finding:
    """The answer to a question; what it does not ask for is 0.

    Attributes:
        changed: See the question.
        worst: Largest error of an element relative to the tolerance.
        distance, size: Sums of squares of differences and of values, over elements where both are finite.
        finite: How many those are.
    """

    changed: int = 0
    worst: float = 0.0
    distance: float = 0.0
    size: float = 0.0
    finite: int = 0


@runtime_checkable
class Comparing(Protocol):
    """A backend that compares where the data is."""

    def keep(self, data: Bytes) -> Kept | None:
        """Stores a copy in device memory; None where there is no room for it."""

    def restore(self, buffer: Buffer, kept: Kept) -> None:
        """Fills a buffer with a copy. Returns at once; later calls see it done."""

    def examine(self, questions: Sequence[Question]) -> tuple[Finding, ...]:
        """Answers all questions in one go, after everything that was started before.

        Raises:
            BackendFailure: With LAUNCH_ERROR if the device has failed in the meantime.
        """


@dataclass(frozen=True)
class Preparation:
    """What happens before each of several runs, outside of the timed window.

    Attributes:
        copies: Buffers that are filled with a copy.
        fills: Buffers that are filled with a byte.
        flush_bytes: Most bytes that are touched to evict the last-level cache; 0 leaves the cache warm.
    """

    copies: tuple[tuple[Buffer, Kept], ...] = ()
    fills: tuple[tuple[Buffer, int], ...] = ()
    flush_bytes: int = 0


@runtime_checkable
class Repeating(Protocol):
    """A backend that times several runs without waiting for the host between them."""

    def repeat(
        self, loaded: Loaded, call: Call, buffers: Mapping[str, Buffer], before: Preparation, count: int
    ) -> tuple[float, ...]:
        """Runs a call ``count`` times and waits for the end; milliseconds of each run. See ``Backend.run``."""


@runtime_checkable
class Clocked(Protocol):
    """A backend that knows how fast its device runs."""

    def clocks(self) -> tuple[int, int]:
        """(cores, memory) in MHz at this moment; zeros where the driver does not tell."""
