"""Sampling, intervals and the figures of the final proof, against simulation."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluator.backend import Peaks
from evaluator.compare import bootstrap_median, summarise_proof
from evaluator.messages import Compared, Work
from evaluator.profile import bound_ms, place, read_peaks, write_peaks
from evaluator.result import Bottleneck, DeviceInfo, Evaluation, Status, Timing
from evaluator.timing import Sampling, is_tight, median_interval, sample, summarise, warm_up
from genome.spec import ProblemSize


class Clock:
    """Seconds that pass only when a run says so."""

    def __init__(self, times_ms: Iterator[float]) -> None:
        self.now, self.runs, self._times = 0.0, 0, times_ms

    def run(self) -> float:
        ms = next(self._times)
        self.now += ms * 1e-3
        self.runs += 1
        return ms

    def __call__(self) -> float:
        return self.now


def steady(ms: float, noise: float, seed: int = 0) -> Iterator[float]:
    rng = np.random.default_rng(seed)
    while True:
        yield float(ms * (1 + noise * rng.standard_normal()))


def test_steady_runs_need_few_samples_and_noisy_ones_more() -> None:
    plan = Sampling(5, 40, 10.0, 0.02)
    calm, noisy = Clock(steady(3.0, 0.001)), Clock(steady(3.0, 0.1))
    timing = sample(calm.run, plan, 0, calm)
    assert len(timing.samples_ms) == 5 and timing.median_ms == pytest.approx(3.0, rel=0.01)
    many = sample(noisy.run, plan, 0, noisy)
    assert len(many.samples_ms) > 10 and many.low_ms <= many.median_ms <= many.high_ms


def test_sampling_ends_at_the_budget_and_at_the_cap() -> None:
    slow = Clock(steady(500.0, 0.2))
    assert len(sample(slow.run, Sampling(5, 40, 1.0, 0.001), 0, slow).samples_ms) == 5
    fast = Clock(steady(1.0, 0.5))
    assert len(sample(fast.run, Sampling(5, 40, 9.0, 1e-6), 0, fast).samples_ms) == 40
    kept = Clock(steady(1.0, 0.0))
    assert sample(kept.run, Sampling(3, 3, 9.0, 0.0), 0, kept, (7.0, 7.0)).samples_ms == (7.0, 7.0, 1.0)


def test_warm_up_ends_when_two_runs_agree() -> None:
    falling = Clock(iter([9.0, 5.0, 3.0, 3.0, 3.0]))
    assert warm_up(falling.run, 10.0, falling) == 3.0 and falling.runs == 4
    slow = Clock(iter([900.0, 5.0]))
    assert warm_up(slow.run, 0.1, slow) == 900.0 and slow.runs == 1


def test_the_median_interval_covers_inside_one_process() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for trial in range(300):
        low, high = median_interval(rng.lognormal(0.0, 0.1, 25), trial)
        covered += low <= 1.0 <= high
    assert 0.88 <= covered / 300 <= 1.0
    assert median_interval([2.0], 0) == (2.0, 2.0)
    assert is_tight([1.0, 1.0, 1.0], 0.0, 0) and not is_tight([1.0, 2.0, 3.0], 0.01, 0)


def test_the_bootstrap_over_five_processes_covers_the_true_median() -> None:
    """Processes differ by more than the runs inside one: only the resampling of processes covers."""
    rng = np.random.default_rng(2)
    covered = 0
    for trial in range(300):
        medians = rng.normal(0.0, 0.05, 5) + rng.normal(0.0, 0.01, 5)
        _, low, high = bootstrap_median(list(medians), trial)
        covered += low <= 0.0 <= high
    assert 0.90 <= covered / 300 <= 0.98


SIZES = (ProblemSize((("N", 1),), weight=3.0), ProblemSize((("N", 2),), weight=1.0))


def timing_of(ms: float) -> Timing:
    return Timing((ms,), ms, ms, ms)


def process(scale: float, failure: str = "", second: bool = True) -> Compared:
    best = {"N=1": timing_of(1.0 * scale)} | ({"N=2": timing_of(5.0 * scale)} if second else {})
    baseline = {"N=1": timing_of(4.0 * scale), "N=2": timing_of(5.0 * scale)}
    check = Evaluation("v", "N=9", Status.OK, max_error=scale)
    return Compared((baseline, best), ("", failure), ((), (check,)))


def test_the_proof_is_a_weighted_geometric_mean_of_medians() -> None:
    proof = summarise_proof("v", 1, [process(s) for s in (1.0, 1.1, 0.9, 1.2, 1.0)], SIZES, 0, "")
    assert proof.verified and proof.processes == 5
    assert proof.speedup == pytest.approx(4.0**0.75) == pytest.approx(proof.low) == pytest.approx(proof.high)
    first, second = proof.sizes
    assert (first.baseline_ms, first.best_ms, first.speedup) == (4.0, 1.0, pytest.approx(4.0))
    assert second.speedup == pytest.approx(1.0)
    assert proof.checks[0].max_error == 1.2


def test_where_the_guard_fails_the_ratio_is_one() -> None:
    proof = summarise_proof("v", 1, [process(1.0, second=False)] * 5, SIZES, 0, "")
    assert proof.sizes[1].speedup == pytest.approx(1.0)
    assert proof.sizes[1].best_ms == proof.sizes[1].baseline_ms


def test_a_guard_that_leaves_few_check_sizes_is_told() -> None:
    fallback = Evaluation("v", "N=9", Status.OK, fallback=True)
    results = [replace(process(1.0), checks=((), (fallback,)))] * 5
    proof = summarise_proof("v", 1, results, SIZES, 0, "")
    assert proof.gain and proof.note.startswith("the evolved kernel ran at 0 sizes that it was not tuned on; ")


def test_one_failure_in_one_process_is_enough() -> None:
    results = [process(1.0)] * 4 + [process(1.0, "wrong at N=9")]
    assert summarise_proof("v", 1, results, SIZES, 0, "").message == "wrong at N=9"
    assert not summarise_proof("v", 1, results[:4], SIZES, 0, "it died").verified
    assert not summarise_proof("v", 1, [], SIZES, 0, "").verified


def test_profiles() -> None:
    peaks = Peaks(bandwidth_gbs=100.0, gflops=1000.0)
    assert bound_ms(Work(1e9, 1e6), peaks) == pytest.approx(1.0)
    assert bound_ms(Work(0.0, 1e9), peaks) == pytest.approx(10.0)
    assert bound_ms(Work(1e9, 1e9), Peaks()) == 0.0
    assert place(Work(1e9, 1e6), 1.25, peaks).bottleneck is Bottleneck.COMPUTE
    streaming = place(Work(1e6, 1e9), 11.0, peaks)
    assert streaming.bottleneck is Bottleneck.DRAM and streaming.roofline_fraction == pytest.approx(10 / 11)
    assert place(Work(1e9, 1e6), 50.0, peaks).bottleneck is Bottleneck.ISSUE
    assert place(Work(0.0, 1e6), 50.0, peaks).bottleneck is Bottleneck.LATENCY
    assert place(Work(0.0, 10.0), 0.005, peaks).bottleneck is Bottleneck.LAUNCH
    assert place(Work(1.0, 1.0), 1.0, Peaks()).bottleneck is Bottleneck.UNKNOWN


def test_peaks_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "peaks" / "x.json"
    assert read_peaks(path) is None
    info = DeviceInfo("opencl:0", "cpu", "v", "a", "cpu", 2, 1)
    write_peaks(path, Peaks(12.5, 99.0), info)
    assert read_peaks(path) == Peaks(12.5, 99.0)
    path.write_text("{")
    assert read_peaks(path) is None
    (tmp_path / "file").write_text("")
    write_peaks(tmp_path / "file" / "x.json", Peaks(), info)  # a cache that cannot be written is no error


def test_summaries_are_deterministic() -> None:
    samples = [float(x) for x in np.random.default_rng(0).normal(5, 1, 20)]
    assert summarise(samples, 3) == summarise(samples, 3)
    assert math.isclose(summarise(samples, 3).median_ms, float(np.median(samples)))


RECORDED = Path(__file__).parents[1] / "data" / "timings" / "same_kernel.json"


def test_the_bootstrap_over_processes_covers_on_recorded_samples() -> None:
    """A kernel against itself in 60 fresh processes of a busy machine: five of them, drawn again and again.

    Resampling the processes covers the median of all 60 in about 94% of draws (the bound of the sign test), for the
    ratio and for the times themselves.
    """
    processes = json.loads(RECORDED.read_text())["processes"]
    medians = np.array([[np.median(samples) for samples in pair] for pair in processes])
    rng, trials = np.random.default_rng(4), 400
    for logs in (np.log(medians[:, 0] / medians[:, 1]), np.log(medians[:, 0])):
        truth = float(np.median(logs))
        covered = 0
        for trial in range(trials):
            drawn = rng.choice(len(logs), 5, replace=False)
            _, low, high = bootstrap_median(list(logs[drawn]), trial)
            covered += low <= truth <= high
        assert 0.90 <= covered / trials <= 0.98
