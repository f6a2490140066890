"""What the front end makes of kernels that other people wrote: how many it reads, prints back, and can transform.

    python benchmarks/corpus.py FOLDER [--limit N] [--jobs 2] [--records FILE] [--json FILE]

FOLDER holds public repositories, a folder each. Every ``__global__`` function with a body in their ``.cu``, ``.cuh``
and header files is examined once (copies count once), in the file that compiles it, with the folders of its headers,
the ``-D`` of the Makefile beside it, and the template arguments that the file spells out. Nothing is executed. NVRTC
compiles, with the options of the CUDA backend. Each kernel has a deadline in a process that is killed.

``--records`` keeps one JSON line a kernel as it is done; a run that finds the file goes on where it ended.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from corpus_files import Corpus, Found
from corpus_kernel import PLAIN, Task
from corpus_reasons import ranked
from corpus_workers import examined
from running import machine

Record = Mapping[str, Any]
_DEADLINE = 60.0


def main() -> None:
    """Examines the kernels and prints the table; ``--json`` writes the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--limit", type=int, default=0, help="examine every n-th kernel so that about N remain")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--deadline", type=float, default=_DEADLINE, help="seconds a kernel")
    parser.add_argument("--no-compile", dest="compiles", action="store_false", help="only read (four times as fast)")
    parser.add_argument("--records", type=Path, help="JSON lines, one a kernel; continued when it exists")
    parser.add_argument("--json", type=Path, help="where the counts go")
    options = parser.parse_args()
    corpus = Corpus(options.folder.resolve())
    kernels = thinned(corpus.kernels(), options.limit)
    records = examine(corpus, kernels, options)
    counts = table([records[kernel.key] for kernel in kernels])
    for label, (part, whole) in counts.items():
        share = f"{100 * part / whole:6.1f} %" if whole else ""
        print(f"{label:<58}{part:>6} of {whole:>6}{share}")
    milliseconds = ready(records.values())
    print(f"{'median CPU ms until a kernel is ready for transforms':<58}{milliseconds:>8.1f}")
    print(ranked([(kernel.file, records[kernel.key]) for kernel in kernels]))
    if options.json:
        write(options.json, counts, milliseconds, options.limit)


def thinned(kernels: Sequence[Found], limit: int) -> list[Found]:
    """Evenly spread ``limit`` kernels; all of them for 0."""
    step = max(1, len(kernels) // limit) if limit else 1
    return list(kernels)[::step]


def examine(corpus: Corpus, kernels: Sequence[Found], options: argparse.Namespace) -> dict[str, Record]:
    """Key -> record of each kernel; those in the file of records are not examined again.

    They are taken in the order of their digests, so that a part of a run is a fair sample.
    """
    path: Path | None = options.records
    records: dict[str, Record] = {}
    if path is not None and path.exists():
        records = {record["key"]: record for record in map(json.loads, path.read_text().splitlines())}
    places = {kernel.key: kernel for kernel in kernels}
    tasks = [
        Task(kernel.key, str(corpus.folder), kernel.unit, kernel.entry, corpus.include_dirs(kernel.unit),
             corpus.defines(kernel.unit))
        for kernel in sorted(kernels, key=lambda kernel: kernel.key) if kernel.key not in records
    ]  # fmt: skip
    for number, (task, record) in enumerate(examined(tasks, options.jobs, options.deadline, options.compiles), start=1):
        place = places[task.key]
        record |= {"key": task.key, "file": place.file, "entry": place.entry, "start": place.line, "unit": place.unit}
        records[task.key] = record
        if path is not None:
            with path.open("a") as lines:
                lines.write(json.dumps(record) + "\n")
        if number % 100 == 0:
            print(f"{number} of {len(tasks)}", flush=True)
    return records


def table(records: Sequence[Record]) -> dict[str, tuple[int, int]]:
    """Row -> (kernels, of how many). Nothing of a compiler where none was asked."""
    left = [record for record in records if record.get("preprocessed")]
    compiled = _compiled(left) if any("sliced_compiles" in record for record in left) else {}
    return {
        "found, unique": (len(records), len(records)),
        "left by the preprocessor": (len(left), len(records)),
        "sliced": count(left, lambda r: r.get("sliced")),
        "parsed": count(left, lambda r: r.get("parsed")),
        **compiled,
        "without an opaque region": count(left, lambda r: r.get("opaque") == 0),
        "with parallel axes understood": count(left, lambda r: r.get("axes")),
        "a structural transform applies": count(left, structural),
        "crashed": count(records, lambda r: "crash" in r),
        "hung (killed at the deadline)": count(records, lambda r: "hang" in r),
        "compiler killed at the deadline": count(records, lambda r: "compiler" in r),
    }


def _compiled(left: Sequence[Record]) -> dict[str, tuple[int, int]]:
    compiling = [record for record in left if record.get("parsed") and record.get("sliced_compiles")]
    spelled = [record for record in left if record.get("template") != "guessed"]
    return {
        "compiled as sliced": count(left, lambda r: r.get("sliced_compiles")),
        "  of those with known template arguments": count(spelled, lambda r: r.get("sliced_compiles")),
        "compiled printed back": count(compiling, lambda r: r.get("back_compiles")),
        "identical PTX printed back": count(compiling, lambda r: r.get("back_identical")),
        "compiled in normal form": count(compiling, lambda r: r.get("normal_compiles")),
        "identical PTX in normal form": count(compiling, lambda r: r.get("normal_identical")),
    }


def count(among: Sequence[Record], test: Callable[[Record], Any]) -> tuple[int, int]:
    """How many pass the test, and of how many."""
    return sum(1 for record in among if test(record)), len(among)


def structural(record: Record) -> bool:
    """True if a transform that rewrites statements or the mapping of threads applies, though nothing is granted."""
    return bool(set(record.get("offered", ())) - PLAIN)


def ready(records: Any) -> float:
    """Median milliseconds of processor time from the text to the normal form."""
    return float(statistics.median([record["ready_ms"] for record in records if "ready_ms" in record] or [0.0]))


def write(path: Path, counts: Mapping[str, tuple[int, int]], milliseconds: float, limit: int) -> None:
    """The counts with the date, the machine and the command."""
    command = "python benchmarks/corpus.py FOLDER" + (f" --limit {limit}" if limit else "")
    rows = {label.strip(): {"kernels": part, "of": whole} for label, (part, whole) in counts.items()}
    offers = {"not counted as structural": sorted(PLAIN)}
    record = {"date": date.today().isoformat(), "machine": machine(), "command": command, "rows": rows,
              "median ready ms": round(milliseconds, 1), **offers}  # fmt: skip
    path.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
