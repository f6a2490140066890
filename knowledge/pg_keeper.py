"""Keeps the embedded Postgres running between commands. A script of its own (``python -I -S``), standard library only.

It is a client like any other: while it holds the shared lock on ``clients.lock`` the server is not stopped. It holds
``keeper`` exclusively, so that there is one of it, and so that nobody mistakes another process for it.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys


def main(arguments: list[str]) -> int:
    """``pg_keeper.py CLIENTS_LOCK KEEPER``; prints a line once it holds both, and stays until SIGTERM."""
    clients, own = arguments
    with open(clients, "rb") as shared, open(own, "r+b") as keeper:
        try:
            fcntl.flock(keeper, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("kept already", flush=True)
            return 0
        fcntl.flock(shared, fcntl.LOCK_SH)
        keeper.truncate()
        keeper.write(str(os.getpid()).encode())
        keeper.flush()
        signal.signal(signal.SIGTERM, lambda _signal, _frame: sys.exit(0))
        print("ready", flush=True)
        while True:
            signal.pause()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
