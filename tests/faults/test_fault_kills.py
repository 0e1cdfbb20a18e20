"""kill -9 of everything that a run consists of: the ledger tells the truth, and the run can go on."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from driving import Headway, kill, no_process_left, processes_of, total_of

pytestmark = pytest.mark.real

STEPS = ("--steps", "60", "--sleep", "0.05")


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> float:
    """The final loss of the job when nothing happens to it."""
    headway = Headway(tmp_path_factory.mktemp("calm") / "home")
    run_id = headway.start("tiny.yaml", "--", "--steps", "60", "--sleep", "0")
    assert headway.until_ended(run_id)["state"] == "SUCCEEDED"
    receipt = headway.receipt(run_id)
    assert receipt["retained_step"] == 60
    return receipt["metrics"]["final_loss"]["last"]


@pytest.mark.parametrize(
    ("victim", "words"),
    [
        ("supervisor", "headway.controller.supervisor"),
        ("driver", "python tiny.py"),
        ("worker", "RayTrainWorker"),
    ],
)
def test_kill_then_resume_continues_exactly(
    headway: Headway, uninterrupted: float, victim: str, words: str, hold: Path
) -> None:
    run_id = headway.start("tiny.yaml", "--", *STEPS, "--hold", str(hold))
    headway.until_step(run_id, 24)
    kill(run_id, containing=words)
    shown = headway.json("show", run_id)
    if victim == "supervisor":
        assert shown["state"] == "FAILED", "one command is enough to see that the owner is gone"
    shown = headway.until_ended(run_id)
    assert (shown["state"], shown["failure_class"]) == ("FAILED", "infra")
    saved = shown["attempts"][0]["last_checkpoint_step"]
    assert (saved, shown["step"]) == (20, 24), "killed between two checkpoints"
    no_process_left(run_id)
    before = headway.receipt(run_id)
    assert total_of(before) > 0
    assert before["settled"]
    kept = {part["class"]: part["share"] for part in before["waste"]}
    assert kept["useful"] > 0
    assert kept["replay"] > 0, "steps after the checkpoint are lost"

    hold.unlink()
    headway.ok("resume", run_id, "-d")
    shown = headway.until_ended(run_id)
    assert shown["state"] == "SUCCEEDED"
    assert [attempt["state"] for attempt in shown["attempts"]] == ["FAILED", "SUCCEEDED"]
    after = headway.receipt(run_id)
    assert after["metrics"]["final_loss"]["last"] == pytest.approx(uninterrupted, rel=1e-4)
    assert total_of(after) > total_of(before)
    first = sum(Decimal(line["amount"]) for line in after["lines"] if line["attempt"] == 1)
    assert first == total_of(before), "what attempt 1 cost does not change"
    assert after["replayed"][0]["back_to_step"] == saved


def test_killing_the_command_line_leaves_the_run_alone(headway: Headway, hold: Path) -> None:
    import subprocess
    import time

    from driving import BIN, JOBS

    watching = subprocess.Popen(
        [str(BIN / "headway"), "run", "tiny.yaml", "--", "--steps", "40", "--hold", str(hold)],
        cwd=JOBS,
        env=headway.env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 240
    runs: list[dict[str, str]] = []
    while not runs and time.monotonic() < deadline:
        time.sleep(0.3)
        runs = headway.json("ls")["runs"]
    run_id = runs[0]["run_id"]
    headway.until_step(run_id, 5)
    watching.kill()
    watching.wait()
    hold.unlink()
    assert headway.json("show", run_id)["state"] == "RUNNING"
    assert processes_of(run_id)
    assert headway.until_ended(run_id)["state"] == "SUCCEEDED"
    headway.receipt(run_id)
    no_process_left(run_id)


def test_a_lost_worker_is_retried_within_the_budget(headway: Headway, hold: Path) -> None:
    run_id = headway.start("tiny.yaml", "--set", "retries.infra=1", "--", *STEPS, "--hold", str(hold))
    headway.until_step(run_id, 24)
    kill(run_id, containing="RayTrainWorker")
    hold.unlink()
    shown = headway.until_ended(run_id)
    assert shown["state"] == "SUCCEEDED"
    assert [attempt["failure_class"] for attempt in shown["attempts"]] == ["infra", None]
    assert headway.receipt(run_id)["retained_step"] == 60
