"""The command line refuses in one line, and its tables are whole wherever they are printed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from click.testing import CliRunner

from cli import kb as kb_module
from cli.main import app
from genome.genes import Gene, Genome, Site
from knowledge.rows import BestRow


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "c.yaml", "--seed", "x"], "--seed: 'x' is not a valid integer range; see `evo-tune run --help`"),
        (["run", "c.yaml", "--evaluations", "0"], "--evaluations: 0 is not in the range x>=1"),
        (["run", "c.yaml", "--nothing"], "No such option"),
        (["run"], "CAMPAIGN: missing; see `evo-tune run --help`"),
        (["nothing"], "No such command 'nothing'; see `evo-tune --help`"),
        (["--nothing"], "No such option"),
        (["kb", "best", "--kernel", "saxpy", "--size", "foo"], "--size: expected NAME=NUMBER"),
    ],
)
def test_wrong_use_is_one_line(arguments: list[str], words: str) -> None:
    outcome = CliRunner().invoke(app, arguments, prog_name="evo-tune")
    assert outcome.exit_code == 2
    assert outcome.output.startswith("evo-tune: ") and outcome.output.count("\n") == 1
    assert words in outcome.output


@pytest.mark.parametrize("arguments", [[], ["kb"]])
def test_no_command_shows_the_help(arguments: list[str]) -> None:
    assert "Commands:" in CliRunner().invoke(app, arguments).output


def test_best_shows_whole_columns_and_genes_below(monkeypatch: pytest.MonkeyPatch) -> None:
    genome = Genome(tuple(Gene.of("unroll", Site(f"loop_{number}"), factor=4) for number in range(12)))
    row = BestRow(
        "a_kernel_with_a_long_name_indeed", "d", "a device of a very long name (PoCL) with 96 units", "sm_90", "t",
        "M=512,N=512,K=512", 1.0, 2.0, 2.0, genome, "v", "src", "cuda", (), "computation", "c", "2026-01-01",
    )  # fmt: skip

    class Base:
        def best(self, *arguments: Any, **options: Any) -> list[BestRow]:
            return [row]

    @contextmanager
    def opened(url: str | None) -> Iterator[Base]:
        yield Base()

    monkeypatch.setattr(kb_module, "open_base", opened)
    lines = CliRunner().invoke(app, ["kb", "best", "--kernel", row.kernel]).output.splitlines()
    assert len(lines) == 3
    assert row.kernel in lines[1] and row.device in lines[1] and row.size in lines[1] and "computation" in lines[1]
    assert lines[0].index("device") == lines[1].index(row.device)
    assert lines[2].strip() == " ".join(f"unroll@loop_{number}(factor=4)" for number in range(12))
