"""What an inspection offers really applies, and what it says of assumptions and of other transforms is true."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from evo.campaign import load_campaign
from evo.inspection.inspect import inspect_kernel
from evo.inspection.record import Inspection, Later
from evo.kernel_guess import file_kernel
from genome.genes import Gene, Genome
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.moves import Move, moves, survey
from genome.spec import Assumptions, KernelSpec, Steering
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant

ROOT = Path(__file__).parents[2]
LIMITS = DeviceLimits()
EXAMPLES = [
    "conv3x3", "gelu", "gemv", "histogram", "layernorm", "matmul", "nbody", "softmax", "stencil", "sum", "transpose",
    "vector_add",
]  # fmt: skip


@lru_cache(maxsize=32)
def example(name: str, bare: bool = False) -> tuple[KernelSpec, Inspection]:
    folder = ROOT / "examples" / name
    spec = file_kernel(folder / "kernel.cu", None).spec if bare else load_campaign(folder / "campaign.yaml").spec
    return spec, inspect_kernel(spec, BUILTIN, Target.CUDA)


def offered(spec: KernelSpec) -> dict[str, Move]:
    return {f"{m.transform.name}@{m.site.label}": m for m in moves(spec, Genome(), BUILTIN, Target.CUDA, LIMITS)}


def applied(spec: KernelSpec, *wanted: str) -> set[str]:
    """Names of the moves that apply on top of these transforms, each run wherever it applies."""
    genome = Genome()
    for name in wanted:
        for move in moves(spec, genome, BUILTIN, Target.CUDA, LIMITS):
            if move.transform.name == name and move.current is None:
                params: dict[str, Any] = {key: values[:2][-1] for key, values in move.domain.items()}
                genome = genome.with_gene(Gene.of(name, move.site, **params))
    return {f"{m.transform.name}@{m.site.label}" for m in moves(spec, genome, BUILTIN, Target.CUDA, LIMITS)}


@pytest.mark.parametrize("name", EXAMPLES)
def test_offers_are_the_moves_of_the_kernel(name: str) -> None:
    spec, seen = example(name)
    found = offered(spec)
    said = {f"{offer.transform}@{site.label}": offer for offer in seen.offers for site in offer.sites}
    assert said.keys() == found.keys()
    assert all(dict(said[key].domain) == dict(found[key].domain) for key in found)


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_applies_later_does_apply_then(name: str) -> None:
    spec, seen = example(name)
    for item in seen.later:
        assert {f"{item.transform}@{site.label}" for site in item.sites} <= applied(spec, *item.after), item
        assert not any(f"{item.transform}@{site.label}" in offered(spec) for site in item.sites)


@pytest.mark.parametrize("name", ["layernorm", "matmul", "nbody", "softmax"])
def test_what_an_assumption_opens_is_opened_by_it(name: str) -> None:
    spec, seen = example(name, bare=True)
    assert spec.assumptions == Assumptions()
    assert {"assume.no_alias", "assume.fast_math"} <= {grant.name for grant in seen.grants}
    for grant in seen.grants:
        field: dict[str, Any] = {grant.name.removeprefix("assume."): True}
        granted = replace(spec, assumptions=replace(spec.assumptions, **field))
        assert grant.opens or grant.later
        assert set(grant.opens) == offered(granted).keys() - offered(spec).keys()
        assert f"{{{grant.name.removeprefix('assume.')}: true}}" in grant.how
        for item in grant.later:
            assert {f"{item.transform}@{site.label}" for site in item.sites} <= applied(granted, *item.after)


@pytest.mark.parametrize(("name", "bare"), [*((name, False) for name in EXAMPLES), ("matmul", True), ("softmax", True)])
def test_refusals_are_those_of_the_transforms_each_once(name: str, bare: bool) -> None:
    spec, seen = example(name, bare)
    _, refused = survey(spec, Genome(), BUILTIN, Target.CUDA, LIMITS)
    said = [f"{at.transform}@{at.site}" for group in seen.refusals for at in group.moves]
    awaited = {f"{item.transform}@{site.label}" for item in seen.later for site in item.sites}
    assert sorted(said) == sorted({f"{m.transform.name}@{m.site.label}" for m in refused} - awaited)
    assert len({(group.reason, group.grant) for group in seen.refusals}) == len(seen.refusals)


def test_a_refused_move_stands_on_the_line_of_its_loop_array_or_axis() -> None:
    spec, _ = example("matmul", bare=True)
    _, refused = survey(spec, Genome(), BUILTIN, Target.CUDA, LIMITS)
    text = spec.source.splitlines()
    for move in refused:
        if move.site.label in ("arguments", "options"):
            assert move.line == 0
        else:
            assert move.site.label in text[move.line - 1], move
    lines = {f"{move.transform.name}@{move.site.label}": move.line for move in refused}
    assert "sum += A" in text[lines["shared_tile@A"] - 1]
    assert "int c = " in text[lines["cooperate@c"] - 1]


def test_only_some_transforms_may_be_asked_for() -> None:
    spec, _ = example("matmul", bare=True)
    everything = moves(spec, Genome(), BUILTIN, Target.CUDA, LIMITS)
    some = moves(spec, Genome(), BUILTIN, Target.CUDA, LIMITS, only={"strip", "unroll"})
    assert some == tuple(move for move in everything if move.transform.name in ("strip", "unroll")) and some
    found, refused = survey(spec, Genome(), BUILTIN, Target.CUDA, LIMITS, only={"strip", "restrict"})
    assert {m.transform.name for m in found} == {"strip"} and {m.transform.name for m in refused} == {"restrict"}


def test_an_offer_can_be_lowered_as_it_is_written() -> None:
    spec, seen = example("matmul")
    for offer in seen.offers:
        for site in offer.sites:
            params = {name: values[0] for name, values in offer.domain.items()}
            gene = {"transform": offer.transform, "site": {"label": site.label, "role": site.role}, "params": params}
            variant = lower(spec, Genome((Gene.from_json(gene),)), BUILTIN, Target.CUDA, LIMITS)
            assert isinstance(variant, Variant) and not variant.skipped, gene


def test_what_the_campaign_forbids_is_told_as_its_own_doing() -> None:
    spec, before = example("matmul")
    seen = inspect_kernel(replace(spec, steering=Steering(forbid=("strip", "@r"))), BUILTIN, Target.CUDA)
    group = next(group for group in seen.refusals if "forbids" in group.reason)
    assert {at.transform for at in group.moves if at.site == "k"} == {"strip"}
    gone = {f"{o.transform}@{s.label}" for o in before.offers for s in o.sites}
    gone -= {f"{o.transform}@{s.label}" for o in seen.offers for s in o.sites}
    assert {f"{at.transform}@{at.site}" for at in group.moves} == gone


def test_the_target_decides_what_is_offered() -> None:
    spec, on_cuda = example("matmul")
    on_opencl = inspect_kernel(spec, BUILTIN, Target.OPENCL)
    assert "launch_bounds" in {offer.transform for offer in on_cuda.offers}
    assert "launch_bounds" not in {offer.transform for offer in on_opencl.offers}


def test_a_reason_that_another_transform_only_changes_is_told_with_the_next_one() -> None:
    _, seen = example("conv3x3")
    group = next(group for group in seen.refusals if {at.transform for at in group.moves} == {"shared_tile"})
    assert "no constant trip count" in group.reason
    assert group.then == ("after strip: in and weight is read under a condition: the copy might read out of bounds",)


def test_shared_tiles_of_a_product_follow_a_strip() -> None:
    _, seen = example("matmul")
    tiles = [item for item in seen.later if item.transform == "shared_tile"]
    assert tiles == [Later("shared_tile", tiles[0].sites, ("strip",))]
    assert [site.label for site in tiles[0].sites] == ["A", "B"]
