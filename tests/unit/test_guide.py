"""The guide names what there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from genome.transforms.builtin import BUILTIN

GUIDE = Path(__file__).parents[2] / "docs" / "guide"


@pytest.mark.parametrize("name", [transform.name for transform in BUILTIN])
def test_every_transform_is_in_the_guide_once(name: str) -> None:
    assert (GUIDE / "transforms.md").read_text(encoding="utf-8").count(f"\n| `{name}` |") == 1
