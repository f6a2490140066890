"""Write into a canary: an element before the output belongs to somebody else."""

from __future__ import annotations

from evaluator.result import Status
from tests.adversarial.arena import AXPB, AXPB_BODY, Ring, axpb


def test_one_element_before_the_start(ring: Ring) -> None:
    refused = ring.both(AXPB, axpb(f"{AXPB_BODY} if (i == 0) C[-1] = 0.0f;"), "canaries")
    assert refused.status is Status.STRAY_WRITE
    assert "around C, 4 bytes before the start changed, the nearest 1 bytes before it" in refused.message


def test_one_element_past_the_end(ring: Ring, on_gpu: bool) -> None:
    """On a CPU with generous slack only: the tight placement would kill this process, see the forbidden page."""
    variant = AXPB.variant(axpb(f"{AXPB_BODY} if (i == 0) C[N] = 0.0f;"), ring.target)
    assert ring.failure(AXPB, variant, canaries=False, tight=False) is None
    refused = ring.failure(AXPB, variant, tight=on_gpu)
    assert refused is not None and refused.status is Status.STRAY_WRITE
    assert "past the end changed, the first at end+0" in refused.message
