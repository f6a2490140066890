"""Two forms of one kernel, its text and what was read of it: which of them a campaign goes on with."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from evaluator.api import EvaluatorError, Measured, NotCompiled
from evaluator.result import Status
from evo.evolve import evolve
from evo.parts import Parts
from evo.reading import open_baseline
from genome.genes import Gene, Genome, Site
from genome.spec import Reading, Steering
from genome.variant import Rejection, Variant


def forms(bench: Any, evaluator: Any, text_fails: bool = False) -> Parts:
    """Parts whose parsed form is another text than the kernel's own."""

    def bound(reading: Reading) -> Parts:
        def lower(genome: Genome) -> Variant | Rejection:
            if text_fails and reading is Reading.TEXT:
                return Rejection(genome, "lambdas have no counterpart in OpenCL C", "print")
            found: Variant | Rejection = bench.lowered(genome)
            parsed = reading is Reading.PARSED or (reading is Reading.BOTH and bool(genome.genes))
            if isinstance(found, Variant) and parsed:
                return replace(found, source=f"parsed {found.source}")
            return found

        parts: Parts = bench.parts(evaluator, lower=lower)
        return replace(parts, reading=reading, read_as=bound)

    return bound(Reading.BOTH)


def wrong_where_parsed(variant: Variant, number: int) -> Status | None:
    return Status.WRONG if variant.source.startswith("parsed") else None


def test_a_kernel_that_was_read_right_is_tuned_as_a_whole(bench: Any) -> None:
    evaluator = bench.evaluator()
    opened = open_baseline(forms(bench, evaluator), bench.sizes)
    assert opened.parts.reading is Reading.BOTH
    assert opened.parts.notes == ()
    assert not opened.baseline.source.startswith("parsed")
    (seen,) = evaluator.measured
    assert seen.source.startswith("parsed")
    assert not any(seen.guard.holds(size.env) for size in bench.sizes)


def test_a_kernel_that_was_misread_is_tuned_as_text_and_says_so(bench: Any) -> None:
    evaluator = bench.evaluator(verdict=wrong_where_parsed)
    watcher = bench.watcher()
    result = evolve(bench.campaign(20), forms(bench, evaluator), observer=watcher)
    assert result.text_only
    assert any("does not do what its text says" in note for note in result.notes)
    assert any("does not do what its text says" in snapshot.message for snapshot in watcher.snapshots)
    assert not result.best.source.startswith("parsed")
    assert result.counts.wrong == 0


def test_a_kernel_whose_code_shows_that_it_was_misread_is_not_run_in_that_form(bench: Any) -> None:
    evaluator = bench.evaluator()
    parts = replace(forms(bench, evaluator), misreading=lambda: "printed back, it is other code")
    opened = open_baseline(parts, bench.sizes)
    assert opened.parts.reading is Reading.TEXT
    assert opened.parts.notes == (
        "printed back, it is other code: only macros, block shape and options are tuned; please report this kernel",
    )
    assert not evaluator.measured


def test_text_that_the_language_cannot_say_leaves_the_parsed_form(bench: Any) -> None:
    evaluator = bench.evaluator()
    opened = open_baseline(forms(bench, evaluator, text_fails=True), bench.sizes)
    assert opened.parts.reading is Reading.BOTH
    assert "lambdas have no counterpart" in opened.parts.notes[0]
    assert evaluator.measured == []


def test_text_that_the_compiler_refuses_leaves_the_parsed_form(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    evaluator, refusal = bench.evaluator(), EvaluatorError
    takes = evaluator.open

    def opens(baseline: Variant, say: Any) -> Measured:
        if not baseline.source.startswith("parsed"):
            raise refusal("the untransformed kernel is refused")
        measured: Measured = takes(baseline, say)
        return measured

    monkeypatch.setattr(evaluator, "open", opens)
    parts = forms(bench, evaluator)
    with pytest.raises(EvaluatorError, match="is refused"):
        open_baseline(parts, bench.sizes)  # for something else than its text

    refusal = NotCompiled
    opened = open_baseline(parts, bench.sizes)
    assert opened.parts.reading is Reading.PARSED
    assert opened.baseline.source.startswith("parsed")
    assert "own text" in opened.parts.notes[0]


def test_pinned_genes_are_measured_first(bench: Any) -> None:
    evaluator = bench.evaluator()
    campaign = bench.campaign(10)
    gene = Gene.of("unroll", Site("k", "reduction[0]"), factor=4)
    pins = replace(campaign.spec, steering=Steering(pin=(json.dumps(gene.to_json()),)))
    evolve(replace(campaign, spec=pins), bench.parts(evaluator), observer=bench.watcher())
    assert evaluator.measured[0].genome.genes == (gene,)
