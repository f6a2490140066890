"""Child processes that can be killed at any moment: fresh interpreters, two pipes, no shared state.

A child is started as ``python -m MODULE``, never forked and never by re-importing the caller's main module. It lives in
a session of its own (Ctrl-C does not reach it), and it ends when its parent does: by the kernel on Linux (where the
thread that started it must live as long), and everywhere by a thread that waits for the lifeline pipe to close.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1
_ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "BLIS")}
_TAIL_BYTES = 4096


class ChildDied(Exception):
    """The child is gone; the text says how it ended."""


class Child:
    """The parent's end of one child process.

    Args:
        module: Module that calls ``attach`` when it runs as a program.
        log: File that takes the child's stdout and stderr.
        environment: Variables on top of this process's own.
        wrapper: Command that runs the child's, such as a sanitizer's. It stands between the two, so that the child
            knows of its parent's end by the pipe alone.
    """

    def __init__(self, module: str, log: Path, environment: Mapping[str, str], wrapper: Sequence[str] = ()) -> None:
        self.log = log
        self.connection, theirs = Pipe(duplex=True)
        read_end, self._lifeline = os.pipe()
        package_root = str(Path(__file__).resolve().parent.parent)
        path = os.pathsep.join(part for part in (package_root, os.environ.get("PYTHONPATH", "")) if part)
        parent = 0 if wrapper else os.getpid()
        command = [*wrapper, sys.executable, "-m", module, str(theirs.fileno()), str(read_end), str(parent)]
        variables = {**os.environ, **_ONE_THREAD, **environment, "PYTHONPATH": path}
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
                pass_fds=(theirs.fileno(), read_end), env=variables,
            )  # fmt: skip
        theirs.close()
        os.close(read_end)

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """False once it has ended."""
        return self._process.poll() is None

    def send(self, message: Any) -> None:
        """Sends one message.

        Raises:
            ChildDied: If nobody is there to read it.
        """
        try:
            self.connection.send(message)
        except OSError as error:
            raise ChildDied(self.epitaph()) from error

    def receive(self, timeout_s: float | None) -> Any:
        """The next message, or None after ``timeout_s`` without one.

        Raises:
            ChildDied: If the child ended without sending one.
        """
        try:
            return self.connection.recv() if self.connection.poll(timeout_s) else None
        except (EOFError, OSError) as error:
            raise ChildDied(self.epitaph()) from error

    def ended_by(self) -> signal.Signals | None:
        """The signal that ended it, or None if it ended otherwise or still runs."""
        code = self._process.poll()
        return signal.Signals(-code) if code is not None and code < 0 else None

    def epitaph(self) -> str:
        """How it ended, for a person, with the last line it wrote."""
        try:
            code = self._process.wait(timeout=5.0)
        except subprocess.TimeoutExpired:
            self.kill()
            return "closed its pipe and had to be killed"
        if code < 0:
            name = signal.Signals(-code).name
            cause = f"died of {name}{_MEANING.get(name, '')}"
        else:
            cause = f"ended with exit code {code}"
        last = self.last_words()
        return f"{cause}; its last words: {last}" if last else cause

    def last_words(self) -> str:
        """The last line that it wrote to stdout or stderr; empty if none."""
        try:
            with self.log.open("rb") as stream:
                stream.seek(max(0, self.log.stat().st_size - _TAIL_BYTES))
                lines = stream.read().decode(errors="replace").strip().splitlines()
        except OSError:
            return ""
        return lines[-1].strip()[:300] if lines else ""

    def wait(self, timeout_s: float) -> bool:
        """True if it ends by itself within that time."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """Ends it now and frees the pipes. Idempotent."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self.connection.close()
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1


_MEANING = {
    "SIGSEGV": " (it touched memory outside of its buffers)",
    "SIGBUS": " (it touched memory outside of its buffers, or a misaligned address)",
    "SIGABRT": " (it, or the compiler, gave up)",
    "SIGFPE": " (an integer division by zero)",
    "SIGILL": " (an instruction that this processor does not have)",
    "SIGKILL": " (somebody killed it, or the machine ran out of memory)",
}


def attach() -> Connection:
    """Called first in a child: ties its life to the parent's, and gives the pipe to it."""
    pipe, lifeline, parent = (int(text) for text in sys.argv[1:4])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent and os.getppid() != parent:  # it died before the line above
        os._exit(1)
    threading.Thread(target=_watch, args=(lifeline,), daemon=True).start()
    return Connection(pipe)


def _watch(lifeline: int) -> None:
    while os.read(lifeline, 1):
        pass
    os._exit(1)
