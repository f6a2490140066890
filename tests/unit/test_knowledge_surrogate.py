"""The surrogate learns what there is to learn, says what it does not know, and is believed only when it earned it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import spearmanr

from genome.genes import Gene, Genome, Site
from knowledge.records import TrainingRow
from knowledge.surrogate import BLIND_STD, Surrogate
from knowledge.trust import Observation, metrics, prune_share, recall, spearman

KERNEL, DEVICE, SIZE = (1.0, 0.5), (1.0,), (9.0, 18.0)


def genome(threads: int, factor: int, unroll: int) -> Genome:
    return Genome((
        Gene.of("block_shape", Site("i", "parallel.x"), threads=threads),
        Gene.of("coarsen_blocked", Site("i", "parallel.x"), factor=factor),
        Gene.of("unroll", Site("k", "reduction[0]"), factor=unroll),
    ))  # fmt: skip


SPACE = [genome(*choice) for choice in product((16, 32, 64, 128, 256), (1, 2, 4, 8), (1, 2, 4, 8, 16))]


def gain(item: Genome) -> float:
    """A smooth landscape with one optimum at 64 threads, factor 4, unroll 8."""
    threads, factor, unroll = (float(np.log2(int(gene.params[0][1]))) for gene in item.genes)
    return 4.0 - 0.5 * (threads - 6) ** 2 - (factor - 2) ** 2 - 0.3 * (unroll - 3) ** 2 - 0.2 * threads * factor / 12


def fails(item: Genome) -> bool:
    return int(item.genes[0].params[0][1]) * int(item.genes[1].params[0][1]) >= 1024


def row(item: Genome, same_kernel: bool = True, shift: float = 0.0, kernel: tuple[float, ...] = KERNEL) -> TrainingRow:
    failed = fails(item)
    return TrainingRow(
        item, kernel, DEVICE, SIZE, None if failed else gain(item) + shift, failed, same_kernel, same_kernel
    )


def sampled(count: int, seed: int) -> tuple[list[Genome], list[Genome]]:
    order = np.random.default_rng(seed).permutation(len(SPACE))
    return [SPACE[i] for i in order[:count]], [SPACE[i] for i in order[count:]]


def model(rows: list[TrainingRow], seed: int = 0) -> Surrogate:
    surrogate = Surrogate(KERNEL, DEVICE, SIZE, seed=seed)
    surrogate.fit(rows)
    return surrogate


@pytest.mark.parametrize("seed", range(3))
def test_ranks_unseen_genomes_better_than_chance(seed: int) -> None:
    seen, unseen = sampled(30, seed)
    mean, _, failure = model([row(item) for item in seen], seed).predict(unseen)
    assert spearmanr(mean, [gain(item) for item in unseen]).statistic > 0.6
    failing = np.array([fails(item) for item in unseen])
    assert failure[failing].mean() > failure[~failing].mean() + 0.1


def test_the_top_of_the_ranking_holds_the_best() -> None:
    seen, unseen = sampled(30, 7)
    mean, _, _ = model([row(item) for item in seen]).predict(unseen)
    chosen = [gain(unseen[i]) for i in np.argsort(-mean)[:10]]
    assert np.mean(chosen) > np.mean([gain(item) for item in unseen]) + 1.0


def test_same_rows_and_seed_give_the_same_predictions() -> None:
    seen, unseen = sampled(30, 1)
    rows = [row(item) for item in seen]
    first, second = model(rows, 5).predict(unseen), model(rows, 5).predict(unseen)
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_knows_nothing_before_it_learnt_anything() -> None:
    for surrogate in (Surrogate(KERNEL, DEVICE, SIZE, seed=0), model([]), model([row(SPACE[0])])):
        mean, std, _ = surrogate.predict(SPACE[:5])
        assert np.all(mean == 0.0) and np.all(std == BLIND_STD)


def test_only_failures_predict_failure() -> None:
    failed = [item for item in SPACE if fails(item)]
    _, std, failure = model([row(item) for item in failed]).predict(SPACE[:3])
    assert np.all(failure == 1.0) and np.all(std == BLIND_STD)


def test_less_sure_away_from_the_data() -> None:
    near = [item for item in SPACE if int(item.genes[0].params[0][1]) <= 32]
    far = [item for item in SPACE if int(item.genes[0].params[0][1]) >= 128]
    _, std_near, _ = model([row(item) for item in near]).predict(near)
    _, std_far, _ = model([row(item) for item in near]).predict(far)
    assert std_near.mean() < std_far.mean()


def test_a_misleading_history_does_not_drown_our_own_rows() -> None:
    seen, unseen = sampled(40, 3)
    rng = np.random.default_rng(0)
    other = [row(SPACE[i], same_kernel=False, shift=float(rng.normal(0, 3)), kernel=(0.0, 0.0))
             for i in rng.integers(0, len(SPACE), 1000)]  # fmt: skip
    mean, _, _ = model([*other, *(row(item) for item in seen)]).predict(unseen)
    assert spearmanr(mean, [gain(item) for item in unseen]).statistic > 0.5


def test_rows_of_another_shape_are_left_out() -> None:
    seen, unseen = sampled(30, 1)
    rows = [row(item) for item in seen]
    mixed = [*rows, row(SPACE[0], kernel=(1.0, 2.0, 3.0))]
    assert np.array_equal(model(rows).predict(unseen)[0], model(mixed).predict(unseen)[0])


def observations(noise: float, count: int = 60, unbiased: bool = True) -> list[Observation]:
    rng = np.random.default_rng(0)
    actual = rng.normal(size=count)
    score = actual + noise * rng.normal(size=count)
    return [Observation(float(s), float(a), unbiased) for s, a in zip(score, actual, strict=True)]


def test_a_good_model_earns_a_pruning_share_and_noise_does_not() -> None:
    good, noise = metrics(observations(0.1)), metrics(observations(100.0))
    assert good.prune_share >= 0.75 and good.decile_recall == 1.0 and (good.rank_correlation or 0) > 0.9
    assert noise.prune_share < 0.5


@pytest.mark.parametrize("count", [12, 15, 30, 60])
def test_noise_hardly_ever_earns_a_share(count: int) -> None:
    rng = np.random.default_rng(7)
    lucky = 0
    for _ in range(300):
        noise = [Observation(float(a), float(b), True) for a, b in rng.normal(size=(count, 2))]
        lucky += prune_share(noise) > 0
    assert lucky / 300 < 0.08  # one-sided 5%, and the spread of 300 draws


def test_few_or_biased_observations_earn_nothing() -> None:
    assert metrics(observations(0.0, count=8)).prune_share == 0.0
    biased = metrics(observations(0.0, unbiased=False))
    assert biased.prune_share == 0.0 and biased.decile_recall is None and biased.unbiased == 0


def test_a_model_that_loves_failures_is_found_out() -> None:
    ranked = [Observation(float(i), float(i), True) for i in range(20)]
    failures = [Observation(100.0 + i, None, True) for i in range(20)]
    assert metrics([*ranked, *failures]).prune_share < 0.75
    assert recall([*ranked, *failures], 0.5) == (0, 4)


def test_spearman_agrees_with_scipy_on_ties() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 6, 50).astype(float), rng.integers(0, 6, 50).astype(float)
    assert spearman(list(a), list(b)) == pytest.approx(spearmanr(a, b).statistic)
    assert spearman([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]) is None
