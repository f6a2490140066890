"""Where a wrong variant meets the evaluator: once with its one defence off, once with all of them on.

``Ring`` calls the functions of the device process in this one, on a real device, which is quick; weaknesses that kill a
process go through ``whole``, a LocalEvaluator with all its processes. Kernels are written once, in macros.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evaluator.api import Compiled, Measured
from evaluator.backend import Backend, Peaks
from evaluator.defences import Defences
from evaluator.devices import open_backend
from evaluator.face_off import face_off
from evaluator.messages import CompareJob, Fatal, Outcome, Prepared, Setup, Work
from evaluator.oracle import Reference
from evaluator.pool import LocalEvaluator
from evaluator.result import Evaluation, Status
from evaluator.settings import EvaluatorSettings
from evaluator.station import Station
from evaluator.worker import open_baseline, run_cascade
from genome.sizes import SizeExpr
from genome.spec import ArgSpec, Initialiser, KernelSpec, LaunchSpec, ProblemSize, Role, Tolerance
from genome.variant import GridAxis, Guard, Launch, Scratch, Step, Target, Variant

PRELUDES: Mapping[Target, str] = {
    Target.OPENCL: """#define KERNEL __kernel
#define GLOBAL __global
#define TABLE __constant
#define SHARED __local
#define GID ((int)get_global_id(0))
#define LID ((int)get_local_id(0))
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define BITS(x) as_uint(x)
#define FLOAT(x) as_float(x)
typedef ulong address;
typedef uint word;
""",
    Target.CUDA: """#define KERNEL extern "C" __global__
#define GLOBAL
#define TABLE __constant__
#define SHARED __shared__
#define GID ((int)(blockIdx.x * blockDim.x + threadIdx.x))
#define LID ((int)threadIdx.x)
#define BARRIER __syncthreads()
#define BITS(x) __float_as_uint(x)
#define FLOAT(x) __uint_as_float(x)
#define NAN __int_as_float(0x7fffffff)
typedef unsigned long long address;
typedef unsigned int word;
""",
}
N = SizeExpr("N")
ONE = GridAxis(SizeExpr("1"))
SEED = 11


def size_of(n: int) -> ProblemSize:
    return ProblemSize((("N", n),))


@dataclass(frozen=True)
class Bout:
    """A kernel of N threads with the form that is right.

    Attributes:
        spec: Arguments, sizes, tolerance.
        good: The baseline's text; its entry is the spec's.
        reference: Text of a Python file with a function of the same name; empty takes the baseline as the oracle.
        work: Operations by size label.
        block: Threads of a block.
    """

    spec: KernelSpec
    good: str
    reference: str = ""
    work: Mapping[str, Work] = field(default_factory=dict)
    block: int = 64

    def variant(
        self, text: str, target: Target, *, scratch: tuple[Scratch, ...] = (), guard: Guard | None = None,
        steps: tuple[Step, ...] = (), block: int = 0,
    ) -> Variant:  # fmt: skip
        names = tuple(arg.name for arg in self.spec.args) + tuple(item.name for item in scratch)
        block = block or self.block
        launch = Launch(self.spec.entry, (GridAxis(N, block), ONE, ONE), (block, 1, 1), names)
        return Variant(self.spec.name, target, PRELUDES[target] + text, steps or (launch,), scratch, guard or Guard())


def bout(
    name: str, args: Sequence[ArgSpec], good: str, *, tuned: Sequence[int] = (4096, 2048),
    checks: Sequence[int] = (512, 1009, 17), reference: str = "", tolerance: Tolerance | None = None,
    work: Mapping[str, Work] | None = None,
) -> Bout:  # fmt: skip
    """A bout with the scalar N at the end of the arguments."""
    whole = (*args, ArgSpec("N", "int32", value=N))
    spec = KernelSpec(
        name, "", name, whole, LaunchSpec((64, 1, 1), domain=(N,)), tuple(map(size_of, tuned)),
        tuple(map(size_of, checks)), tolerance=tolerance or Tolerance(),
    )  # fmt: skip
    return Bout(spec, good, reference, work or {})


def array(name: str, role: Role = Role.IN, init: Initialiser | None = None, dtype: str = "float32") -> ArgSpec:
    return ArgSpec(name, dtype, role, (N,), init=init or Initialiser())


AXPB_HEAD = "KERNEL void axpb(GLOBAL const float *A, GLOBAL const float *B, GLOBAL float *C, int N"
AXPB_BODY = "C[i] = 1.5f * A[i] + B[i];"
AXPB = bout(
    "axpb",
    (array("A"), array("B", init=Initialiser("normal")), array("C", Role.OUT)),
    f"{AXPB_HEAD}) {{ int i = GID; if (i < N) {AXPB_BODY} }}",
)


def axpb(body: str, scratch: str = "") -> str:
    """C = 1.5 A + B with another body for the threads inside."""
    return f"{AXPB_HEAD}{scratch}) {{ int i = GID; if (i < N) {{ {body} }} }}"


class Silent:
    """Takes the messages that a device process sends to its parent."""

    def send(self, message: Any) -> None:
        del message


class Ring:
    """A device of this process. ``settings`` are short; ``defences`` are what a test changes."""

    def __init__(self, backend: Backend, folder: Path, device: str) -> None:
        self.backend, self.device, self._folder = backend, device, folder
        self.peaks = Peaks(1e6, 1e6)  # so high that no time of a real device is impossible
        self.settings = EvaluatorSettings(
            run_timeout_s=2.0, min_samples=3, max_samples=6, sample_budget_s=0.01, flush_cap_bytes=1 << 20,
            proof_budget_s=0.02, soak_s=0.1, cache_dir=folder / "cache",
        )  # fmt: skip
        self._stations: dict[str, tuple[Station, Prepared]] = {}

    @property
    def target(self) -> Target:
        return self.backend.target

    def outcome(self, bout: Bout, variant: Variant, settings: EvaluatorSettings) -> Outcome:
        """Takes a variant through the cascade after the baseline."""
        station, _ = self.station(bout, settings)
        return run_cascade(station, self.compiled(variant), {})

    def failure(self, bout: Bout, variant: Variant, **flags: bool) -> Evaluation | None:
        """Why the cascade refuses a variant with these defences changed; None if it does not."""
        settings = replace(self.settings, defences=replace(Defences(), **flags))
        outcome = self.outcome(bout, variant, settings)
        return Measured(0, outcome.evaluations, outcome.checks).failure

    def proof(self, bout: Bout, variant: Variant, **flags: bool) -> tuple[str, tuple[Evaluation, ...]]:
        """What one process of the final proof says of a variant: its failure (empty if none) and its check sizes."""
        settings = replace(self.settings, defences=replace(Defences(), **flags))
        station, baseline = self.station(bout, settings)
        compared = face_off(station, CompareJob((baseline, self.compiled(variant)), settings.proof_budget_s, 0))
        return compared.failures[1], compared.checks[1]

    def both(self, bout: Bout, text: str, flag: str, **form: Any) -> Evaluation:
        """Asserts that a variant passes without one defence; gives what happens to it with all of them."""
        variant = bout.variant(text, self.target, **form)
        accepted = self.failure(bout, variant, **{flag: False})
        assert accepted is None, f"refused even without {flag}: {accepted.status} {accepted.message}"
        refused = self.failure(bout, variant)
        assert refused is not None, "accepted with every defence on"
        return refused

    def compiled(self, variant: Variant) -> Prepared:
        return Prepared(variant, self.backend.compile(variant, [], "", lambda stage: None))

    def station(self, bout: Bout, settings: EvaluatorSettings) -> tuple[Station, Prepared]:
        """A station with the baseline opened, made once for each kernel and setting."""
        key = repr((bout.spec, bout.good, bout.reference, settings))
        if key not in self._stations:
            session = Path(tempfile.mkdtemp(dir=self._folder))
            setup = Setup(
                bout.spec, self.device, settings, reference_of(bout, session), SEED, session, self.peaks, bout.work
            )
            station = Station(self.backend, setup, Silent())  # type: ignore[arg-type]  # only ``send`` is used
            baseline = self.compiled(bout.variant(bout.good, self.target))
            opened = open_baseline(station, baseline)
            station.close()
            assert not isinstance(opened, Fatal), opened.message
            failure = Measured(0, opened.evaluations, opened.checks).failure
            assert failure is None, f"the baseline: {failure.message}"
            self._stations[key] = station, baseline
        return self._stations[key]


def ring_on(device: str, folder: Path) -> Ring:
    return Ring(open_backend(device), folder, device)


def reference_of(bout: Bout, folder: Path) -> Reference | None:
    if not bout.reference:
        return None
    path = folder / "reference.py"
    path.write_text(bout.reference)
    return Reference(str(path), bout.spec.entry)


@contextmanager
def whole(bout: Bout, device: str, folder: Path, cache: Path, **changes: Any) -> Iterator[LocalEvaluator]:
    """An evaluator with all its processes, the baseline opened. ``changes`` are settings, or flags of defences."""
    flags = {name: value for name, value in changes.items() if name in Defences.__dataclass_fields__}
    rest = {name: value for name, value in changes.items() if name not in flags}
    settings = EvaluatorSettings(
        min_samples=3, max_samples=6, sample_budget_s=0.01, flush_cap_bytes=1 << 20, proof_budget_s=0.02,
        compilers=1, cache_dir=cache, defences=replace(Defences(), **flags),
    )  # fmt: skip
    settings = replace(settings, **rest)
    with LocalEvaluator(bout.spec, device, settings, reference_of(bout, folder), SEED, bout.work) as evaluator:
        evaluator.open(bout.variant(bout.good, evaluator.target))
        yield evaluator


def judged(evaluator: LocalEvaluator, variant: Variant) -> tuple[Status, str]:
    """What becomes of a variant, compilation included."""
    evaluator.compile(1, variant)
    (compiled,) = evaluator.events(None)
    assert isinstance(compiled, Compiled)
    if compiled.status is not Status.OK:
        return compiled.status, compiled.message
    evaluator.measure(1)
    (measured,) = evaluator.events(None)
    assert isinstance(measured, Measured)
    failure = measured.failure
    return (failure.status, failure.message) if failure else (Status.OK, "")
