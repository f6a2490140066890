"""Sizes are named as C names them: words that only Python reserves are names like any other."""

from __future__ import annotations

import keyword
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.main import app
from evo.campaign import load_campaign
from evo.init_campaign import SIZE_PLACEHOLDER
from genome.sizes import ExpressionError, SizeExpr

C_KEYWORDS = {"break", "continue", "else", "for", "if", "return", "while"}
FREE = sorted(set(keyword.kwlist) - C_KEYWORDS - {"and", "or", "not", "True", "False", "None"})


@pytest.mark.parametrize("name", FREE)
def test_a_word_that_python_reserves_is_a_size(name: str) -> None:
    size = SizeExpr(f"({name} + 1) * hid // 2")
    assert size.names == tuple(sorted(("hid", name))) and size.evaluate({name: 3, "hid": 8}) == 16
    assert size.to_c() == f"((({name} + 1) * hid) / 2)"
    assert size.bind({"hid": 8}).evaluate({name: 3}) == 16 and size.bind({name: 3}).names == ("hid",)


@pytest.mark.parametrize("text", ["N if M else 3", "lambda: 1", "x in y", "x is y", "N not in M", "None", "True"])
def test_python_that_is_no_size_stays_refused(text: str) -> None:
    with pytest.raises(ExpressionError):
        SizeExpr(text)


def test_a_kernel_with_such_a_parameter_has_a_campaign(tmp_path: Path) -> None:
    body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < in * 2) y[i] = x[i + from];"
    (tmp_path / "k.cu").write_text(f"__global__ void k(const float* x, float* y, int in, int from) {{ {body} }}")
    assert CliRunner().invoke(app, ["inspect", str(tmp_path / "k.cu")]).exit_code == 0
    assert CliRunner().invoke(app, ["init", str(tmp_path / "k.cu")]).exit_code == 0
    campaign = tmp_path / "campaign.yaml"
    campaign.write_text(campaign.read_text().replace(SIZE_PLACEHOLDER, "64"))
    spec = load_campaign(campaign).spec
    assert spec.sizes[0].env == {"in": 64, "from": 64}
    assert CliRunner().invoke(app, ["inspect", str(campaign)]).exit_code == 0
