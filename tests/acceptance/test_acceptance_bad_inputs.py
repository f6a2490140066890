"""Bad inputs: one clear message, exit code 2, no traceback, nothing written over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.slow

Edit = Callable[[dict[str, Any]], object]


@dataclass(frozen=True)
class Bad:
    """One way to get it wrong.

    Attributes:
        says: Words that the message must hold.
        edit: Changes the campaign's data in place.
        files: Files of the campaign's folder that are written after the copy, by name.
        append: Raw text at the end of the YAML file.
        options: Further command-line options.
    """

    says: tuple[str, ...]
    edit: Edit = lambda data: None
    files: Mapping[str, str] = field(default_factory=dict)
    append: str = ""
    options: tuple[str, ...] = ()


def reference(body: str) -> Mapping[str, str]:
    return {"reference.py": f"import numpy as np\n\n\ndef matmul(inputs, sizes):\n    {body}\n"}


def pinned(transform: str, site: str, **params: int) -> Mapping[str, Any]:
    return {"transform": transform, "site": site, "params": params}


BROKEN_KERNEL = (
    "__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {\n  int c = ;\n}\n"
)

CASES: dict[str, Bad] = {
    "unknown_field": Bad(("buget",), lambda d: d.update(buget={"evaluations": 1})),
    "field_twice": Bad(("seed",), append="\nseed: 2\n"),
    "wrong_type": Bad(("budget.evaluations",), lambda d: d["budget"].update(evaluations="many")),
    "negative_budget": Bad(("budget.evaluations",), lambda d: d["budget"].update(evaluations=-3)),
    "not_yaml": Bad(("campaign.yaml",), append="\n\t- [broken\n"),
    "call_in_shape": Bad(("shape", "calls"), lambda d: d["arguments"][0].update(shape=["max(M, K)", "K"])),
    "unknown_size": Bad(("Q",), lambda d: d["arguments"][0].update(shape=["Q", "K"])),
    "division_by_zero": Bad(("zero",), lambda d: d["arguments"][0].update(shape=["M // 0", "K"])),
    "unknown_dtype": Bad(("float31",), lambda d: d["arguments"][0].update(dtype="float31")),
    "missing_argument": Bad(("K",), lambda d: d["arguments"].pop()),
    "missing_kernel": Bad(("nowhere.cu",), lambda d: d["kernel"].update(source="nowhere.cu")),
    "entry_not_found": Bad(("matmull", "matmul"), lambda d: d["kernel"].update(entry="matmull")),
    "unparsable_kernel": Bad(("kernel.cu:2",), files={"kernel.cu": BROKEN_KERNEL}),
    "launch_over_limits": Bad(("block", "limit"), lambda d: d["launch"].update(block={"x": 256, "y": 256})),
    "reference_missing": Bad(("nothing",), lambda d: d.update(reference="reference.py:nothing")),
    "reference_raises": Bad(("reference", "boom"), files=reference("raise RuntimeError('boom')")),
    "reference_shape": Bad(("reference", "shape"), files=reference("return {'C': np.zeros(3)}")),
    "reference_wrong": Bad(("reference",), files=reference("return {'C': inputs['A'] @ inputs['B'] + 1}")),
    "database_unreachable": Bad(
        ("127.0.0.1",), lambda d: d.update(knowledge="postgresql+psycopg://nobody:secret@127.0.0.1:1/none")
    ),
    "database_url": Bad(("postgresql",), lambda d: d.update(knowledge="mysql://host/base")),
    "output_is_a_file": Bad(("in-the-way",), lambda d: d.update(output="in-the-way"), files={"in-the-way": "mine\n"}),
    "output_below_a_file": Bad(("in-the-way",), lambda d: d.update(output="in-the-way/out"),
                               files={"in-the-way": "mine\n"}),
    "unknown_device": Bad(("opencl:99",), options=("--device", "opencl:99")),
    "no_such_transform": Bad(("unrol",), lambda d: d.update(transforms={"forbid": ["unrol"]})),
    "pin_parameter": Bad(
        ("campaign.yaml:", "transforms.pin[0].params.thread: unknown parameter; did you mean 'threads'?"),
        lambda d: d.update(transforms={"pin": [pinned("block_shape", "c", thread=32)]}),
    ),
    "pin_site": Bad(
        ("transforms.pin[0].site", "possible: "),
        lambda d: d.update(transforms={"pin": [pinned("block_shape", "i", threads=32)]}),
    ),
    "veto_of_nothing": Bad(("transforms.forbid[0]",), lambda d: d.update(transforms={"forbid": ["@"]})),
    "focus_on_nothing": Bad(("transforms.focus",), lambda d: d.update(transforms={"focus": ["unroll@nothing"]})),
    "over_the_memory": Bad(("sizes[0]", "GiB"), lambda d: d.update(sizes=[{"M": 150_000, "N": 150_000, "K": 16}])),
    "block_of_a_size": Bad(("check_sizes[0]", "for one block"), lambda d: d["launch"].update(block={"x": "N", "y": 1})),
    "endless": Bad(("--minutes",), options=("--minutes", "inf")),
    "device_option": Bad(("--device: expected",), options=("--device", "foo")),
    "seed_option": Bad(("--seed: ",), options=("--seed", "x")),
    "check_size_without_name": Bad(("check_sizes",), lambda d: d.update(check_sizes=[{"M": 8, "N": 8}])),
}  # fmt: skip

WHOLE = {"not_yaml", "unparsable_kernel", "reference_raises", "database_unreachable", "seed_option"}
"""Cases that end the program as a process of its own: one of each stage at which it can end."""


@pytest.mark.parametrize("name", CASES)
def test_bad_campaign(name: str, program: Any, write_campaign: Callable[..., Path]) -> None:
    case = CASES[name]
    campaign = write_campaign("matmul")
    data = yaml.safe_load(campaign.read_text())
    data["sizes"] = [{"M": 32, "N": 32, "K": 32}]
    data["budget"] = {"evaluations": 2, "minutes": 1}
    case.edit(data)
    campaign.write_text(yaml.safe_dump(data, sort_keys=False) + case.append)
    for file, text in case.files.items():
        (campaign.parent / file).write_text(text)
    run = program if name in WHOLE else program.here
    assert_refused(run, case.says, campaign.parent, "run", campaign, *case.options)


def test_missing_campaign(program: Any, tmp_path: Path) -> None:
    assert_refused(program, ("nothing.yaml",), tmp_path, "run", tmp_path / "nothing.yaml")


def test_campaign_is_a_folder(program: Any, tmp_path: Path) -> None:
    assert_refused(program.here, (tmp_path.name,), tmp_path, "run", tmp_path)


def test_init_does_not_write_over(program: Any, write_campaign: Callable[..., Path]) -> None:
    campaign = write_campaign("matmul")
    assert_refused(program.here, ("campaign.yaml",), campaign.parent, "init", campaign.parent / "kernel.cu")


def assert_refused(run: Callable[..., Any], says: tuple[str, ...], folder: Path, *arguments: object) -> None:
    """Exit code 2, one message with these words and no traceback, and the folder as it was."""
    before = contents(folder)
    done = run(*arguments)
    shown = done.stdout + done.stderr
    assert done.returncode == 2, shown
    assert "Traceback" not in shown
    assert shown.count("rror:") <= 1, shown
    for words in says:
        assert words in shown, shown
    assert "secret" not in shown
    assert contents(folder) == before


def contents(folder: Path) -> dict[str, bytes]:
    """Files below the folder, the knowledge base's home left out."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "home" not in path.relative_to(folder).parts and "__pycache__" not in path.parts
    }
