"""Children that die with their parent, sessions that clean up, device names, and turns on the cores."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from evaluator.devices import DeviceError, list_devices, resolve_device
from evaluator.process import Child, ChildDied
from evaluator.session import Session, remove_orphans
from evaluator.turn import Turn

REFERENCE = "def f(inputs, sizes): return inputs\n"


def started(folder: Path) -> Child:
    """A child that answers."""
    (folder / "reference.py").write_text(REFERENCE)
    child = Child("evaluator.reference_child", folder / "log", {})
    child.send((str(folder / "reference.py"), "f"))
    child.send((1, {}))
    assert child.receive(20.0) == (False, 1)
    return child


def gone(pid: int) -> bool:
    """True if the process ended (or is a zombie that nobody has waited for)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_a_killed_child_says_how_it_ended(tmp_path: Path) -> None:
    child = started(tmp_path)
    os.kill(child.pid, signal.SIGSEGV)
    with pytest.raises(ChildDied, match="SIGSEGV"):
        child.receive(10.0)
    assert child.ended_by() is signal.SIGSEGV and not child.alive
    child.kill()
    child.kill()


def test_children_ignore_ctrl_c(tmp_path: Path) -> None:
    child = started(tmp_path)
    os.kill(child.pid, signal.SIGINT)
    child.send((2, {}))
    assert child.receive(10.0) == (False, 2)
    child.kill()
    assert gone(child.pid)


def test_a_child_dies_with_its_parent(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from evaluator.process import Child\n"
        f"child = Child('evaluator.reference_child', Path({str(tmp_path)!r}) / 'log', {{}})\n"
        "print(child.pid, flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert not gone(pid)
        parent.kill()
    deadline = time.monotonic() + 60.0
    while not gone(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert gone(pid)


def test_sessions_remove_themselves_and_what_the_dead_left(tmp_path: Path) -> None:
    orphan = tmp_path / "sessions" / "1-abc"
    orphan.mkdir(parents=True)
    (orphan / "owner.lock").write_text("")
    (orphan / "oracle.npy").write_text("")
    alive = Session(tmp_path)
    assert not orphan.exists()
    remove_orphans(tmp_path / "sessions")
    assert alive.folder.exists()
    alive.close()
    alive.close()
    assert not alive.folder.exists()


def test_compilers_share_and_a_timer_is_alone(tmp_path: Path) -> None:
    first, second, timer = (Turn(tmp_path, True) for _ in range(3))
    order: list[str] = []

    def measure() -> None:
        with timer.timing():
            order.append("timing")

    with first.compiling(), second.compiling():
        thread = threading.Thread(target=measure)
        thread.start()
        time.sleep(0.05)
        order.append("compiled")
    thread.join(60.0)
    assert order == ["compiled", "timing"]
    free = Turn(tmp_path, False)
    with timer.timing(), free.timing(), free.compiling():
        pass


def test_a_compiler_that_hangs_is_stopped_while_somebody_times(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from evaluator.turn import Turn\n"
        f"turn = Turn(Path({str(tmp_path)!r}), True)\n"
        "with turn.compiling():\n    print('compiling', flush=True)\n    time.sleep(60)\n"
    )

    def comes_to(stopped: bool, pid: int) -> bool:
        """Signals are delivered a moment later."""
        deadline = time.monotonic() + 30.0
        while time.monotonic() < deadline:
            if (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T") is stopped:
                return True
            time.sleep(0.01)
        return False

    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as compiler:
        assert compiler.stdout is not None and compiler.stdout.readline() == "compiling\n"
        timer = Turn(tmp_path, True, patience_s=0.1)
        seen = []
        for _ in range(2):
            with timer.timing():
                seen.append(comes_to(True, compiler.pid))
            seen.append(comes_to(False, compiler.pid))
        compiler.kill()
    assert seen == [True] * 4
    patient = Turn(tmp_path, True, patience_s=120.0)
    start = time.monotonic()
    with patient.timing():
        assert time.monotonic() - start < 60.0, "the dead are not waited for"


def test_device_names() -> None:
    devices = list_devices()
    with pytest.raises(DeviceError, match="use auto"):
        resolve_device("gpu")
    with pytest.raises(DeviceError, match="platforms cuda, opencl"):
        resolve_device("vulkan:0")
    if devices:
        assert resolve_device("auto") == devices[0]
        assert resolve_device(devices[0].id) == devices[0]
        with pytest.raises(DeviceError, match="usable here: opencl:0"):
            resolve_device("opencl:99")
