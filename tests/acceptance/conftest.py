"""What the acceptance tests share: the program as its own process, a base of its own, a quick campaign."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from cli.main import app
from knowledge import server
from knowledge.pg_layout import prepare

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
PROGRAM = (sys.executable, "-c", "from cli.main import main; main()")


@dataclass
class Program:
    """Runs ``evo-tune`` in processes of its own, with a knowledge base of its own."""

    home: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("EVO_TUNE_")}
        path = os.pathsep.join(filter(None, (str(ROOT), clean.get("PYTHONPATH", ""))))
        return {**clean, "EVO_TUNE_HOME": str(self.home), "PYTHONPATH": path, "COLUMNS": "120"}

    def here(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """The same in this process, which saves the start; an exception that it does not expect goes to the caller."""
        hidden = {name: None for name in os.environ if name.startswith("EVO_TUNE_")}
        given = [str(argument) for argument in arguments]
        with contextlib.chdir(self.home.parent):
            done = CliRunner().invoke(app, given, env=hidden | self.environment, catch_exceptions=False)
        return subprocess.CompletedProcess(given, done.exit_code, done.stdout, done.stderr)

    def __call__(self, *arguments: str | Path, timeout: float = 600.0) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*PROGRAM, *map(str, arguments)], capture_output=True, text=True, env=self.environment, timeout=timeout,
            stdin=subprocess.DEVNULL, check=False, cwd=self.home.parent,
        )  # fmt: skip

    def start(self, *arguments: str | Path, log: Path) -> subprocess.Popen[str]:
        """The same in the background, in a session of its own; output goes to the log."""
        with log.open("w") as output:
            process = subprocess.Popen(
                [*PROGRAM, *map(str, arguments)], stdout=output, stderr=subprocess.STDOUT, text=True,
                env=self.environment, stdin=subprocess.DEVNULL, cwd=self.home.parent, start_new_session=True,
            )  # fmt: skip
        self.started.append(process)
        return process

    def base(self) -> dict[str, Any]:
        """The counts that ``kb stats --json`` reports."""
        done = self("kb", "stats", "--json")
        assert done.returncode == 0, done.stderr
        counts: dict[str, Any] = json.loads(done.stdout)
        return counts


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    yield from runner_in(tmp_path)


@pytest.fixture(scope="module")
def shared_program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """The same with one base for all tests of a file: setting up a server takes each campaign a second."""
    yield from runner_in(tmp_path_factory.mktemp("program"))


def runner_in(folder: Path) -> Iterator[Program]:
    home = folder / "home"
    home.mkdir()
    runner = Program(home)
    yield runner
    for process in runner.started:
        if process.poll() is None:
            process.terminate()
            process.wait(120)
    server.stop(home)
    shutil.rmtree(prepare(home).home, ignore_errors=True)  # as root it lies outside of the test's folder


CampaignWriter = Callable[..., Path]


@pytest.fixture
def write_campaign(tmp_path: Path) -> CampaignWriter:
    """Copies an example into the test's folder with some fields replaced; returns the campaign file."""

    def write(example: str, folder: str = "campaign", **fields: object) -> Path:
        target = tmp_path / folder
        target.mkdir(exist_ok=True)
        for name in ("kernel.cu", "reference.py"):
            (target / name).write_text((EXAMPLES / example / name).read_text())
        data = yaml.safe_load((EXAMPLES / example / "campaign.yaml").read_text())
        data.update(fields)
        path = target / "campaign.yaml"
        path.write_text(yaml.safe_dump(data, sort_keys=False))
        return path

    return write
