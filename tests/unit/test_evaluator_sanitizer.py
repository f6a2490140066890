"""What is read from the reports of compute-sanitizer."""

from __future__ import annotations

from evaluator.sanitize import finding

MEMCHECK = """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at axpb+0xb0
=========     by thread (17,0,0) in block (0,0,0)
=========     Access at 0x7f4ec9600044 is out of bounds
========= ERROR SUMMARY: 3 errors
"""
RACECHECK = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at pairs+0x90 and Read access at pairs+0xd0 [64 hazards]
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""


def test_the_first_finding_is_told() -> None:
    assert finding("memcheck", MEMCHECK) == "memcheck: Invalid __global__ read of size 4 bytes"
    assert (finding("racecheck", RACECHECK) or "").startswith("racecheck: Error: Race reported between Write access")


def test_nothing_found_and_nothing_said_are_two_things() -> None:
    assert finding("memcheck", "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n") == ""
    assert finding("racecheck", "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n") == ""
    assert finding("memcheck", "") is None
    assert finding("memcheck", "========= Error: Device not supported\n") == "memcheck: Error: Device not supported"
