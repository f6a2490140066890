"""The examples of the guide's page on Python run as they stand, and say what the page says."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import evo

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "python.md"
CODE = "\n".join(re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
QUICK = CODE.replace("evaluations=40", 'evaluations=3, device="opencl:0"')


@pytest.mark.slow
def test_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVO_TUNE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "guide.py"
    path.write_text(QUICK)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(QUICK, str(path), "exec"), names)
    found, known, other, same = names["found"], names["known"], names["other"], names["same"]
    assert isinstance(found, evo.Tuned)
    assert found.verified and found.low <= found.speedup <= found.high
    assert found.evaluations == 3
    assert "__kernel" in found.source and found.source in (found.folder / "best.cl").read_text()
    assert {"report.html", "best.json", "campaign.yaml", "kernel.cu", "reference.py"} <= {
        path.name for path in found.folder.iterdir()
    }
    assert (known.match, known.size_distance) == ("exact", 0.0)
    assert (other.match, other.size_distance, other.best.size) == ("nearest", 2.0, "n=262144")
    assert (same.match, same.kernel_distance) == ("exact", 0.0)
    assert names["launch"].grid[0].blocks({"n": 262144}) == names["blocks"][0] > 0


def test_the_import_loads_next_to_nothing() -> None:
    code = "import sys; before = set(sys.modules); import evo; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {"numpy", "sqlalchemy", "psycopg", "sklearn", "pydantic", "yaml", "genome", "knowledge"}


def test_one_class_of_errors(tmp_path: Path) -> None:
    source = "__global__ void f(float* x, int n) { x[threadIdx.x] = n; }"
    fields = {"arguments": [], "launch": {}, "sizes": []}
    for call, message in [
        (lambda: evo.tune(tmp_path / "none.yaml"), "none.yaml: no such file"),
        (lambda: evo.tune("kernel.txt"), "expected a campaign file"),
        (lambda: evo.tune(source), "spec: missing"),
        (lambda: evo.tune(tmp_path / "c.yaml", {}), "a campaign file says everything"),
        (lambda: evo.tune(source, {"sizes": [object()]}, output=tmp_path), r"spec.sizes\[0\]: expected"),
        (lambda: evo.tune(source, {**fields, "size": 1}, output=tmp_path), "size: unknown field; did you mean"),
        (lambda: evo.tune(source, fields, reference=lambda x: x, output=tmp_path), "reference: the source of"),
        (lambda: evo.prior(tmp_path / "none.cu"), "none.cu: no such file"),
        (lambda: evo.prior("f", limit=0), "limit: expected 1 or more"),
        (lambda: evo.prior("f", knowledge="mysql://x"), "postgresql"),
    ]:
        with pytest.raises(evo.TuneError, match=message):
            call()


def test_interrupts_end_the_search_in_the_main_thread_alone() -> None:
    from evo.tuning import _interruptible

    with _interruptible() as interrupted:
        assert not interrupted()
        signal.raise_signal(signal.SIGINT)
        time.sleep(0.01)
        assert interrupted()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    seen: list[bool] = []

    def elsewhere() -> None:
        with _interruptible() as switch:
            seen.append(switch())

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert seen == [False]
