"""The defences of an evaluator, each of which a test may switch off to show what it catches.

A campaign file cannot reach them: whoever measures for a purpose leaves all of them on.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Defences:
    """One flag a defence. What happens with a flag off is what a measurement without that defence does.

    Attributes:
        poison: Outputs start from a byte pattern. Off: they keep what the last run left there.
        second_poison: Two patterns take turns. Off: it is always the first.
        scratch_poison: Scratch buffers start from a pattern. Off: from zeros.
        whole_output: Every element is compared. Off: the first 64.
        untouched: Elements that the baseline leaves alone must stay. Off: not looked at.
        inputs_kept: Inputs are compared with what they were. Off: not looked at.
        canaries: Bytes around each buffer are compared with what they were. Off: not looked at.
        tight: Half of the checks run with payloads that end at a forbidden page, no more aligned than promised. Off:
            all run with generous slack and alignment.
        second_inputs: A second filling of every input. Off: the first one is used throughout.
        perturb: In the second filling constants, zeros, ``arange`` and files are changed as well. Off: they stay.
        extremes: Floating-point inputs of extreme magnitudes at check sizes, where the baseline itself stands them.
        check_sizes: Sizes that are not tuned on. Off: they are left out.
        nan: A NaN equals only a NaN. Off: a comparison that is false for NaN lets it pass.
        own_tolerance: Tolerances by dtype. Off: one part in a hundred for everything.
        norm: The error as a whole is judged as well as every element. Off: elements only.
        repeats: Repeated runs of a small size must all be right. Off: one run is believed.
        timed_poison: Outputs start from a pattern before each timed run too. Off: they hold the last run's result.
        after_timing: The output of the last timed run is compared. Off: not looked at.
        fresh_values: After timing, new inputs in the same buffers, nothing else touched. Off: left out.
        roofline: A time that the hardware's peaks forbid is refused. Off: it is believed.
        deadlines: Runs and compilations are killed at their deadline. Off: they may take for ever.
        memory: Buffers must fit the device's memory before anything is allocated. Off: the allocator is asked.
        coverage: In the final proof, further check sizes where a guard sends the given ones to the fallback. Off: the
            given ones only.
        sanitizer: Verified finalists run under compute-sanitizer, on NVIDIA GPUs where it is on PATH. Off: left out.
        soak: In the final proof, many more runs in a row before the last comparison. Off: left out.
        noise: A gain must lie outside of its interval. Off: a ratio above one is a gain.
        drift: The baseline is timed again now and then, and timings are corrected by how it changed. Off: once only.
    """

    poison: bool = True
    second_poison: bool = True
    scratch_poison: bool = True
    whole_output: bool = True
    untouched: bool = True
    inputs_kept: bool = True
    canaries: bool = True
    tight: bool = True
    second_inputs: bool = True
    perturb: bool = True
    extremes: bool = True
    check_sizes: bool = True
    nan: bool = True
    own_tolerance: bool = True
    norm: bool = True
    repeats: bool = True
    timed_poison: bool = True
    after_timing: bool = True
    fresh_values: bool = True
    roofline: bool = True
    deadlines: bool = True
    memory: bool = True
    coverage: bool = True
    sanitizer: bool = True
    soak: bool = True
    noise: bool = True
    drift: bool = True
