"""The policy's planted rewards: who always gains gets most proposals, who never gains few; the state is plain data."""

from __future__ import annotations

import json

import numpy as np
import pytest

from operators.credit import Credit

NAMES = ["planted", *(f"other{index}" for index in range(8))]


def _campaign(seed: int, planted: float, others: float) -> tuple[float, float]:
    """Share of the planted agent among 50 proposals, and its probability at the end."""
    rng, credit, chosen = np.random.default_rng(seed), Credit(), 0
    for _ in range(50):
        shares = credit.shares(NAMES, "issue")
        name = NAMES[int(rng.choice(len(NAMES), p=list(shares.values())))]
        chosen += name == "planted"
        chance = planted if name == "planted" else others
        credit = credit.updated(name, "issue", float(rng.random() < chance))
    return chosen / 50, credit.shares(NAMES, "issue")["planted"]


def test_an_agent_that_always_gains_passes_sixty_percent() -> None:
    outcomes = [_campaign(seed, 1.0, 0.0) for seed in range(20)]
    assert all(probability > 0.6 for _, probability in outcomes)
    assert float(np.median([share for share, _ in outcomes])) > 0.6


def test_an_agent_that_never_gains_falls_below_ten_percent() -> None:
    for seed in range(20):
        share, probability = _campaign(seed, 0.0, 0.5)
        assert share < 0.1
        assert probability < 0.1


def test_shares_sum_to_one_and_nobody_is_shut_out() -> None:
    credit = Credit()
    for _ in range(200):
        credit = credit.updated("planted", "dram", 1.0).updated("other0", "dram", 0.0)
    shares = credit.shares(NAMES, "dram", {"other1": 3.0})
    assert sum(shares.values()) == pytest.approx(1.0)
    assert min(shares.values()) >= 0.015


def test_what_ran_dry_is_forgotten_and_the_others_come_back() -> None:
    credit = Credit()
    for _ in range(30):
        credit = credit.updated("planted", "dram", 1.0)
    before = credit.shares(NAMES, "dram")["planted"]
    for _ in range(60):
        credit = credit.updated("planted", "dram", 0.0)
    assert credit.shares(NAMES, "dram")["planted"] < before / 4


def test_credit_is_learnt_for_a_bottleneck_first() -> None:
    credit = Credit()
    for _ in range(10):
        credit = credit.updated("planted", "dram", 1.0).updated("planted", "compute", 0.0)
    assert credit.worth("planted", "dram") > credit.worth("planted", "compute")


def test_state_survives_json() -> None:
    credit = Credit().updated("a|b", "dram", 0.5).updated("c", "issue", 1.0, 0.25)
    assert Credit.from_json(json.loads(json.dumps(credit.to_json()))) == credit
    with pytest.raises(ValueError, match="not a credit state"):
        Credit.from_json({"a|dram": ["x"]})
