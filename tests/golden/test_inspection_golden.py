"""The JSON of ``evo-tune inspect`` as scripts read it: every key and value, the wording of proofs aside.

Set EVO_UPDATE_GOLDEN=1 to record it again after a wanted change, and read the difference.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from evo.inspection.inspect import inspect_kernel
from evo.kernel_guess import file_kernel
from genome.transforms.coarsen import CoarsenBlocked
from genome.transforms.promote import Promote
from genome.transforms.qualifiers import Restrict
from genome.transforms.shared_tile import SharedTile
from genome.transforms.strip import Strip
from genome.variant import Target

FOLDER = Path(__file__).parent / "inspection"
SOME = (Promote(), CoarsenBlocked(), Strip(), SharedTile(), Restrict())
SENTENCES = ("reason", "text", "summary", "findings", "then", "what")


def without_sentences(data: Any) -> Any:
    """Plain data that tells of its sentences only whether they are there: their wording may change freely."""
    if isinstance(data, dict):
        return {key: _present(value) if key in SENTENCES else without_sentences(value) for key, value in data.items()}
    return [without_sentences(item) for item in data] if isinstance(data, list) else data


def _present(value: Any) -> Any:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [without_sentences(item) for item in value]
    return bool(value)


@pytest.mark.parametrize("name", ["accumulate", "outside"])
def test_json(name: str) -> None:
    path = FOLDER / f"{name}.cu"
    found = file_kernel(path, None)
    seen = inspect_kernel(found.spec, SOME, Target.CUDA, guesses=found.guesses)
    data = without_sentences(json.loads(json.dumps(seen.to_json())))
    data["kernel"]["path"] = path.name
    data["guesses"] = len(data["guesses"])
    text = json.dumps(data, indent=1) + "\n"
    expected = path.with_suffix(".json")
    if os.environ.get("EVO_UPDATE_GOLDEN"):
        expected.write_text(text)
    assert text == expected.read_text()
