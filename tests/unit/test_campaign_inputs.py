"""Initialisers of the campaign file, and what is said when one cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest

from evo.campaign import CampaignError, load_campaign
from genome.spec import Initialiser

KERNEL = "__global__ void f(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i]; }\n"  # noqa: E501
CAMPAIGN = """\
version: 1
kernel: {{source: kernel.cu, entry: f}}
arguments:
  - {{name: x, dtype: float32, shape: [n], init: {init}}}
  - {{name: y, dtype: float32, shape: [n], role: out}}
  - {{name: n, dtype: int32}}
launch: {{domain: n, block: 64}}
sizes: [{{n: 4096}}]
"""


def init_of(folder: Path, text: str) -> Initialiser:
    (folder / "kernel.cu").write_text(KERNEL)
    (folder / "fill.py").write_text("def values(shape, sizes, seed): return seed\n")
    (folder / "campaign.yaml").write_text(CAMPAIGN.format(init=text))
    return load_campaign(folder / "campaign.yaml").spec.args[0].init


def test_kinds_without_numbers(tmp_path: Path) -> None:
    for kind in ("uniform", "normal", "wide", "integers", "permutation", "monotone", "zeros", "arange"):
        assert init_of(tmp_path, kind) == Initialiser(kind)


def test_kinds_with_numbers(tmp_path: Path) -> None:
    wide = init_of(tmp_path, "{kind: wide, low: 1e-3, high: 1e9}")
    assert wide == Initialiser("wide", (("low", 1e-3), ("high", 1e9)))
    assert init_of(tmp_path, "{kind: monotone, low: 0, high: 5}").params == (("low", 0.0), ("high", 5.0))


def test_a_generator_is_a_function_of_a_file(tmp_path: Path) -> None:
    found = init_of(tmp_path, "{kind: generator, function: 'fill.py:values'}")
    assert found == Initialiser("generator", (), f"{tmp_path / 'fill.py'}:values")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{kind: wide, low: -1}", "expected low and high above 0"),
        ("{kind: generator}", "expected file.py:function"),
        ("{kind: generator, function: 'fill.py'}", "expected file.py:function"),
        ("{kind: generator, function: 'none.py:values'}", "no such file"),
        ("{kind: wide, std: 2}", "`wide` takes low, high, not std"),
        ("gaussian", "init.kind"),
    ],
)
def test_bad_ones_say_how_to_mend_them(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(CampaignError, match=r"campaign\.yaml:4: ") as caught:
        init_of(tmp_path, text)
    assert words in str(caught.value)
