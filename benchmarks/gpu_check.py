"""Everything that needs a GPU in one go: the tests on it, then a campaign for each example. For CUDA device ``cuda:0``.

    python benchmarks/gpu_check.py FOLDER [--evaluations 60] [--minutes 2] [--examples matmul softmax] [--no-tests]

Writes ``tests.txt`` (what pytest printed) and ``results.json`` (device, versions, command, and each example's
``best.json`` or error) into FOLDER after every step: what was reached is kept whatever happens later. The exit code is
0 if the tests pass and every example ends with a verified kernel.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from running import ROOT, machine, run_campaign

TESTS = ("tests/gpu", "tests/contract/test_evaluator_backend_cuda.py", "tests/contract/test_evaluator_cuda.py")
EXAMPLES = sorted(path.parent.name for path in ROOT.glob("examples/*/campaign.yaml"))


def main() -> int:
    """Runs all steps; see the module."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--evaluations", type=int, default=60)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--examples", nargs="*", choices=EXAMPLES, default=EXAMPLES)
    parser.add_argument("--no-tests", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    record: dict[str, Any] = {
        "command": " ".join(["python", "benchmarks/gpu_check.py", *sys.argv[1:]]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "gpu": describe_gpu(),
    }
    if not options.no_tests:
        record["tests"] = run_tests(options.folder / "tests.txt")
        save(options.folder, record)
    record["examples"] = {}
    with tempfile.TemporaryDirectory(prefix="evo-tune-") as home:
        os.chmod(home, 0o755)  # as root the knowledge base runs under another account, which must get in
        for name in options.examples:
            record["examples"][name] = run_example(name, options, Path(home))
            save(options.folder, record)
    tests_pass = record.get("tests", {}).get("exit_code", 0) == 0
    return 0 if tests_pass and all(row.get("verified") for row in record["examples"].values()) else 1


def describe_gpu() -> dict[str, Any]:
    """The device as the evaluator sees it, asked in another process."""
    text = (
        "import json; from dataclasses import asdict; from evaluator.devices import facts_of; f = facts_of('cuda:0'); "
        "print(json.dumps({'device': asdict(f.info), 'limits': asdict(f.limits), 'toolchain': asdict(f.toolchain)}))"
    )
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=ROOT, env={**os.environ, "PYTHONPATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr[-2000:]}
    print(json.dumps(found), flush=True)
    return found


def run_tests(log: Path) -> dict[str, Any]:
    """The tests that need a GPU."""
    start = time.monotonic()
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    with log.open("w") as output:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--durations=12", *TESTS], cwd=ROOT, check=False,
            stdout=output, stderr=subprocess.STDOUT, env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip
    lines = log.read_text().strip().splitlines()
    result = {"exit_code": done.returncode, "seconds": round(time.monotonic() - start, 1), "summary": lines[-1]}
    print(f"tests: {result['summary']}", flush=True)
    return result


def run_example(name: str, options: argparse.Namespace, home: Path) -> dict[str, Any]:
    """One campaign: its ``best.json`` with the seconds that it took, or its error."""
    arguments = ("--device", "cuda:0", "--evaluations", str(options.evaluations), "--minutes", str(options.minutes))
    start = time.monotonic()
    try:
        run = run_campaign(
            ROOT / "examples" / name / "campaign.yaml", home, *arguments, "--output", str(home / "results" / name)
        )
    except (RuntimeError, ValueError, OSError) as error:
        print(f"{name}: failed: {str(error).strip()[-2000:]}", flush=True)
        return {"error": str(error).strip()[-4000:], "seconds": round(time.monotonic() - start, 1)}
    speedup = run.best.get("speedup")
    print(f"{name}: {speedup}, verified {run.best.get('verified')}, {run.seconds:.0f} s", flush=True)
    return {"seconds": round(run.seconds, 1), **run.best}


def save(folder: Path, record: dict[str, Any]) -> None:
    """Writes what there is so far."""
    (folder / "results.json").write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
