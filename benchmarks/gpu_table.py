"""The table of the README: every example on a GPU at a size of its own, beside PyTorch. Resumable.

    python benchmarks/gpu_table.py FOLDER [--examples sum softmax] [--evaluations 200] [--minutes 1.0] [--seconds 570]

``--minutes`` counts the whole run of an example but for its proof. Each example is evolved at one large size (check
sizes as in its campaign), then PyTorch does the same work in the same call of this script: eager and ``torch.compile``
with its defaults, float32, TF32 off, the same cold second-level cache.

What is in FOLDER already (``NAME.json``) is not run again, neither the campaign nor PyTorch; ``table.json`` and
``table.md`` are written anew each time. With ``--seconds`` nothing is begun that is not likely to end by then: all
twelve take three or four calls of ten minutes. Times are medians in milliseconds; naive and evolved ones come from the
proof in fresh processes. ``start_s`` of an example is the split of the seconds before its search.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from running import ROOT, machine, run_campaign

SIZES: dict[str, dict[str, int]] = {
    "sum": {"n": 1 << 27},
    "matmul": {"M": 4096, "N": 4096, "K": 4096},
    "softmax": {"rows": 8192, "cols": 8192},
    "layernorm": {"rows": 8192, "cols": 8192},
    "histogram": {"n": 1 << 27},
    "transpose": {"W": 8192, "H": 8192},
    "gelu": {"n": 1 << 27},
    "conv3x3": {"IC": 64, "OC": 64, "H": 256, "W": 256},
    "gemv": {"M": 8192, "N": 8192},
    "vector_add": {"n": 1 << 27},
    "stencil": {"W": 8192, "H": 8192},
    "nbody": {"n": 65536},
}
"""Tuned size of each example, in the order in which they are run."""

TOLERANCES: dict[str, dict[str, float]] = {
    "matmul": {"rtol": 1e-3, "atol": 1e-3},
    "sum": {"rtol": 1e-3, "atol": 5.0},
}
"""Where the naive kernel itself is further from float64 than the example's tolerance allows.

A product of 4096 terms; a sum of 2**27 terms of either sign, whose standard deviation is 6689: some seeds give a total
so near to zero that nothing is a thousandth of it.
"""

_OPENING = "opening: "
_PROOF_S, _TORCH_S = 60.0, 60.0  # of the first example, whose proof and PyTorch nobody has seen yet


def main() -> int:
    """Runs what is missing and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--examples", nargs="*", choices=sorted(SIZES), default=list(SIZES))
    parser.add_argument("--evaluations", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--device", default="cuda:0")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    clock = Clock(options.seconds)
    with tempfile.TemporaryDirectory(prefix="evo-tune-") as home:
        os.chmod(home, 0o755)  # as root the knowledge base runs under another account, which must get in
        for name in options.examples:
            complete(name, options, Path(home), clock)
    rows = {name: row for name in SIZES if "torch" in (row := known(options.folder, name))}
    command = " ".join(["python", "benchmarks/gpu_table.py", *sys.argv[1:]])
    (options.folder / "table.json").write_text(json.dumps({"command": command, "examples": rows}, indent=1) + "\n")
    (options.folder / "table.md").write_text(markdown(rows))
    return 0 if len(rows) == len(SIZES) else 1


class Clock:
    """Seconds that are left to this call, and how long each kind of work took so far."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self._longest: dict[str, float] = {}

    def allows(self, kind: str, guess_s: float) -> bool:
        """True if another piece of this kind is likely to end in time."""
        return time.monotonic() + self._longest.get(kind, guess_s) <= self._end

    @contextmanager
    def timed(self, kind: str) -> Iterator[None]:
        """Remembers how long this piece took."""
        start = time.monotonic()
        yield
        self._longest[kind] = max(self._longest.get(kind, 0.0), time.monotonic() - start)


def complete(name: str, options: argparse.Namespace, home: Path, clock: Clock) -> None:
    """Does what is missing of an example, as far as there is time for it; each part is kept at once."""
    row = known(options.folder, name)
    if not row:
        if not clock.allows("campaign", 60.0 * options.minutes + _PROOF_S):
            print(f"{name}: left to the next call", flush=True)
            return
        with clock.timed("campaign"):
            row = evolved(name, options, home)
        if "error" in row:
            print(f"{name}: {row['error'][-1500:]}", flush=True)
            return
        keep(options.folder, name, row)
    if "torch" not in row:
        if not clock.allows("torch", _TORCH_S):
            print(f"{name}: PyTorch is left to the next call", flush=True)
            return
        with clock.timed("torch"):
            row["torch"] = beside(name)
        keep(options.folder, name, row)
    print(line(name, row), flush=True)


def known(folder: Path, name: str) -> dict[str, Any]:
    """What an earlier call found; empty if nothing."""
    file = folder / f"{name}.json"
    row: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    return row


def keep(folder: Path, name: str, row: dict[str, Any]) -> None:
    """Writes an example's file."""
    (folder / f"{name}.json").write_text(json.dumps(row, indent=1) + "\n")


def evolved(name: str, options: argparse.Namespace, home: Path) -> dict[str, Any]:
    """An example's campaign."""
    campaign = write_campaign(name, home / name)
    try:
        run = run_campaign(campaign, home / "base", "--device", options.device, "--evaluations",
                           str(options.evaluations), "--minutes", str(options.minutes))  # fmt: skip
    except RuntimeError as error:
        return {"error": str(error)}
    best = run.best
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "device": best["device"],
        "toolchain": best["toolchain"],
        "size": SIZES[name],
        "naive_ms": best["sizes"][0]["baseline_ms"],
        "evolved_ms": best["sizes"][0]["best_ms"],
        "speedup": best["speedup"],
        "verified": best["verified"],
        "improved": best["improved"],
        "evaluations": best["evaluations"],
        "wall_s": round(run.seconds, 1),
        "start_s": start_split(best, run.seconds),
        "stages": best["stages"],
        "phases": best["phases"],
        "stop": best["stop"],
        "genome": best["genome"],
        "notes": best["notes"],
    }


def start_split(best: dict[str, Any], wall_s: float) -> dict[str, float]:
    """Seconds before the search by part; ``outside`` is what the program took before the campaign and after it."""
    parts = {stage["stage"]: stage["seconds"] for stage in best["stages"]}
    split = {name.removeprefix(_OPENING): seconds for name, seconds in parts.items() if name.startswith(_OPENING)}
    return {**split, "in all": round(sum(split.values()), 3), "outside": round(wall_s - best["elapsed_s"], 3)}


def beside(name: str, size: dict[str, int] | None = None) -> dict[str, Any]:
    """PyTorch's times at the example's size or another, in a process of its own."""
    program = Path(__file__).with_name("gpu_table_torch.py")
    child = subprocess.run(
        [sys.executable, str(program), name, json.dumps(size or SIZES[name])],
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[str, Any] = json.loads(child.stdout) if child.returncode == 0 else {"error": child.stderr[-1500:]}
    return found


def write_campaign(name: str, folder: Path) -> Path:
    """The example with one tuned size, in a folder of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("kernel.cu", "reference.py"):
        (folder / part).write_text((ROOT / "examples" / name / part).read_text())
    data = yaml.safe_load((ROOT / "examples" / name / "campaign.yaml").read_text())
    data["sizes"] = [SIZES[name]]
    data["output"] = "results"
    data["budget"].pop("patience", None)  # the two budgets of the table are the only ones
    if name in TOLERANCES:
        data["tolerance"] = TOLERANCES[name]
    path = folder / "campaign.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    return path


def line(name: str, row: dict[str, Any]) -> str:
    """One example in a line."""
    torch = row["torch"]
    return (
        f"{name}: {row['naive_ms']:.3f} -> {row['evolved_ms']:.3f} ms, {row['speedup']['median']:.2f}x, "
        f"verified {row['verified']}, {row['evaluations']} evaluations in {row['wall_s']} s "
        f"({row['start_s']['in all']:.1f} s before the search); "
        f"PyTorch {torch.get('eager_ms')} / {torch.get('compile_ms')}"
    )


def markdown(rows: dict[str, dict[str, Any]]) -> str:
    """The table for the README."""
    lines = ["| kernel | size | naive, ms | evolved, ms | speed-up | PyTorch eager, ms | torch.compile, ms |",
             "|---|---|---:|---:|---:|---:|---:|"]  # fmt: skip
    for name, row in rows.items():
        size = ", ".join(f"{key}={value}" for key, value in row["size"].items())
        speedup, torch = row["speedup"], row["torch"]
        figures = [row["naive_ms"], row["evolved_ms"], torch.get("eager_ms"), torch.get("compile_ms")]
        naive, evolved, eager, compiled = ("-" if value is None else f"{value:.3f}" for value in figures)
        gain = f"{speedup['median']:.2f} ({speedup['low']:.2f} to {speedup['high']:.2f})"
        lines.append(f"| {name} | {size} | {naive} | {evolved} | {gain} | {eager} | {compiled} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
