"""Agents on the synthetic space: composites, steps, exchange, union, recall, doubt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evaluator.result import Bottleneck, DeviceInfo, Evaluation, Profile, Status, Timing
from genome.genes import Gene, Genome, Site
from genome.variant import Target
from operators.base import AgentContext, Parent, Suspect
from operators.choice import Want, compose, nearest, weighted_moves
from operators.computation import Tile, register_tile
from operators.crossover import exchange, union
from operators.local_search import all_steps
from operators.opening import opening
from operators.recall import Recall, placed, resited
from operators.verifier import Verifier, agree, doubt

X, Y, K = Site("x", "parallel.x"), Site("y", "parallel.y"), Site("k", "reduction[0]")
WIDE = Gene.of("coarsen_blocked", X, factor=8)
TALL = Gene.of("coarsen_blocked", Y, factor=4)
JAM = Gene.of("register_tile", Site("instances", "parallel"))
UNROLL = Gene.of("unroll", K, factor=4)


def parent(*genes: Gene, speedup: float = 1.0, gain: float = 0.0, delta: tuple[Gene, ...] = ()) -> Parent:
    return Parent(Genome(genes), Genome(genes).digest(), speedup, gain=gain, delta=delta)


@pytest.fixture
def context(bench: Any) -> AgentContext:
    device = DeviceInfo("opencl:0", "fake", "fake", "x", "cpu", 2, 1 << 30)
    return AgentContext((parent(),), parent(), bench.space, lambda genome: False, Target.OPENCL, device, wanted=4)


def test_a_register_tile_is_one_proposal_of_several_genes(context: AgentContext) -> None:
    genome = register_tile(context, Genome(), Tile(x=8, y=4, unroll=3, threads_x=7))
    assert genome.find("coarsen_blocked", "x") == WIDE
    assert genome.find("coarsen_blocked", "y") == TALL
    assert genome.find("register_tile") is not None
    assert genome.find("unroll", "k") in (Gene.of("unroll", K, factor=2), UNROLL)  # the nearest of the domain
    assert genome.find("block_shape", "x") == Gene.of("block_shape", X, threads=8)


def test_every_agent_proposes_new_genomes_and_repeats_itself_with_the_same_seed(
    bench: Any, context: AgentContext
) -> None:
    elites = (parent(WIDE, TALL, JAM, speedup=12.0, gain=3.0, delta=(WIDE, JAM)), parent(UNROLL, speedup=1.3, gain=0.4,
              delta=(UNROLL,)))  # fmt: skip
    rich = replace(context, parents=elites, elites=elites, priors=(bench.prior(Genome((WIDE, JAM)), 9.0),))
    for agent in bench.agents:
        if agent.name == "verifier":
            continue
        first = agent.propose(rich, np.random.default_rng(5))
        assert first == agent.propose(rich, np.random.default_rng(5)), agent.name
        assert first, agent.name
        assert all(p.agent == agent.name and p.genome != elites[0].genome for p in first)
        assert len({p.genome for p in first}) == len(first) <= 4


def test_transforms_that_no_table_names_are_still_picked(bench: Any, context: AgentContext) -> None:
    rng = np.random.default_rng(0)
    for agent in bench.agents:
        if agent.name not in {"profiler", "memory_layout", "computation", "parallelism"}:
            continue
        proposals = [p for _ in range(60) for p in agent.propose(context, rng)]
        share = sum(p.genome.find("foreign") is not None for p in proposals) / len(proposals)
        assert 0.02 < share < 0.5, agent.name


def test_the_profiler_follows_the_bottleneck(bench: Any, context: AgentContext) -> None:
    (profiler,) = [agent for agent in bench.agents if agent.name == "profiler"]

    def share(bottleneck: Bottleneck, transform: str) -> float:
        profile = Profile(bottleneck)
        evaluation = Evaluation("v", "N=1", Status.OK, timing=Timing((1.0,), 1.0, 1.0, 1.0), profile=profile)
        seen = replace(context, parents=(replace(parent(), evaluations=(evaluation,)),))
        rng = np.random.default_rng(1)
        proposals = [p for _ in range(60) for p in profiler.propose(seen, rng)]
        return sum(p.genome.find(transform) is not None for p in proposals) / len(proposals)

    assert share(Bottleneck.LAUNCH, "block_shape") > share(Bottleneck.COMPUTE, "block_shape")
    assert share(Bottleneck.ISSUE, "unroll") > share(Bottleneck.DRAM, "unroll")


def test_exchange_takes_every_key_from_one_of_the_parents() -> None:
    other = Gene.of("coarsen_blocked", X, factor=2)
    children = [
        exchange(Genome((WIDE, JAM)), Genome((other, UNROLL)), np.random.default_rng(seed)) for seed in range(40)
    ]
    for child in children:
        assert len({gene.key for gene in child.genes}) == len(child.genes)
        assert set(child.genes) <= {WIDE, JAM, other, UNROLL}
    assert any(UNROLL in child.genes and WIDE in child.genes for child in children)


def test_union_keeps_the_larger_gain_where_two_conflict() -> None:
    small, large = Gene.of("coarsen_blocked", X, factor=2), Gene.of("coarsen_blocked", X, factor=16)
    base = parent(WIDE, JAM, speedup=8.0, gain=2.0, delta=(WIDE,))
    donors = [
        parent(large, speedup=9.0, gain=3.0, delta=(large,)),
        parent(small, speedup=2.0, gain=1.0, delta=(small,)),
        parent(UNROLL, speedup=1.3, gain=0.4, delta=(UNROLL,)),
    ]
    merged = union(base, donors)
    assert set(merged.genes) == {large, JAM, UNROLL}


def test_local_steps_move_one_parameter_to_the_next_value(bench: Any) -> None:
    genome = Genome((WIDE, JAM))
    steps = all_steps(genome, bench.space(genome))
    assert set(steps) == {Gene.of("coarsen_blocked", X, factor=4), Gene.of("coarsen_blocked", X, factor=16)}


def test_recall_puts_genes_of_another_kernel_on_the_site_with_their_role(bench: Any, context: AgentContext) -> None:
    foreign = Genome((
        Gene.of("coarsen_blocked", Site("col", "parallel.x"), factor=8),
        Gene.of("register_tile", Site("instances", "parallel")),
        Gene.of("shared_tile", Site("A", "read.reused[0]"), pad=1),
        Gene.of("unroll", Site("kk", "reduction[0]"), factor=6),
    ))  # fmt: skip
    assert set(resited(foreign, bench.space).genes) == {WIDE, JAM, Gene.of("unroll", K, factor=8)}
    (proposal,) = Recall().propose(replace(context, priors=(bench.prior(foreign, 9.0, 0.4),), wanted=1),
                                   np.random.default_rng(0))  # fmt: skip
    assert proposal.genome == resited(foreign, bench.space)


def test_on_the_same_kernel_labels_win_over_roles_that_the_mapping_changed(bench: Any, context: AgentContext) -> None:
    swapped = Genome((Gene.of("coarsen_blocked", Site("x", "parallel.y"), factor=8),))
    prior = bench.prior(swapped, 9.0)
    assert placed(prior, replace(context, kernel="digest")) == swapped
    assert placed(prior, replace(context, kernel="another")).genes == (Gene.of("coarsen_blocked", Y, factor=8),)


def test_the_verifier_asks_for_every_suspect_again(context: AgentContext) -> None:
    suspect = Suspect(Genome((WIDE,)), "digest", "too good")
    (proposal,) = Verifier().propose(replace(context, suspects=(suspect,)), np.random.default_rng(0))
    assert proposal.fresh
    assert proposal.genome == suspect.genome


def test_what_is_doubted() -> None:
    def at(fraction: float, speedup: float) -> Parent:
        profile = Profile(Bottleneck.DRAM, roofline_fraction=fraction)
        return replace(parent(speedup=speedup), evaluations=(Evaluation("v", "N=1", Status.OK, profile=profile),))

    assert "roofline" in doubt(at(0.97, 2.0), 1.0)
    assert "leap" in doubt(at(0.8, 9.0), 1.0)
    assert "leap" in doubt(parent(speedup=20.0), 2.0)
    assert doubt(at(0.2, 20.0), 1.0) == ""  # there is room for it
    assert doubt(parent(speedup=9.0), 4.0) == ""
    assert agree(10.0, 9.0)
    assert not agree(10.0, 2.0)
    assert not agree(10.0, None)


def test_the_opening_book_holds_each_genome_once(context: AgentContext) -> None:
    book = opening(context)
    assert len(book) >= 3
    assert len({proposal.genome for proposal in book}) == len(book)
    assert any(proposal.genome.find("register_tile") for proposal in book)


def test_weights_are_spread_over_sites_and_unknown_names(bench: Any) -> None:
    kept, weights = weighted_moves(bench.space(Genome()), {"block_shape": 2.0, "unroll": 0.0}, 1.0)
    total = {}
    for move, weight in zip(kept, weights, strict=True):
        total[move.transform.name] = total.get(move.transform.name, 0.0) + weight
    assert total == {"block_shape": 2.0, "coarsen_blocked": 0.5, "foreign": 0.5}


def test_nearest_value() -> None:
    assert nearest((2, 4, 8), 8) == 8
    assert nearest((2, 4, 8), 100) == 8
    assert nearest((True, False), 1) is True or nearest((True, False), 1) is False
    assert nearest(("a", "b"), "c") == "a"


def test_compose_sees_sites_that_earlier_genes_made(bench: Any) -> None:
    wants = (Want("register_tile"), Want("coarsen_blocked", "parallel.x", {"factor": 8}), Want("register_tile"))
    assert compose(Genome(), wants, bench.space).genes == (WIDE, JAM)


def test_genes_that_go_together_come_from_one_parent_half_of_the_time() -> None:
    tall = Gene.of("block_shape", Y, threads=4)
    whole = frozenset(("coarsen_blocked", "register_tile", "block_shape"))
    first, second = Genome((WIDE, TALL, JAM, tall)), Genome((UNROLL,))
    children = [exchange(first, second, np.random.default_rng(seed), whole) for seed in range(60)]
    kept = [sum(gene in child.genes for gene in first.genes) for child in children]
    assert kept.count(4) + kept.count(0) > 20
    assert set(kept) - {0, 4}
