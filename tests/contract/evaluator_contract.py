"""What LocalEvaluator must see on every device: right variants pass, and each kind of wrong one gets its own status.

The kernel is C[r, c] = alpha * A[r, c] + B[c] over M x N. Rows are written by variants in the macros of
``backend_contract``; ``GID2`` is the second index.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evaluator.api import Compiled, EvaluatorError, Measured
from evaluator.messages import Work
from evaluator.oracle import Reference
from evaluator.pool import LocalEvaluator
from evaluator.result import Evaluation, Status
from evaluator.settings import EvaluatorSettings
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, Initialiser, KernelSpec, LaunchSpec, ProblemSize, Role
from genome.variant import GridAxis, Guard, Launch, Memset, Scratch, Step, Target, Variant

ARGS = ("A", "B", "C", "M", "N", "alpha")
HEAD = "KERNEL void axpb(GLOBAL const float *A, GLOBAL const float *B, GLOBAL float *C, int M, int N, float alpha) {"
INDEX = "int c = GID; int r = GID2; "
BODY = "C[r * N + c] = alpha * A[r * N + c] + B[c];"
GOOD = f"{HEAD}{INDEX}if (r < M && c < N) {BODY} }}"
ALWAYS = "*(GLOBAL const volatile float *)A > -1e30f"  # a condition that holds, and that no compiler may assume
REFERENCE = """import numpy as np
def axpb(inputs, sizes):
    assert inputs["A"].dtype == np.float64 and inputs["A"].shape == (sizes["M"], sizes["N"])
    return inputs["alpha"] * inputs["A"] + inputs["B"]
"""


def size_of(m: int, n: int) -> ProblemSize:
    return ProblemSize((("M", m), ("N", n)))


def spec() -> KernelSpec:
    m, n = SizeExpr("M"), SizeExpr("N")
    args = (
        ArgSpec("A", "float32", Role.IN, (m, n)),
        ArgSpec("B", "float32", Role.IN, (n,), init=Initialiser("normal")),
        ArgSpec("C", "float32", Role.OUT, (m, n)),
        ArgSpec("M", "int32", value=m),
        ArgSpec("N", "int32", value=n),
        ArgSpec("alpha", "float32", value=1.5),
    )
    launch = LaunchSpec((16, 4, 1), domain=(n, m))
    checks = (size_of(16, 32), size_of(7, 33), size_of(1, 5))
    return KernelSpec("axpb", "", "axpb", args, launch, (size_of(64, 96), size_of(61, 97)), checks)


def wrong_at(condition: str, other: str) -> str:
    """The good kernel, but ``other`` where the condition holds."""
    return f"{HEAD}{INDEX}if (r < M && c < N) {{ if ({condition}) {{ {other} }} else {{ {BODY} }} }} }}"


class EvaluatorContract:
    """Subclasses give ``device``, ``prelude`` and ``target``; ``dawdle`` is a loop count that takes milliseconds."""

    device: str
    prelude: str
    target: Target
    dawdle: int = 20_000_000

    @pytest.fixture(scope="class")
    @classmethod
    def cache(cls, tmp_path_factory: pytest.TempPathFactory) -> Path:
        """Device peaks are measured once for all tests."""
        return tmp_path_factory.mktemp("cache")

    @pytest.fixture(scope="class")
    @classmethod
    def evaluator(cls, tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[LocalEvaluator]:
        folder = tmp_path_factory.mktemp("evaluator")
        (folder / "reference.py").write_text(REFERENCE)
        reference = Reference(str(folder / "reference.py"), "axpb")
        settings = EvaluatorSettings(run_timeout_s=1.0, sample_budget_s=0.05, proof_budget_s=0.1, cache_dir=cache)
        with LocalEvaluator(spec(), cls.device, settings, reference, 7) as evaluator:
            evaluator.open(cls.variant(GOOD))
            yield evaluator

    @classmethod
    def variant(
        cls, text: str, *, steps: tuple[Step, ...] = (), scratch: tuple[Scratch, ...] = (), guard: Guard | None = None
    ) -> Variant:
        grid = (GridAxis(SizeExpr("N"), 16), GridAxis(SizeExpr("M"), 4), GridAxis(SizeExpr("1")))
        whole = steps or (Launch("axpb", grid, (16, 4, 1), ARGS),)
        return Variant("axpb", cls.target, cls.prelude + text, whole, scratch, guard or Guard())

    def result(self, evaluator: LocalEvaluator, variant: Variant) -> Measured | Compiled:
        """Compiles and measures one variant."""
        evaluator.compile(1, variant)
        (compiled,) = evaluator.events(None)
        assert isinstance(compiled, Compiled) and compiled.ticket == 1
        if compiled.status is not Status.OK:
            return compiled
        evaluator.measure(1)
        (measured,) = evaluator.events(None)
        assert isinstance(measured, Measured) and measured.ticket == 1
        return measured

    def failure(self, evaluator: LocalEvaluator, text: str) -> Evaluation:
        measured = self.result(evaluator, self.variant(text))
        assert isinstance(measured, Measured) and measured.failure is not None
        return measured.failure

    def test_the_baseline_is_verified_and_timed(self, evaluator: LocalEvaluator) -> None:
        measured = self.result(evaluator, self.variant(GOOD + "\n"))
        assert isinstance(measured, Measured) and measured.failure is None
        assert [item.size for item in measured.evaluations] == ["M=64,N=96", "M=61,N=97"]
        assert {item.size for item in measured.checks} == {"M=16,N=32", "M=7,N=33", "M=1,N=5"}
        for item in measured.evaluations:
            assert item.timing is not None and item.timing.low_ms <= item.timing.median_ms <= item.timing.high_ms
            assert item.profile is not None and item.profile.bytes > 0
            assert item.max_error is not None and 0.0 <= item.max_error < 0.1

    @pytest.mark.parametrize(
        ("text", "status", "words"),
        [
            (f"{HEAD}}}", Status.UNWRITTEN, "5 of 5 elements of C"),
            (wrong_at("r > 0 && r >= M / 2", ""), Status.UNWRITTEN, "elements of C"),
            (wrong_at("1", "C[r * N + c] = 0.0f;"), Status.WRONG, "expected"),
            (wrong_at("1", "C[r * N + c] = alpha * A[r * N + c];"), Status.WRONG, "expected"),
            (wrong_at("c == N - 1", "C[r * N + c] = NAN;"), Status.WRONG, "= nan"),
            (wrong_at("N % 2 == 1 && M > 1 && c == N - 1", ""), Status.UNWRITTEN, "M=7,N=33"),
            (wrong_at("M == 7", "C[r * N + c] = 1.0f;"), Status.WRONG, "wrong at M=7,N=33: 231 of 231"),
            (wrong_at("M == 64", "C[r * N + c] = 1.0f;"), Status.WRONG, "M=64,N=96"),
            (wrong_at("1", f"{BODY} ((GLOBAL float *)A)[r * N + c] = 0.0f;"), Status.STRAY_WRITE, "input A changed"),
            (wrong_at("1", f"{BODY} C[-1] = 0.0f;"), Status.STRAY_WRITE, "before the start"),
        ],
        ids=[
            "no-op", "half", "constant", "input ignored", "nan", "tail unwritten", "one check size", "one tuned size",
            "input modified", "before the start",
        ],
    )  # fmt: skip
    def test_wrong_variants(self, evaluator: LocalEvaluator, text: str, status: Status, words: str) -> None:
        failure = self.failure(evaluator, text)
        assert failure.status is status
        assert words in failure.message

    def test_one_element_past_the_end(self, evaluator: LocalEvaluator) -> None:
        text = wrong_at("r == M - 1 && c == N - 1", f"{BODY} C[M * N] = 0.0f;")
        result = self.result(evaluator, self.variant(text))
        status = result.status if isinstance(result, Compiled) else result.failure and result.failure.status
        assert status in (Status.STRAY_WRITE, Status.CRASH)

    def test_the_dropped_tail_guard(self, evaluator: LocalEvaluator) -> None:
        result = self.result(evaluator, self.variant(f"{HEAD}{INDEX}{BODY} }}"))
        status = result.status if isinstance(result, Compiled) else result.failure and result.failure.status
        assert status in (Status.STRAY_WRITE, Status.CRASH)

    def test_compile_error(self, evaluator: LocalEvaluator) -> None:
        compiled = self.result(evaluator, self.variant(f"{HEAD} nonsense }}"))
        assert isinstance(compiled, Compiled) and compiled.status is Status.COMPILE_ERROR
        assert "nonsense" in compiled.message

    def test_over_a_limit(self, evaluator: LocalEvaluator) -> None:
        launch = self.variant(GOOD).launches[0]
        compiled = self.result(evaluator, self.variant(GOOD, steps=(replace(launch, block=(1 << 20, 1, 1)),)))
        assert isinstance(compiled, Compiled) and compiled.status is Status.LIMIT
        assert "1048576 threads" in compiled.message

    def test_an_infinite_loop_is_killed(self, evaluator: LocalEvaluator) -> None:
        text = f"{HEAD}{INDEX}if (M == 61) while ({ALWAYS}) ; if (r < M && c < N) {BODY} }}"
        failure = self.failure(evaluator, text)
        assert failure.status is Status.TIMEOUT and failure.size == "M=61,N=97"
        self.still_works(evaluator)

    def test_an_infinite_loop_in_every_launch(self, evaluator: LocalEvaluator) -> None:
        result = self.result(evaluator, self.variant(f"{HEAD}while ({ALWAYS}) ; C[0] = 0.0f; }}"))
        status = result.status if isinstance(result, Compiled) else result.failure and result.failure.status
        assert status is Status.TIMEOUT
        self.still_works(evaluator)

    def test_a_null_pointer(self, evaluator: LocalEvaluator) -> None:
        text = f"{HEAD}{INDEX}if (M == 61) *(GLOBAL volatile float *)(8) = 1.0f; if (r < M && c < N) {BODY} }}"
        failure = self.failure(evaluator, text)
        assert failure.status in (Status.CRASH, Status.LAUNCH_ERROR) and failure.size == "M=61,N=97"
        self.still_works(evaluator)

    def test_a_killed_worker_costs_nothing_but_time(self, evaluator: LocalEvaluator) -> None:
        evaluator.compile(1, self.variant(GOOD + "\n\n"))
        assert isinstance(evaluator.events(None)[0], Compiled)
        pid = evaluator.worker_pid
        assert pid is not None
        evaluator.measure(1)
        os.kill(pid, signal.SIGKILL)
        (measured,) = evaluator.events(None)
        assert isinstance(measured, Measured) and measured.failure is None
        assert evaluator.worker_pid != pid

    def test_the_guard_falls_back_to_the_baseline(self, evaluator: LocalEvaluator) -> None:
        guard = Guard((SizeExpr("M % 2 == 0"),))
        text = f"{HEAD}{INDEX}if (M % 2) return; if (r < M && c < N) {BODY} }}"
        measured = self.result(evaluator, self.variant(text, guard=guard))
        assert isinstance(measured, Measured) and measured.failure is None
        assert {item.size: item.fallback for item in (*measured.evaluations, *measured.checks)} == {
            "M=64,N=96": False, "M=61,N=97": True, "M=16,N=32": False, "M=7,N=33": True, "M=1,N=5": True,
        }  # fmt: skip
        assert all(item.timing for item in measured.evaluations)

    def test_steps_with_scratch_and_memset(self, evaluator: LocalEvaluator) -> None:
        first = (
            "KERNEL void scale(GLOBAL const float *A, GLOBAL float *T, int n, float alpha)"
            " { int i = GID; if (i < n) T[i] += alpha * A[i]; }\n"
        )
        second = (
            "KERNEL void shift(GLOBAL const float *T, GLOBAL const float *B, GLOBAL float *C, int M, int N)"
            f" {{ {INDEX} if (r < M && c < N) C[r * N + c] = T[r * N + c] + B[c]; }}"
        )
        one = GridAxis(SizeExpr("1"))
        grid = self.variant(GOOD).launches[0].grid
        text = first.replace("int n,", "int M, int N,").replace("i < n", "i < M * N") + second
        flat = Launch("scale", (GridAxis(SizeExpr("M * N"), 64), one, one), (64, 1, 1), ("A", "T", "M", "N", "alpha"))
        steps = (Memset("T", 0), flat, Launch("shift", grid, (16, 4, 1), ("T", "B", "C", "M", "N")))
        scratch = (Scratch("T", "float32", SizeExpr("M * N")),)
        measured = self.result(evaluator, self.variant(text, steps=steps, scratch=scratch))
        assert isinstance(measured, Measured) and measured.failure is None
        without = self.result(evaluator, self.variant(text, steps=steps[1:], scratch=scratch))
        assert isinstance(without, Measured) and without.failure is not None
        assert without.failure.status is Status.WRONG

    def test_state_kept_between_calls_is_seen(self, evaluator: LocalEvaluator) -> None:
        """The scratch buffer outlives a call: a variant that counts its calls there would go wrong after some."""
        text = (
            HEAD.replace("float alpha", "float alpha, GLOBAL int *T")
            + f"{INDEX} if (r < M && c < N) {BODY} if (r + c == 0) {{ if (T[0] < 0 || T[0] > 999) T[0] = 0; "
            "T[0] += 1; if (T[0] > 4) C[0] = 9.0f; } }"
        )
        grid = self.variant(GOOD).launches[0].grid
        scratch = (Scratch("T", "int32", SizeExpr("4")),)
        steps = (Launch("axpb", grid, (16, 4, 1), (*ARGS, "T")),)
        measured = self.result(evaluator, self.variant(text, steps=steps, scratch=scratch))
        assert isinstance(measured, Measured) and measured.failure is not None
        assert measured.failure.status is Status.UNSTABLE
        assert "right at first" in measured.failure.message

    def test_the_final_proof(self, evaluator: LocalEvaluator) -> None:
        seen = []
        wrong = self.variant(wrong_at("M == 16", "C[r * N + c] = 1.0f;"))
        same = self.variant(GOOD + "\n// same")
        proof = evaluator.compare(self.variant(GOOD), [same, wrong], 5, lambda done, of: seen.append((done, of)))
        assert seen == [(index + 1, 5) for index in range(5)]
        assert proof[0].verified and proof[0].processes == 5 and proof[0].message == ""
        assert proof[0].low <= proof[0].speedup <= proof[0].high
        assert [row.size for row in proof[0].sizes] == ["M=64,N=96", "M=61,N=97"]
        assert len(proof[0].checks) == 3 and not any(item.fallback for item in proof[0].checks)
        assert not proof[1].verified and "M=16,N=32" in proof[1].message
        assert proof[1].variant == wrong.digest()

    def test_a_baseline_that_differs_from_the_reference(self, tmp_path: Path) -> None:
        (tmp_path / "reference.py").write_text(REFERENCE.replace("+ inputs", "- inputs"))
        reference = Reference(str(tmp_path / "reference.py"), "axpb")
        settings = EvaluatorSettings(cache_dir=tmp_path)
        with (
            LocalEvaluator(spec(), self.device, settings, reference, 7) as evaluator,
            pytest.raises(EvaluatorError, match="does not match the reference"),
        ):
            evaluator.open(self.variant(GOOD))
        assert list((tmp_path / "sessions").iterdir()) == []

    def test_inout_and_untouched_elements(self, cache: Path) -> None:
        """Without a reference the baseline is the oracle: it adds to S in place, and leaves the ends of D alone."""
        n = SizeExpr("N")
        args = (
            ArgSpec("S", "int32", Role.INOUT, (n,), init=Initialiser("integers")),
            ArgSpec("D", "float32", Role.OUT, (n,)),
            ArgSpec("N", "int32", value=n),
        )
        sizes = ((ProblemSize((("N", 1000),)),), (ProblemSize((("N", 77),)), ProblemSize((("N", 64),))))
        small = KernelSpec("ends", "", "ends", args, LaunchSpec((64, 1, 1), domain=(n,)), *sizes)
        one = GridAxis(SizeExpr("1"))
        launch = Launch("ends", (GridAxis(n, 64), one, one), (64, 1, 1), ("S", "D", "N"))

        def kernel(body: str) -> Variant:
            return self.variant(
                f"KERNEL void ends(GLOBAL int *S, GLOBAL float *D, int N) {{ int i = GID; if (i < N) {{ {body} }} }}",
                steps=(launch,),
            )

        inside, add = "if (i > 0 && i < N - 1) D[i] = 2.0f * i; ", "S[i] += i; "
        cases = {
            add + "if (i > 0) if (i < N - 1) D[i] = i + i;": None,
            add + "D[i] = 2.0f * i;": Status.STRAY_WRITE,
            "S[i] = i; " + inside: Status.WRONG,
            inside: Status.WRONG,
        }
        settings = EvaluatorSettings(cache_dir=cache, sample_budget_s=0.05)
        with LocalEvaluator(small, self.device, settings, None, 7) as evaluator:
            evaluator.open(kernel(inside + add))
            for body, status in cases.items():
                measured = self.result(evaluator, kernel(body))
                assert isinstance(measured, Measured)
                assert (measured.failure and measured.failure.status) is status

    def test_a_checker_judges_values(self, tmp_path: Path, cache: Path) -> None:
        (tmp_path / "checker.py").write_text(
            "import numpy as np\n"
            "def close(inputs, outputs, sizes):\n"
            "    right = 1.5 * inputs['A'] + inputs['B']\n"
            "    worst = np.abs(outputs['C'] - right).max()\n"
            "    return bool(worst < 1e-2) or f'off by {worst:.2f}'\n"
        )
        checker = Reference(str(tmp_path / "checker.py"), "close", "checker")
        settings = EvaluatorSettings(cache_dir=cache, sample_budget_s=0.05)
        with LocalEvaluator(spec(), self.device, settings, checker, 7) as evaluator:
            evaluator.open(self.variant(GOOD))
            near = self.result(evaluator, self.variant(GOOD.replace("+ B[c]", "+ B[c] + 0.001f")))
            assert isinstance(near, Measured) and near.failure is None
            for text, status, words in (
                (GOOD.replace("+ B[c]", "+ B[c] + 0.5f"), Status.WRONG, "off by 0.50"),
                (f"{HEAD}}}", Status.UNWRITTEN, "elements of C"),
            ):
                failure = self.failure(evaluator, text)
                assert failure.status is status and words in failure.message

    def test_what_looks_too_good_is_refused(self, cache: Path) -> None:
        """The baseline dawdles above the roofline's bound; the variant is below it, as if it left work out."""
        slow = f"if (GID + GID2 == 0) for (int i = 0; i < {self.dawdle} && {ALWAYS}; i++) ; "
        settings = EvaluatorSettings(cache_dir=cache, sample_budget_s=0.1)
        with LocalEvaluator(spec(), self.device, settings, None, 7) as probe:
            peak = probe.device.peak_gflops
        for exact, status in ((True, Status.IMPOSSIBLE), (False, None)):
            claimed = Work(flops=4e-3 * peak * 1e9, exact=exact)  # 4 ms at the peak; half of it is refused
            work = {size.label: claimed for size in spec().sizes}
            with LocalEvaluator(spec(), self.device, settings, None, 7, work) as evaluator:
                evaluator.open(self.variant(GOOD.replace(INDEX, INDEX + slow)))
                measured = self.result(evaluator, self.variant(GOOD))
            assert isinstance(measured, Measured)
            assert (measured.failure and measured.failure.status) is status
            if measured.failure is not None:
                assert "impossible at M=64,N=96" in measured.failure.message

    def still_works(self, evaluator: LocalEvaluator) -> None:
        measured = self.result(evaluator, self.variant(GOOD + f"\n// {np.random.default_rng().integers(1 << 30)}"))
        assert isinstance(measured, Measured) and measured.failure is None
