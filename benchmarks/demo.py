"""What the matmul example reaches, and how long it takes, over several seeds, each on an empty knowledge base.

    python benchmarks/demo.py [--seeds 5] [--json FILE]

The last row runs the first seed again on the base that its first run left: the second ``make demo``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from running import ROOT, Run, machine, run_campaign

CAMPAIGN = ROOT / "examples" / "matmul" / "campaign.yaml"


def main() -> None:
    """Prints a row a run, and writes them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="evo-tune-") as folder:
        for seed in range(1, options.seeds + 1):
            rows.append(measure(Path(folder) / str(seed), seed, "cold"))
        rows.append(measure(Path(folder) / "1", 1, "again"))
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(), "runs": rows}, indent=1) + "\n")


def measure(folder: Path, seed: int, base: str) -> dict[str, Any]:
    """One run as a row."""
    folder.mkdir(exist_ok=True)
    run = run_campaign(CAMPAIGN, folder, "--seed", str(seed), "--output", str(folder / "results"))
    print(line(run, seed, base), flush=True)
    keys = ("sizes", "speedup", "verified", "evaluations", "pruned", "rejected", "genome")
    return {"seed": seed, "base": base, "seconds": round(run.seconds, 1), **{key: run.best[key] for key in keys}}


def line(run: Run, seed: int, base: str) -> str:
    """The run for a person."""
    speedup = run.best["speedup"]
    sizes = ", ".join(f"{'x'.join(map(str, row['size'].values()))} {row['speedup']:.1f}x" for row in run.best["sizes"])
    return (
        f"seed {seed} ({base}): {speedup['median']:.1f}x [{speedup['low']:.1f}, {speedup['high']:.1f}] ({sizes}), "
        f"verified {run.best['verified']}, {run.best['evaluations']} evaluations, {run.seconds:.0f} s"
    )


if __name__ == "__main__":
    main()
