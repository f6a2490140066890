"""Campaigns on public kernels that a description names: what the engine makes of code that was not written for it.

    python benchmarks/open_kernels.py DESCRIPTION.json SOURCES FOLDER [--only ID,..] [--device D] [--elements N]
        [--evaluations N] [--define ID:NAME=VALUE] [--json OUT]

``DESCRIPTION.json`` lists kernels with where they stand (repository, path, lines, number of the string in a Python
file), what they take and how they are launched; it holds no code. ``SOURCES`` holds the repositories, each in a folder
``owner+name``. A campaign is written into ``FOLDER/<id>`` and run with the kernel's own text as baseline and oracle;
sizes are halved until an array has at most ``--elements`` elements. A second call leaves out what is done.

For each kernel: the median speed-up with its interval, whether it was verified, the gains that made it; or what
stopped it, in the engine's own words.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import yaml
from running import machine, run_campaign

DTYPES = {"f32": "float32", "f64": "float64", "i32": "int32", "i64": "int64", "u8": "uint8", "u32": "uint32"}
HEADERS = frozenset({".h", ".hpp", ".cuh"})
SMALLEST = 32
"""Sizes below it are counts, radii and channels: they are never halved."""


def main() -> None:
    """Runs what is not done yet, and prints one row a kernel."""
    options = parsed()
    description = json.loads(options.description.read_text())
    rows = []
    for kernel in description["kernels"]:
        if options.only and kernel["id"] not in options.only.split(","):
            continue
        rows.append(row(kernel, options))
        print(line(rows[-1]), flush=True)
    verified = [entry for entry in rows if entry.get("verified")]
    slower = [entry["id"] for entry in verified if entry["high"] < 1.0]
    print(f"{len(verified)} of {len(rows)} verified; slower than the kernel as it was: {', '.join(slower) or 'none'}")
    if options.json:
        record = {"date": date.today().isoformat(), "machine": machine(), "elements": options.elements,
                  "evaluations": options.evaluations, "device": options.device, "rows": rows}  # fmt: skip
        options.json.write_text(json.dumps(record, indent=1) + "\n")


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("description", type=Path)
    parser.add_argument("sources", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--elements", type=int, default=1 << 18)
    parser.add_argument("--evaluations", type=int, default=60)
    parser.add_argument("--define", action="append", default=[], help="a further macro of one kernel")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def row(kernel: Mapping[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """What came of one kernel, from its folder if it is done."""
    folder = options.folder / kernel["id"]
    done = folder / "row.json"
    if done.exists():
        return dict(json.loads(done.read_text()))
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, Any] = {"id": kernel["id"], "kernel": kernel["kernel"], "pattern": kernel["naive_pattern"]}
    try:
        campaign = write_campaign(kernel, options.sources, folder, options.elements, options.define)
        run = run_campaign(campaign, options.folder / "home", "--device", options.device,
                           "--evaluations", str(options.evaluations))  # fmt: skip
    except (RuntimeError, ValueError, OSError) as error:
        found["stopped"] = str(error).strip().splitlines()[-1][:300]
    else:
        best = run.best
        found |= {
            "verified": best["verified"], "speedup": best["speedup"]["median"], "low": best["speedup"]["low"],
            "high": best["speedup"]["high"], "sizes": best["sizes"], "evaluations": best["evaluations"],
            "genes": [gene["transform"] for gene in best["genome"]], "seconds": round(run.seconds, 1),
        }  # fmt: skip
        done.write_text(json.dumps(found, indent=1) + "\n")
    return found


def line(found: Mapping[str, Any]) -> str:
    """One row of the table."""
    head = f"{found['id']}  {found['kernel']:32.32}"
    if "stopped" in found:
        return f"{head}  stopped: {found['stopped']}"
    proof = "verified" if found["verified"] else "NOT verified"
    figures = f"{found['speedup']:6.2f}x ({found['low']:.2f} to {found['high']:.2f})"
    return f"{head}  {figures}  {proof}  {found['seconds']:5.0f} s  {', '.join(found['genes'])}"


def write_campaign(
    kernel: Mapping[str, Any], sources: Path, folder: Path, elements: int, defines: Sequence[str]
) -> Path:
    """The campaign of one description.

    Raises:
        ValueError: If the description says something that a campaign has no words for.
    """
    arguments = [argument(entry) for entry in kernel["args"]]
    sizes = shrunk(kernel["sizes_bench"] or {"calls": 1}, arguments, elements)
    source = source_of(kernel, sources, folder)
    own = [text.partition(":")[2] for text in defines if text.partition(":")[0] == kernel["id"]]
    source["defines"] = kernel["defines"] | dict(text.split("=", 1) for text in own)
    campaign = {
        "version": 1,
        "name": f"{kernel['id']}-{kernel['kernel']}",
        "kernel": source,
        "arguments": arguments,
        "launch": launch(kernel["launch"], divisors := {}),
        "sizes": [sizes],
        "check_sizes": "generate" if kernel["sizes_bench"] else "fixed",
        "tolerance": tolerance(kernel["tolerance"]),
        "assume": {
            "no_alias": True,
            "alignment": 64,
            "reassociation": True,
            "divisible": divisors,
            "ranges": {name: [1, value] for name, value in sizes.items() if value < SMALLEST},
        },
        "budget": {"patience": 40},
        "output": "results",
    }
    path = folder / "campaign.yaml"
    path.write_text(yaml.safe_dump(campaign, sort_keys=False))
    return path


def argument(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A campaign's argument. An array of structs is given by the numbers in it.

    Raises:
        ValueError: For element types that a campaign does not know.
    """
    match = re.match(r"(\w\d+)(?:x(\d+))?\b", entry["dtype"])
    dtype = DTYPES.get(match[1]) if match else None
    if match is None or dtype is None:
        raise ValueError(f"{entry['name']}: no element type for {entry['dtype']}")
    if entry["kind"] == "scalar":
        value = entry["value"]
        return {"name": entry["name"], "dtype": dtype, "value": float(value) if "." in value else expression(value)}
    found: dict[str, Any] = {"name": entry["name"], "dtype": dtype, "shape": [expression(entry["shape"])]}
    found["shape"] += [int(match[2])] if match[2] else []
    found["role"] = entry["role"]
    if match := re.fullmatch(r"uniform\((.+),(.+)\)", entry["init"]):
        found["init"] = {"kind": "uniform", "low": float(match[1]), "high": float(match[2])}
    elif entry["role"] != "out":
        found["init"] = {"kind": "uniform", "low": 0.0, "high": 1.0}
    return found


def expression(text: str | int) -> str | int:
    """``n/512`` and ``ceil(n/256)`` in the words of a campaign."""
    if isinstance(text, int) or text.isdigit():
        return int(text)
    if match := re.fullmatch(r"ceil\((\w+)/(\d+)\)", text):
        return f"({match[1]} + {int(match[2]) - 1}) // {match[2]}"
    return text.replace("/", "//")


def launch(described: Mapping[str, Any], divisors: dict[str, int]) -> dict[str, Any]:
    """A domain where every axis of the grid is its rounded-up quotient, else the grid."""
    block = dict(zip("xyz", described["block"], strict=True))
    if not all(isinstance(threads, int) for threads in block.values()):
        grid = {axis: expression(blocks) for axis, blocks in zip("xyz", described["grid"], strict=True)}
        return {"grid": grid, "block": block}
    domain: dict[str, Any] = {}
    for axis, blocks in zip("xyz", described["grid"], strict=True):
        match = re.fullmatch(r"ceil\((\w+)/(\d+)\)", str(blocks))
        if match and int(match[2]) == block[axis]:
            domain[axis] = expression(match[1])
        elif isinstance(blocks, int):
            domain[axis] = blocks * block[axis]
        elif block[axis] == 1:
            domain[axis] = expression(blocks)
        elif exact := re.fullmatch(r"(\w+)/(\d+)", str(blocks)):
            divisors[exact[1]] = int(exact[2])
            if int(exact[2]) != block[axis]:
                return {"grid": {"x": expression(str(blocks))}, "block": block}
            domain[axis] = exact[1]
    return {"domain": domain, "block": block}


def tolerance(text: str) -> dict[str, float]:
    """``f32: rtol 1e-5, atol 1e-6`` as fields; exact is zero."""
    found = {name: float(value) for name, value in re.findall(r"(rtol|atol) ([\d.e-]+)", text)}
    return found or {"rtol": 0.0, "atol": 0.0}


def shrunk(sizes: Mapping[str, int], arguments: Iterable[Mapping[str, Any]], elements: int) -> dict[str, int]:
    """The sizes, the largest halved until every array has at most that many elements."""
    current = dict(sizes)
    shapes = [extent for entry in arguments for extent in entry.get("shape", ())]
    while max(_value(shape, current) for shape in shapes) > elements:
        largest = max(current, key=lambda name: current[name])
        if current[largest] < 2 * SMALLEST:
            break
        current[largest] //= 2
    return current


def _value(shape: str | int, sizes: Mapping[str, int]) -> int:
    product = 1
    for factor in str(shape).split("//")[0].split("*"):
        product *= sizes[factor] if factor in sizes else int(factor)
    return product


def source_of(kernel: Mapping[str, Any], sources: Path, folder: Path) -> dict[str, Any]:
    """The ``kernel:`` of the campaign; a kernel in a string of a Python file is written into the folder.

    Raises:
        ValueError: If the source is not there.
    """
    where = kernel["source"]
    repository = sources / "+".join(where["repo"].rstrip("/").split("/")[-2:])
    path = (repository / where["path"]).resolve()
    if not path.exists():
        raise ValueError(f"{where['path']} of {where['repo']} is not in {sources}")
    number = where["python_string_index"]
    if number is not None:
        strings = [
            node.value for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]  # fmt: skip
        code = [text for text in strings if "__global__" in text and kernel["kernel"] in text]
        path = (folder / "kernel.cu").resolve()
        path.write_text(code[0])
    found: dict[str, Any] = {"source": str(path), "entry": kernel["kernel"]}
    headers = {str(header.parent) for header in repository.rglob("*.[hc]*") if header.suffix in HEADERS}
    if headers:
        found["include"] = sorted(headers)
    if kernel["template_args"]:
        found["template_args"] = list(kernel["template_args"].values())
    return found


if __name__ == "__main__":
    main()
