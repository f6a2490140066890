"""What the knowledge base saves a campaign: fresh measurements from a cold start and from a warm one. Resumable.

    python benchmarks/warm_start.py FOLDER [--parts size kernel] [--kernels gemv gelu] [--device cuda:0] [--seconds 570]

What is in FOLDER already is not run again; with ``--seconds`` nothing is begun after that time. Parts:

- ``size``: a kernel at another size, on a base that knows it at one: what the first batch holds of the final speed-up.
- ``kernel``: a kernel that the base does not know, but all others of the list (leave one out): examples and ten
  variants of them under other names, argument orders, layouts and element types.
- ``family``: the same without any kernel of its family (no reduction seen before a reduction).
- ``seeds``: one kernel at another size, cold and warm, over paired seeds.
- ``poison``: the same on histories whose times were dealt out at random, on this device or on another vendor's.

A run has arrived when it measured a variant with 95% of the speed-up of the cold run's best. Searches time a variant
once or a few times; so the first good variants of each run and its best are timed again in one comparison in fresh
processes, interleaved with each other, and these figures decide (see ``warm_start_runs``). Where their intervals are
wider than the 5% that are asked about, a second reading is given: the first variant whose interval reaches the goal. A
kernel on which the cold run gains nothing beyond the interval has nothing to arrive at, and is listed apart.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from running import machine
from warm_start_kernels import Kernel, kernels
from warm_start_poison import KINDS, poison
from warm_start_report import report
from warm_start_runs import Setting, base_of, judged, tune

from evo.expected import expected_errors

PARTS = ("size", "kernel", "family", "seeds", "poison")
PAIRED = "matmul"
"""Kernel of the parts ``seeds`` and ``poison``."""


@dataclass(frozen=True)
class Bench:
    """A call of this script: what is run where, and until when."""

    folder: Path
    kernels: tuple[Kernel, ...]
    setting: Setting
    until: float

    def run(self, name: str, kernel: Kernel, size: dict[str, int], seed: int, history: tuple[str, ...] = ()) -> bool:
        """One campaign, unless it is there; False if there was no time for it, or it cannot run here."""
        kept = self.path(name)
        if kept.exists():
            return True
        if time.monotonic() > self.until:
            return False
        start = time.monotonic()
        try:
            tune(kernel.campaign, size, seed, self.setting, [base_of(self.path(known)) for known in history], kept)
        except expected_errors() as error:
            print(f"{name}: {error}", flush=True)
            return False
        print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)
        return True

    def judge(self, name: str, kernel: Kernel, size: dict[str, int], runs: tuple[str, ...]) -> bool:
        """The comparison of what these runs found, unless it is there; False if there was no time for it."""
        kept = self.path(name)
        if kept.exists():
            return True
        if time.monotonic() > self.until:
            return False
        rows = [json.loads(self.path(run).read_text()) for run in runs]
        start = time.monotonic()
        kept.write_text(json.dumps(judged(kernel.campaign, size, self.setting, rows), indent=1) + "\n")
        print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)
        return True

    def path(self, name: str) -> Path:
        """Where a run is kept."""
        return self.folder / f"{name}.json"


def main() -> int:
    """Runs what is missing of the parts and writes ``report.json``; 1 if something is left to another call."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--kernels", nargs="*", help="some of the list; default: all")
    parser.add_argument("--device", default="opencl:0")
    parser.add_argument("--evaluations", type=int, default=40)
    parser.add_argument("--processes", type=int, default=3)
    parser.add_argument("--judges", type=int, default=7)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    setting = Setting(options.device, options.evaluations, options.processes, options.judges)
    known = kernels(options.folder / "kernels", large=options.device.startswith("cuda"))
    chosen = tuple(kernel for kernel in known if not options.kernels or kernel.name in options.kernels)
    bench = Bench(options.folder, chosen, setting, time.monotonic() + options.seconds)
    steps = [step for part in PARTS if part in options.parts for step in STEPS[part](bench, options.seeds)]
    command = f"python benchmarks/warm_start.py {shlex.join(sys.argv[1:])}"
    found = {"command": command, "machine": machine(), **report(options.folder, known, PAIRED)}
    (options.folder / "report.json").write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found["summary"], indent=1))
    return 0 if all(steps) else 1


def size_part(bench: Bench, seeds: int) -> Iterator[bool]:
    """See ``size`` in the text of this script."""
    for kernel in bench.kernels:
        if not kernel.is_variant:
            cold, warm = f"cold-{kernel.name}", f"size-{kernel.name}"
            yield (
                bench.run(cold, kernel, kernel.home, 1)
                and bench.run(warm, kernel, kernel.other, 2, (cold,))
                and bench.judge(f"judged-{warm}", kernel, kernel.other, (warm,))
            )


def kernel_part(bench: Bench, seeds: int) -> Iterator[bool]:
    """See ``kernel``."""
    return _left_out(bench, "kernel", lambda known, kernel: known.name != kernel.name)


def family_part(bench: Bench, seeds: int) -> Iterator[bool]:
    """See ``family``."""
    return _left_out(bench, "family", lambda known, kernel: known.family != kernel.family)


def _left_out(bench: Bench, part: str, tells: Callable[[Kernel, Kernel], bool]) -> Iterator[bool]:
    """Cold runs of all kernels; then each of them on what the others left that tell something of it."""
    cold = [bench.run(f"cold-{kernel.name}", kernel, kernel.home, 1) for kernel in bench.kernels]
    yield all(cold)
    if not all(cold):
        return
    for kernel in bench.kernels:
        history = tuple(f"cold-{known.name}" for known in bench.kernels if tells(known, kernel))
        name = f"{part}-{kernel.name}"
        yield bench.run(name, kernel, kernel.home, 2, history) and bench.judge(
            f"judged-{name}", kernel, kernel.home, (f"cold-{kernel.name}", name)
        )


def seeds_part(bench: Bench, seeds: int) -> Iterator[bool]:
    """See ``seeds``."""
    for kernel, seed in _paired(bench, seeds):
        first, cold, warm = (f"seed{seed}-{name}" for name in ("first", "cold", "warm"))
        yield (
            bench.run(first, kernel, kernel.home, seed)
            and bench.run(cold, kernel, kernel.other, seed)
            and bench.run(warm, kernel, kernel.other, seed, (first,))
            and bench.judge(f"judged-seed{seed}", kernel, kernel.other, (cold, warm))
        )


def poison_part(bench: Bench, seeds: int) -> Iterator[bool]:
    """See ``poison``; it stands on the runs of ``seeds``."""
    for kernel, seed in _paired(bench, seeds):
        first, cold = f"seed{seed}-first", f"seed{seed}-cold"
        if not (bench.run(first, kernel, kernel.home, seed) and bench.run(cold, kernel, kernel.other, seed)):
            yield False
            continue
        for kind in KINDS:
            name, history = f"{kind}{seed}", f"{kind}{seed}-history"
            bad = base_of(bench.path(history))
            if not bad.exists():
                poison(base_of(bench.path(first)), kernel.campaign, kernel.home, kind, seed, bench.setting, bad)
            yield bench.run(name, kernel, kernel.other, seed, (history,)) and bench.judge(
                f"judged-{name}", kernel, kernel.other, (cold, name)
            )


def _paired(bench: Bench, seeds: int) -> Iterator[tuple[Kernel, int]]:
    return ((kernel, seed) for kernel in bench.kernels if kernel.name == PAIRED for seed in range(1, seeds + 1))


STEPS = {
    "size": size_part, "kernel": kernel_part, "family": family_part, "seeds": seeds_part, "poison": poison_part,
}  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())
