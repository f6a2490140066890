"""The command line: exit codes, one message, JSON alone on stdout, and what the screens say."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click import Context
from click.testing import CliRunner
from rich.console import Console

from cli import evolving
from cli.interrupt import stop_on_signals
from cli.main import COMMANDS, app
from cli.screen_view import board_view, counters, minutes_text, plain_line, sparkline
from evaluator.api import Comparison, EvaluatorError, SizeComparison
from evaluator.result import DeviceInfo, Toolchain
from evo.campaign import Campaign
from evo.progress import BestSoFar, CampaignPhase, CampaignStart, Observer, ProgressSnapshot, StopRequest
from evo.result import CampaignResult, Counts, StopReason
from genome.genes import Genome
from genome.limits import DeviceLimits
from genome.lower import lower
from genome.transforms.builtin import BUILTIN
from genome.variant import Target, Variant
from knowledge.errors import KnowledgeError

ROOT = Path(__file__).parents[2]
KERNEL = """\
__global__ void twice(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
"""
CAMPAIGN = """\
version: 1
kernel: {source: kernel.cu}
arguments:
  - {name: x, dtype: float32, shape: [n]}
  - {name: y, dtype: float32, shape: [n], role: out}
  - {name: n, dtype: int32}
launch: {domain: n, block: 64}
sizes: [{n: 1000}]
output: out
"""
DEVICE = DeviceInfo("opencl:0", "a device", "v", "x86", "cpu", 2, 1 << 30)
START = CampaignStart("twice", DEVICE, Toolchain("PoCL", "1", "LLVM"), 10, 1.0, (("n=1000", 0.012),), "known before")
SNAPSHOT = ProgressSnapshot(
    CampaignPhase.SEARCHING, "unroll: 2x", evaluations=3, limit=10, pruned=4, rejected=5, wrong=1, cached=2,
    best=BestSoFar(2.0, 1.9, 2.1, "computation", "abc", Genome(), 3), elapsed_s=61, seconds_left=125,
)  # fmt: skip


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    (tmp_path / "kernel.cu").write_text(KERNEL)
    path = tmp_path / "campaign.yaml"
    path.write_text(CAMPAIGN)
    return path


def fake_result(campaign: Campaign, stop: StopReason) -> CampaignResult:
    baseline = lower(campaign.spec, Genome(), BUILTIN, Target.OPENCL, DeviceLimits())
    assert isinstance(baseline, Variant)
    row = SizeComparison("n=1000", 0.012, 0.006, 2.0, 1.9, 2.1)
    return CampaignResult(
        "twice", DEVICE, START.toolchain, campaign.seed, baseline, baseline, "baseline", False,
        Comparison(baseline.digest(), (row,), 1.0, 1.0, 1.0, True, processes=5), stop, counts=Counts(evaluations=3),
    )  # fmt: skip


def play(monkeypatch: pytest.MonkeyPatch, stop_reason: StopReason = StopReason.EVALUATIONS) -> list[bool]:
    """Replaces the engine by one that reports two snapshots; returns what ``stop`` said in the end."""
    stops: list[bool] = []

    def engine(campaign: Campaign, *, observer: Observer, resume: bool, stop: StopRequest) -> CampaignResult:
        observer.on_start(START)
        observer.on_event(SNAPSHOT)
        if stop_reason is StopReason.INTERRUPTED:
            os.kill(os.getpid(), signal.SIGINT)
        result = fake_result(campaign, stop_reason)
        observer.on_finish(result)
        stops.append(stop())
        return result

    monkeypatch.setattr(evolving, "run_campaign", engine)
    return stops


def test_json_is_alone_on_stdout(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(monkeypatch)
    outcome = CliRunner().invoke(app, ["run", str(campaign), "--json", "--seed", "7"])
    assert outcome.exit_code == 0, outcome.output
    data = json.loads(outcome.stdout)
    assert data == json.loads((campaign.parent / "out" / "best.json").read_text())
    assert data["seed"] == 7
    assert "evaluated 3/10" in outcome.stderr and "known before" in outcome.stderr


def test_without_json_stdout_is_empty(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play(monkeypatch)
    outcome = CliRunner().invoke(app, ["run", str(campaign)])
    assert outcome.exit_code == 0 and outcome.stdout == ""
    assert str(campaign.parent / "out") in outcome.stderr


def test_one_ctrl_c_writes_the_best_and_exits_130(campaign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.getsignal(signal.SIGINT)  # a test run in the background has it ignored
    stops = play(monkeypatch, StopReason.INTERRUPTED)
    outcome = CliRunner().invoke(app, ["run", str(campaign)])
    assert outcome.exit_code == 130
    assert stops == [True]
    assert (campaign.parent / "out" / "best.json").exists()
    assert signal.getsignal(signal.SIGINT) is before


def test_two_ctrl_c_end_at_once() -> None:
    said: list[str] = []
    with pytest.raises(KeyboardInterrupt), stop_on_signals(said.append) as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop() and len(said) == 1
        os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("error", [EvaluatorError("no such thing: mend it"), KnowledgeError("gone", "start it"),
                                   PermissionError(13, "Permission denied", "/x")])  # fmt: skip
def test_expected_errors_are_one_message(campaign: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def engine(*arguments: object, **options: object) -> CampaignResult:
        raise error

    monkeypatch.setattr(evolving, "run_campaign", engine)
    outcome = CliRunner().invoke(app, ["run", str(campaign)])
    assert outcome.exit_code == 2
    assert outcome.output.startswith("evo-tune: ") and outcome.output.count("\n") == 1
    assert not (campaign.parent / "out").exists()


@pytest.mark.parametrize("options", [["--evaluations", "0"], ["--minutes", "-1"], ["--seed", "x"], ["--nothing"]])
def test_bad_options_exit_2(campaign: Path, options: list[str]) -> None:
    outcome = CliRunner().invoke(app, ["run", str(campaign), *options])
    assert outcome.exit_code == 2 and "Traceback" not in outcome.output


def test_init_then_run_asks_for_sizes(tmp_path: Path) -> None:
    (tmp_path / "kernel.cu").write_text(KERNEL)
    made = CliRunner().invoke(app, ["init", str(tmp_path / "kernel.cu")])
    assert made.exit_code == 0 and (tmp_path / "campaign.yaml").exists()
    again = CliRunner().invoke(app, ["init", str(tmp_path / "kernel.cu")])
    assert again.exit_code == 2 and "--force" in again.output
    outcome = CliRunner().invoke(app, ["run", str(tmp_path / "campaign.yaml")])
    assert outcome.exit_code == 2 and "sizes[0].n: expected a positive integer" in outcome.output


def test_kb_best_needs_a_question() -> None:
    outcome = CliRunner().invoke(app, ["kb", "best"])
    assert outcome.exit_code == 2 and "--like" in outcome.output


def test_as_a_process_of_its_own(campaign: Path) -> None:
    campaign.write_text(CAMPAIGN.replace("role: out", "role: owt"))
    command = [sys.executable, "-m", "cli", "run", str(campaign)]
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert outcome.returncode == 2 and outcome.stdout == ""
    assert outcome.stderr == (
        f"evo-tune: {campaign}:5: arguments[1].role: expected one of in, out, inout, got 'owt'; did you mean 'out'?\n"
    )


def test_plain_lines_hold_every_counter() -> None:
    line = plain_line(SNAPSHOT)
    for part in ("[1:01]", "evaluated 3/10", "cached 2", "pruned 4", "rejected 5", "wrong 1", "2:05 left",
                 "2.00x (1.90x to 2.10x) by computation", "unroll: 2x"):  # fmt: skip
        assert part in line
    assert dict(counters(SNAPSHOT))["failed"] == "0"
    comparing = replace(SNAPSHOT, phase=CampaignPhase.COMPARING, step=2, steps=5, message="finalists")
    assert plain_line(comparing) == "[1:01] comparing 2/5: finalists"


def test_the_live_screen_fits_a_narrow_terminal() -> None:
    console = Console(width=60, record=True, force_terminal=True, file=open(os.devnull, "w"))  # noqa: SIM115
    console.print(board_view("twice", START, SNAPSHOT, ("a long message " * 20,), (1.0, 1.5, 2.0)))
    text = console.export_text()
    assert all(len(line) <= 60 for line in text.splitlines())
    assert "2.00x" in text and "wrong 1" in text


def test_small_texts() -> None:
    assert minutes_text(None) == "-" and minutes_text(59.9) == "0:59" and minutes_text(3661) == "1:01:01"
    assert sparkline([1]) == "" and sparkline([1, 10, 100]) == "▁▅█" and len(sparkline(list(range(1, 100)))) == 32


def test_an_output_that_cannot_be_written_is_seen_at_once(campaign: Path) -> None:
    done = CliRunner().invoke(app, ["run", str(campaign), "--output", "/proc/out"])
    assert done.exit_code == 2
    assert "--output: cannot write into /proc/out" in done.output


def test_resume_needs_a_base(campaign: Path) -> None:
    done = CliRunner().invoke(app, ["run", str(campaign), "--resume", "--knowledge", "none"])
    assert done.exit_code == 2
    assert "--resume" in done.output


@pytest.mark.parametrize("ignored", [False, True])
def test_ctrl_c_while_modules_load_leaves_no_traceback(tmp_path: Path, ignored: bool) -> None:
    """Also where a shell's background job starts with SIGINT ignored."""
    prepare = (lambda: signal.signal(signal.SIGINT, signal.SIG_IGN) and None) if ignored else None
    text = (
        "import cli.main, importlib, os, signal\n"
        "def load(name): os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(5)\n"
        "cli.main.import_module = load\ncli.main.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", text, "devices"], capture_output=True, text=True, cwd=ROOT,
                          env={**os.environ, "PYTHONPATH": str(ROOT)}, preexec_fn=prepare, check=False)  # fmt: skip
    assert done.returncode == 130
    assert done.stderr.strip() == "evo-tune: interrupted"


def test_the_list_of_commands_is_theirs_and_loads_none() -> None:
    for name, text in COMMANDS.items():
        command = app.get_command(Context(app), name)
        assert command is not None and (command.help or "").partition("\n\n")[0].replace("\n", " ") == text
    code = "import sys; from cli.main import app; app(['--help'], standalone_mode=False); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.endswith("False\n") and all(f"  {name} " in done.stdout for name in COMMANDS)
