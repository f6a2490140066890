"""``evo.tune``: a campaign from Python, with its results as a value."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from evo.campaign import Campaign, Overrides, load_campaign
from evo.engine import run_campaign
from evo.expected import expected_errors
from evo.inline_reference import UnwrittenError
from evo.interrupt import stop_on_signals
from evo.progress import ProgressSnapshot, SilentObserver, StopRequest
from evo.report.files import check_folder
from evo.report.outputs import write_outputs
from evo.tune_file import campaign_file
from evo.tuned import Tuned, TuneError, tuned
from evo.wire import transforms

Progress = Callable[[ProgressSnapshot], None]


def tune(
    kernel: str | Path,
    spec: Mapping[str, Any] | None = None,
    *,
    reference: Callable[..., Any] | str | None = None,
    entry: str = "",
    device: str | None = None,
    evaluations: int | None = None,
    minutes: float | None = None,
    seed: int | None = None,
    output: str | Path | None = None,
    knowledge: str | None = None,
    progress: bool | Progress = False,
    stop: StopRequest | None = None,
    resume: bool = False,
) -> Tuned:
    """Evolves a kernel within a budget, verifies the winner, and writes the results into a folder.

    Ctrl-C (or the interrupt of a notebook) ends the search cleanly: the best so far is written and returned, not
    verified yet; ``resume=True`` goes on from there. A second Ctrl-C raises KeyboardInterrupt.

    Args:
        kernel: A campaign file (``.yaml``); or a ``.cu`` file, or CUDA source (text with ``__global__`` in it), which
            ``spec`` describes.
        spec: Fields of a campaign file without ``version`` and ``kernel.source``: ``arguments``, ``launch``, ``sizes``,
            and whatever else is known (``check_sizes``, ``tolerance``, ``assume``, ...).
        reference: What is right, beside ``spec``: a function of ``(inputs, sizes)``, or of arguments and sizes of the
            kernel by their names (``def f(A, B): return A @ B``), or one of numpy (``np.matmul``, which gets the input
            arrays in their order); or ``"file.py:function"``. None: the kernel as it is.
        entry: Which kernel, where the file holds several; which entry, where a campaign file has ``entries:``.
        device: ``auto``, ``opencl:N`` or ``cuda:N``.
        evaluations: Budget of fresh measurements.
        minutes: Budget of wall-clock minutes.
        seed: The one seed of every random choice.
        output: Folder of the run. By default the one that the campaign names, or ``evo-out`` here. Where the campaign
            was given as a ``spec``, it also gets ``campaign.yaml`` with its files: ``evo-tune run`` repeats it.
        knowledge: ``auto``, ``none`` or ``postgresql+psycopg://...``.
        progress: True prints a line for every new best; a function gets every snapshot.
        stop: Asked often; True ends the search as Ctrl-C does.
        resume: Goes on with the interrupted run of this campaign.

    Raises:
        TuneError: If the campaign, the kernel, the device, the reference or the knowledge base cannot be used.
        KeyboardInterrupt: At the second Ctrl-C.
    """
    try:
        file = campaign_file(kernel, spec, reference, entry, output)
        allowed = (Path(reference.rpartition(":")[0]),) if isinstance(reference, str) else ()  # the caller names it
        folder = Path(output) if output else None
        overrides = Overrides(device, evaluations, minutes, seed, folder, knowledge, allowed)
        named = "" if spec is not None else entry
        campaign = load_campaign(file, overrides, transforms(), named)
        check_folder(campaign.output)
        return _run(campaign, _observer(progress), resume, stop)
    except UnwrittenError as error:
        raise TuneError(f"reference: {error}") from None
    except OSError as error:
        raise TuneError(f"{error.filename or output}: {error.strerror or error}") from None
    except expected_errors() as error:
        raise TuneError(str(error)) from None


def _run(campaign: Campaign, observer: SilentObserver, resume: bool, stop: StopRequest | None) -> Tuned:
    with _interruptible() as interrupted:
        result = run_campaign(
            campaign, observer=observer, resume=resume, stop=lambda: interrupted() or (stop is not None and stop())
        )
        write_outputs(campaign, result, campaign.output, transforms())
    return tuned(campaign, result)


@contextmanager
def _interruptible() -> Iterator[StopRequest]:
    """Ctrl-C ends the search; elsewhere than in the main thread, which alone gets signals, nothing does."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    with stop_on_signals(lambda text: print(text, flush=True), (signal.SIGINT,)) as switch:
        yield switch


class _Told(SilentObserver):
    """Hands every snapshot on."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def on_event(self, snapshot: ProgressSnapshot) -> None:
        """See ``Observer``."""
        self._progress(snapshot)


class _Printed(SilentObserver):
    """Prints a line whenever there is a new best."""

    def __init__(self) -> None:
        self._variant = ""

    def on_event(self, snapshot: ProgressSnapshot) -> None:
        """See ``Observer``."""
        best = snapshot.best
        if best is not None and best.variant != self._variant:
            self._variant = best.variant
            print(f"{snapshot.evaluations}/{snapshot.limit} evaluations, {snapshot.elapsed_s:.0f} s: "
                  f"{best.speedup:.2f}x by {best.agent}", flush=True)  # fmt: skip


def _observer(progress: bool | Progress) -> SilentObserver:
    if callable(progress):
        return _Told(progress)
    return _Printed() if progress else SilentObserver()
