"""Parent process of the embedded Postgres. Runs as a script of its own (``python -I -S``), standard library only.

It lives in its own session, so that Ctrl-C in a terminal reaches neither it nor the server. It starts ``postgres``
and ends it as soon as no client holds the shared lock on ``clients.lock`` any more, however the clients went:
a client that was killed lets go of its lock as well. While it stops the server it holds the lock exclusively, so a
client that arrives then waits and starts a fresh one.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType

POLL_S = 1.0
STOP_S = 20.0


def cluster_pid(data: Path) -> int | None:
    """Process id in ``postmaster.pid``, or None if there is no readable one."""
    try:
        return abs(int((data / "postmaster.pid").read_text().split("\n", 1)[0]))
    except (OSError, ValueError):
        return None


def serves(pid: int, data: Path) -> bool:
    """True if the process is a Postgres of this data folder: process ids are used again."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        if Path("/proc/self").exists():
            return False
        shown = subprocess.run(["ps", "-p", str(pid), "-o", "command="], capture_output=True, text=True, check=False)
        command = shown.stdout
    return "postgres" in command and str(data) in command


def disown_stale_pid(data: Path) -> None:
    """Puts our own process id into a ``postmaster.pid`` whose process is not a Postgres of this folder.

    Postgres refuses to start while the process in that file is alive, even if it is something else that got the
    same number. It does ignore the number of its own parent, which we are, and then still checks that no orphaned
    backend uses the folder's shared memory: so the file is changed and not deleted.
    """
    path, pid = data / "postmaster.pid", cluster_pid(data)
    if pid is None or serves(pid, data):
        return
    lines = path.read_text().split("\n")
    with path.open("r+") as file:
        file.write("\n".join([str(os.getpid()), *lines[1:]]))
        file.truncate()


def stop(server: subprocess.Popen[bytes]) -> None:
    """Fast shutdown (open transactions roll back), then an immediate one if that takes too long."""
    for how in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        server.send_signal(how)
        try:
            server.wait(STOP_S)
            return
        except subprocess.TimeoutExpired:
            continue


def supervise(server: subprocess.Popen[bytes], clients: Path) -> int:
    """Waits until the server ends by itself, or stops it when nobody holds the clients' lock."""
    with clients.open("rb") as lock:
        while True:
            try:
                return server.wait(POLL_S)
            except subprocess.TimeoutExpired:
                pass
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            stop(server)
            return 0


def main(arguments: list[str]) -> int:
    """``pg_supervisor.py DATA CLIENTS_LOCK UID GID POSTGRES [ARGUMENT...]``; UID -1 stays the user that it is."""
    data, clients, uid, gid, *command = arguments
    disown_stale_pid(Path(data))
    other = int(uid) >= 0
    server = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, cwd="/", umask=0o077, user=int(uid) if other else None,
        group=int(gid) if other else None, extra_groups=[] if other else None,
    )  # fmt: skip

    def terminate(_signal: int, _frame: FrameType | None) -> None:
        stop(server)
        sys.exit(0)

    signal.signal(signal.SIGTERM, terminate)
    return supervise(server, Path(clients))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
