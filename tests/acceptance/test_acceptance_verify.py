"""``evo-tune verify`` repeats the proof of a result, and does not believe a file that was tampered with."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

CHECKS = [{"M": 32, "N": 64, "K": 48}, {"M": 37, "N": 41, "K": 29}, {"M": 64, "N": 32, "K": 16}]


def test_a_result_is_proven_again_and_a_broken_one_is_not(
    program: Any, write_campaign: Callable[..., Path], tmp_path: Path
) -> None:
    campaign = write_campaign(
        "matmul", check_sizes=CHECKS, sizes=[{"M": 192, "N": 192, "K": 192}], budget={"evaluations": 8, "minutes": 2}
    )
    assert program("run", campaign, "--knowledge", "none").returncode == 0
    best = campaign.parent / "results" / "best.json"
    claimed = json.loads(best.read_text())
    assert claimed["improved"]

    moved = tmp_path / "elsewhere" / "results"
    shutil.copytree(best.parent, moved)
    shutil.copy(campaign, moved.parent)
    for name in ("kernel.cu", "reference.py"):
        shutil.copy(campaign.parent / name, moved.parent)
    again = program("verify", moved / "best.json", "--json", "--processes", "2")
    assert again.returncode == 0, again.stderr
    answer = json.loads(again.stdout)
    assert answer["verified"]
    assert answer["holds"]
    assert answer["same_text"]
    assert answer["processes"] == 2
    assert [check["size"] for check in answer["checks"]] == [
        f"M={size['M']},N={size['N']},K={size['K']}" for size in CHECKS
    ]
    assert answer["claimed"]["median"] == claimed["speedup"]["median"]

    reference = moved.parent / "reference.py"
    reference.write_text(reference.read_text() + "\n_right = matmul\n\n\ndef matmul(*a, **k):\n"
                         "    return {name: value + 1 for name, value in _right(*a, **k).items()}\n")  # fmt: skip
    broken = program("verify", moved / "best.json", "--processes", "2")
    assert broken.returncode == 2  # the kernel as it is does not match the reference any more
    assert "reference" in broken.stderr

    claimed["genome"] = [{"transform": "unroll", "site": {"label": "nothing", "role": ""}, "params": {"factor": 4}}]
    (moved / "best.json").write_text(json.dumps(claimed))
    gone = program.here("verify", moved / "best.json")
    assert gone.returncode == 2
    assert "does not apply" in gone.stderr


@pytest.mark.parametrize(("text", "said"), [
    ("{", "is no best.json"), ("[]", "is no best.json"), ("{}", "field 'speedup' is missing"),
])  # fmt: skip
def test_what_is_no_result_is_named(program: Any, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "best.json"
    path.write_text(text)
    done = program.here("verify", path)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert program.here("verify", tmp_path / "none.json").returncode == 2
