"""A guard that holds at no check size: only the original kernel is checked there, and the evolved one never."""

from __future__ import annotations

from evaluator.api import Comparison
from genome.sizes import SizeExpr
from genome.variant import Guard
from tests.adversarial.arena import AXPB, AXPB_BODY, Ring, axpb, bout

ODD = bout("axpb", AXPB.spec.args[:3], AXPB.good, checks=(1009, 333, 17))
GUARD = Guard((SizeExpr("N % 32 == 0"),))


def test_sizes_that_the_guard_admits_are_added(ring: Ring) -> None:
    text = axpb(f"if (N >= 2048) {AXPB_BODY} else C[i] = A[i];")
    variant = ODD.variant(text, ring.target, guard=GUARD)
    assert ring.failure(ODD, variant) is None
    message, checks = ring.proof(ODD, variant, coverage=False)
    assert message == "" and all(check.fallback for check in checks)
    assert not Comparison("v", (), 1.0, 1.0, 1.0, True, checks=checks).coverage.enough
    message, _ = ring.proof(ODD, variant)
    assert message.startswith("wrong at N=1024:") and "elements of C differ" in message


def test_a_right_one_is_covered_at_three_sizes(ring: Ring) -> None:
    message, checks = ring.proof(ODD, ODD.variant(AXPB.good, ring.target, guard=GUARD))
    coverage = Comparison("v", (), 1.0, 1.0, 1.0, True, checks=checks).coverage
    assert message == "" and coverage.enough
    assert len(coverage.evolved) == 3 and coverage.fallback == ("N=1009", "N=333", "N=17")
