"""The portfolio: the best prediction first, then what promises most and is unlike what it holds."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from evaluator.result import DeviceInfo
from evo.start import in_turn
from genome.genes import Gene, Genome, Site
from genome.variant import Target
from knowledge.similarity import HALF_DEVICE, HALF_KERNEL, HALF_SIZE, carried_over
from operators.base import AgentContext, Parent, Proposal
from operators.portfolio import likeness, portfolio

X, Y, K = Site("x", "parallel.x"), Site("y", "parallel.y"), Site("k", "reduction[0]")
WIDE, WIDER = (Gene.of("coarsen_blocked", X, factor=factor) for factor in (8, 16))
TALL = Gene.of("coarsen_blocked", Y, factor=4)
JAM = Gene.of("register_tile", Site("instances", "parallel"))
UNROLL = Gene.of("unroll", K, factor=4)


@pytest.fixture
def context(bench: Any) -> AgentContext:
    device = DeviceInfo("opencl:0", "fake", "fake", "x", "cpu", 2, 1 << 30)
    own = Parent(Genome(), "own", 1.0)
    return AgentContext((own,), own, bench.space, lambda genome: False, Target.OPENCL, device, kernel="digest")


def test_what_is_near_to_the_first_comes_after_what_is_unlike_it(bench: Any, context: AgentContext) -> None:
    best, twin, other = Genome((WIDE, TALL, JAM)), Genome((WIDER, TALL, JAM)), Genome((UNROLL,))
    priors = [bench.prior(twin, 7.5), bench.prior(other, 2.0), bench.prior(best, 8.0)]
    assert [stake.genome for stake in portfolio(priors, context, 3)] == [best, other, twin]
    assert [stake.genome for stake in portfolio(priors, context, 1)] == [best]
    assert portfolio(priors, context, 1)[0].predicted == pytest.approx(3.0)


def test_a_promise_counts_and_not_what_was_seen_far_away(bench: Any, context: AgentContext) -> None:
    far = replace(bench.prior(Genome((WIDE, TALL, JAM)), 100.0), promise=0.5)
    near = replace(bench.prior(Genome((UNROLL,)), 2.0), promise=1.0)
    assert [stake.prior for stake in portfolio([far, near], context, 2)] == [near, far]


def test_genes_without_a_place_lower_the_prediction_and_losses_are_left_out(bench: Any, context: AgentContext) -> None:
    lost = Gene.of("shared_tile", Site("A", "read.reused[0]"), pad=1)
    foreign = replace(bench.prior(Genome((UNROLL, lost)), 16.0), kernel_digest="another")
    slower = bench.prior(Genome((WIDE,)), 0.5)
    homeless = replace(bench.prior(Genome((lost,)), 64.0), kernel_digest="another")
    (stake,) = portfolio([slower, foreign, homeless], context, 3)
    assert stake.genome == Genome((UNROLL,))
    assert stake.predicted == pytest.approx(0.5 * math.log2(16.0))


def test_genomes_that_come_out_alike_count_once_under_the_better_promise(bench: Any, context: AgentContext) -> None:
    weak, strong = (replace(bench.prior(Genome((UNROLL,)), 4.0), promise=promise) for promise in (0.3, 1.5))
    (stake,) = portfolio([weak, strong], context, 4)
    assert stake.prior is strong


def test_likeness_is_a_share_of_genes() -> None:
    first = Genome((WIDE, TALL, JAM))
    assert likeness(first, first) == 1.0
    assert likeness(first, Genome((UNROLL,))) == 0.0
    assert likeness(first, Genome((WIDE, JAM))) == pytest.approx(2 / 3)
    assert likeness(first, Genome((WIDER, TALL, JAM))) == pytest.approx(2.5 / 3)
    assert likeness(Genome(), Genome()) == 1.0


def test_a_gain_fades_by_half_at_each_half_distance() -> None:
    assert carried_over(0.0, 0.0, 0.0) == 1.0
    assert carried_over(HALF_KERNEL, 0.0, 0.0) == carried_over(0.0, HALF_DEVICE, 0.0) == 0.5
    assert carried_over(HALF_KERNEL, HALF_DEVICE, HALF_SIZE) == pytest.approx(1 / 8)


def test_in_turn_takes_one_of_each() -> None:
    a, b = (tuple(Proposal(Genome(), name) for name in names) for names in ("abc", "x"))
    assert "".join(proposal.agent for proposal in in_turn(a, b)) == "axbc"
    assert "".join(proposal.agent for proposal in in_turn(b, a)) == "xabc"
