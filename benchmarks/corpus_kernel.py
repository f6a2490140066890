"""What becomes of one kernel of the corpus, stage by stage. Runs in a process that may be killed."""

from __future__ import annotations

import re
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.cuda.compile import language_options
from evaluator.cuda.nvrtc import Compilation, Nvrtc
from genome.genes import Genome
from genome.ir.kernel import Kernel
from genome.ir.print_errors import PrintError
from genome.ir.print_source import print_kernel
from genome.ir.stmt import Opaque, flatten
from genome.limits import DeviceLimits
from genome.moves import survey
from genome.sizes import SizeExpr
from genome.source.errors import SourceError
from genome.source.frontend import parse_opened
from genome.source.opening import open_kernel
from genome.source.preprocess import preprocess
from genome.source.round_trip import round_trip
from genome.source.slice import find_entry, items
from genome.source.template_guess import item_arguments
from genome.source.verbatim import as_text
from genome.spec import KernelSpec, LaunchSpec, ProblemSize
from genome.transforms.builtin import BUILTIN
from genome.variant import Target

PLAIN = frozenset({"macro", "block_shape", "restrict", "fast_math", "launch_bounds", "specialise"})
"""Transforms that leave the statements as they are: options, qualifiers, macros, the launch's block."""

_LIBRARY = re.compile(r"\.(global|extern).* _ZN4cuda")  # constants of CUDA's standard library, used or not
_BLOCKS = {0: (256, 1, 1), 1: (256, 1, 1), 2: (16, 16, 1), 3: (8, 8, 4)}
_SIZE = 4096


@dataclass(frozen=True)
class Task:
    """A kernel and how its unit is read."""

    key: str
    folder: str
    unit: str
    entry: str
    include_dirs: tuple[str, ...]
    defines: tuple[tuple[str, str], ...]


class Examiner:
    """Examines one kernel after another; holds the compiler, if one is wanted."""

    def __init__(self, compiles: bool = True) -> None:
        self.nvrtc = Nvrtc() if compiles else None
        self.options = ("-arch=compute_90", "-DNDEBUG", *language_options())  # assert() holds a line and a text

    def examine(self, task: Task, tell: Callable[[str, dict[str, Any]], None]) -> dict[str, Any]:
        """Everything that is known of the kernel in the end; ``tell`` hears which stage begins, and what is known then.

        A stage that fails leaves ``failure`` or ``crash``, and out what rests on it.
        """
        run = _Run(task, self, tell)
        if run.attempt("preprocess", run.preprocess) and run.attempt("slice", run.open):
            parsed = run.attempt("parse", run.parse) and run.attempt("transforms", run.transforms)
            if self.nvrtc is not None and run.attempt("compile sliced", run.compile_sliced) and parsed:
                run.attempt("compile back", run.compile_back)
                run.attempt("compile normal", run.compile_normal)
        return run.record

    def ptx(self, kernel: Kernel) -> Compilation:
        """What the compiler makes of the printed kernel."""
        assert self.nvrtc is not None
        return self.nvrtc.ptx(print_kernel(kernel, Target.CUDA), "kernel.cu", self.options)


class _Run:
    """One kernel on its way through the stages; each returns False where no later one has a meaning."""

    def __init__(self, task: Task, examiner: Examiner, tell: Callable[[str, dict[str, Any]], None]) -> None:
        self.task, self.examiner, self.tell = task, examiner, tell
        self.record: dict[str, Any] = {}
        self.path = str(Path(task.folder, task.unit))
        self.text = Path(self.path).read_text(errors="replace")
        self.given: dict[str, Any] = {"path": self.path, "defines": task.defines, "include_dirs": task.include_dirs}

    def attempt(self, name: str, stage: Callable[[], bool]) -> bool:
        """Runs a stage. Anything but an error of the front end is a crash: what this bench is there to find."""
        self.tell(name, self.record)
        try:
            return stage()
        except (SourceError, PrintError) as error:
            message = error.message if isinstance(error, SourceError) else str(error)
            self.record.setdefault("failure", {"stage": name, "message": message, "line": getattr(error, "line", 0)})
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            message = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {error}"
            self.record.setdefault("crash", {"stage": name, "message": message})
        return False

    def preprocess(self) -> bool:
        task = self.task
        found = items(preprocess(self.text, self.path, task.defines, task.include_dirs).tokens)
        left = any(i.kind == "kernel" and i.body >= 0 and i.names[0] == task.entry for i in found)
        self.record["preprocessed"] = left
        if left:
            entry = find_entry(found, task.entry, self.path)
            guess = item_arguments(found, entry)
            self.given["template_args"] = guess.arguments
            self.record["template"] = "none" if entry.template is None else "guessed" if guess.unsure else "literal"
        return left

    def open(self) -> bool:
        start = time.process_time()
        self.opened = open_kernel(self.text + "\n", self.task.entry, **self.given)  # no text that is remembered
        self.record["ready_ms"] = (time.process_time() - start) * 1e3
        self.record["sliced"] = True
        return True

    def parse(self) -> bool:
        start = time.process_time()
        self.kernel = parse_opened(self.opened, self.path)
        self.record["ready_ms"] += (time.process_time() - start) * 1e3
        opaque = [stmt.text for stmt in flatten(self.kernel.body) if isinstance(stmt, Opaque)]
        self.record |= {"parsed": True, "opaque": len(opaque), "opaque_text": opaque[:3], "axes": len(self.kernel.axes)}
        return True

    def transforms(self) -> bool:
        self.record["offered"], self.record["refused"] = _offers(_spec(self.text, self.task, self.kernel, self.given))
        return True

    def compile_sliced(self) -> bool:
        self.written = self._compile("sliced", as_text(self.opened))
        return bool(self.written)

    def compile_back(self) -> bool:
        back = self._compile("back", round_trip(self.opened, self.path))
        self.record["back_identical"] = back == self.written
        return True

    def compile_normal(self) -> bool:
        normal = self._compile("normal", self.kernel)
        self.record["normal_identical"] = normal == self.written
        return True

    def _compile(self, name: str, kernel: Kernel) -> list[str]:
        """PTX of the printed kernel; records whether there is any, else the first complaint."""
        result = self.examiner.ptx(kernel)
        self.record[f"{name}_compiles"] = result.ok
        if not result.ok:
            complaint = next((line for line in result.log.splitlines() if "error" in line), result.log[:200])
            self.record[f"{name}_log"] = complaint.strip()
        return comparable(result.cubin.decode(errors="replace"))


def comparable(ptx: str) -> list[str]:
    """Lines of PTX that a compiler acts upon."""
    lines = (re.sub(r"//.*", "", line).strip() for line in ptx.splitlines())
    return [line for line in lines if line and line != "\0" and not _LIBRARY.match(line)]


def _spec(text: str, task: Task, kernel: Kernel, given: dict[str, Any]) -> KernelSpec:
    """A campaign that grants nothing and tells no arguments: what transforms apply does not need their values."""
    block = _BLOCKS[len(kernel.axes)]
    extent = SizeExpr("N")
    used = max(("xyz".index(axis.dim) for axis in kernel.axes), default=0) + 1
    launch = LaunchSpec(block, (extent,) * used) if kernel.axes else LaunchSpec(block, grid=(extent,))
    return KernelSpec(
        task.entry, text, task.entry, (), launch, (ProblemSize((("N", _SIZE),)),),
        template_args=given["template_args"], defines=task.defines, include_dirs=task.include_dirs, path=given["path"],
    )  # fmt: skip


def _offers(spec: KernelSpec) -> tuple[list[str], list[str]]:
    """Names of the transforms that apply somewhere, and why others do not."""
    found, refused = survey(spec, Genome(), BUILTIN, Target.CUDA, DeviceLimits())
    reasons = dict.fromkeys(f"{move.transform.name}: {move.reason}" for move in refused)
    return sorted({move.transform.name for move in found}), list(reasons)
