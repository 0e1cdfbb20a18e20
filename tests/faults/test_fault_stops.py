"""Stopping: Ctrl-C once saves and stops, twice stops at once; errors of users; shared cores."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from driving import BIN, JOBS, Headway, no_process_left

pytestmark = pytest.mark.real


def _watched(headway: Headway, *words: str) -> tuple[subprocess.Popen[str], str]:
    watching = subprocess.Popen(
        [str(BIN / "headway"), "run", *words],
        cwd=JOBS,
        env=headway.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        runs = headway.json("ls")["runs"]
        if runs:
            return watching, runs[0]["run_id"]
        time.sleep(0.3)
    raise AssertionError("the run never appeared")


def test_ctrl_c_once_stops_after_a_checkpoint_and_says_how_to_resume(headway: Headway) -> None:
    watching, run_id = _watched(headway, "tiny.yaml", "--", "--steps", "3000", "--checkpoint-steps", "10000")
    headway.until_step(run_id, 5)
    os.killpg(watching.pid, signal.SIGINT)  # as a terminal does: the whole foreground group
    out, err = watching.communicate(timeout=240)
    assert watching.returncode == 9
    assert f"headway resume {run_id}" in err
    assert "RECEIPT" in out
    shown = headway.json("show", run_id)
    assert shown["state"] == "CANCELLED"
    saved = shown["attempts"][0]["last_checkpoint_step"]
    assert saved == shown["step"], "nothing done is lost"
    no_process_left(run_id)


def test_ctrl_c_twice_stops_at_once(headway: Headway) -> None:
    watching, run_id = _watched(headway, "tiny.yaml", "--", "--steps", "3000", "--sleep", "1")
    headway.until_step(run_id, 1)
    watching.send_signal(signal.SIGINT)
    time.sleep(0.3)
    watching.send_signal(signal.SIGINT)
    watching.communicate(timeout=240)
    assert watching.returncode == 9
    assert headway.json("show", run_id)["state"] == "CANCELLED"
    no_process_left(run_id)


def test_following_the_log_only_detaches(headway: Headway, hold: Path) -> None:
    run_id = headway.start("plain.yaml", "--", "--while", str(hold))
    headway.until(run_id, lambda shown: shown["state"] == "RUNNING")
    following = subprocess.Popen(
        [str(BIN / "headway"), "logs", "-f", run_id],
        env=headway.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert following.stdout
    assert following.stdout.readline() == "plain begins\n"
    following.send_signal(signal.SIGINT)
    assert following.wait(timeout=120) == 130
    following.stdout.close()
    assert headway.json("show", run_id)["state"] == "RUNNING"
    headway.ok("stop", run_id, "--now")
    assert headway.json("show", run_id)["state"] == "CANCELLED"
    no_process_left(run_id)


def test_a_users_error_is_not_retried_and_its_text_is_shown(headway: Headway) -> None:
    done = headway.call("run", "tiny.yaml", "--", "--steps", "30", "--fail-at", "12")
    assert done.returncode == 8
    assert "planted failure" in done.stderr
    run = headway.json("ls")["runs"][0]
    assert (run["state"], run["failure_class"]) == ("FAILED", "user")
    assert len(headway.json("show", run["run_id"])["attempts"]) == 1


def test_two_runs_share_the_machine_one_after_the_other(headway: Headway, hold: Path) -> None:
    cores = len(os.sched_getaffinity(0))
    words = ("--seconds", "6", "--while", str(hold))
    first = headway.start("plain.yaml", "--set", f"needs.workers={cores}", "--", *words)
    headway.until(first, lambda shown: shown["state"] in {"STARTING", "RUNNING"})
    second = headway.start("plain.yaml", "--set", f"needs.workers={cores}", "--", "--seconds", "1")
    waiting = headway.until(second, lambda shown: shown["reason"] is not None)
    assert waiting["state"] == "QUEUED"
    hold.unlink()
    assert headway.until_ended(second)["state"] == "SUCCEEDED"
    ended = headway.json("show", first)
    assert ended["state"] == "SUCCEEDED"
    started = headway.json("show", second)["attempts"][0]["started"]
    assert started < ended["ended"], "it was there, waiting"
    seconds = {
        run: sum(
            float(line["quantity"]) for line in headway.receipt(run)["lines"] if line["category"] == "compute"
        )
        for run in (first, second)
    }
    assert seconds[second] < seconds[first], "waiting costs nothing"


def test_a_script_that_ignores_sigterm_is_given_ten_seconds_and_a_second_word_ends_it(
    headway: Headway,
) -> None:
    run_id = headway.start("deaf.yaml")
    headway.until(run_id, lambda shown: shown["state"] == "RUNNING")
    headway.ok("stop", run_id, "--no-wait")
    headway.ok("stop", run_id, "--now")
    shown = headway.json("show", run_id)
    assert (shown["state"], shown["reason"]) == ("CANCELLED", "stopped at once")
    no_process_left(run_id)


def test_a_run_ends_at_its_budget_and_says_so(headway: Headway) -> None:
    budget = "limits.budget=0.00002 USD"
    done = headway.call("run", "plain.yaml", "--set", budget, "--", "--seconds", "60")
    assert done.returncode == 8
    run = headway.json("ls")["runs"][0]
    assert (run["state"], run["failure_class"]) == ("FAILED", "budget")
    spent = float(headway.receipt(run["run_id"])["totals"][0]["amount"])
    assert 0.00002 <= spent < 0.00012, "one metering interval beyond at most, and the way down"


def test_a_plain_program_that_is_killed_is_not_paid_for_again_and_again(headway: Headway) -> None:
    done = headway.call("run", "plain.yaml", "--", "--seconds", "1", "--suicide")
    assert done.returncode == 8
    assert "starts over" in done.stderr
    shown = headway.json("show", headway.json("ls")["runs"][0]["run_id"])
    assert (shown["failure_class"], len(shown["attempts"])) == ("infra", 1)


def test_what_was_done_before_an_error_is_recorded_to_the_step(headway: Headway) -> None:
    words = ("--steps", "100", "--sleep", "0.02", "--fail-at", "43")
    done = headway.call("run", "tiny.yaml", "--", *words)
    assert done.returncode == 8
    shown = headway.json("show", headway.json("ls")["runs"][0]["run_id"])
    assert shown["step"] == 42
    assert shown["attempts"][0]["last_checkpoint_step"] == 40


def test_a_deleted_ledger_ends_the_run_and_is_noticed(headway: Headway) -> None:
    run_id = headway.start("plain.yaml", "--", "--seconds", "120")
    headway.until(run_id, lambda shown: shown["state"] == "RUNNING")
    for path in headway.home.glob("ledger.db*"):
        path.unlink()
    no_process_left(run_id, within=60)
    done = headway.call("ls")
    assert "moved or deleted" in done.stderr


def test_a_running_run_is_not_called_tampered_with(headway: Headway, hold: Path) -> None:
    run_id = headway.start("plain.yaml", "--", "--while", str(hold))
    headway.until(run_id, lambda shown: shown["state"] == "RUNNING")
    done = headway.call("receipt", run_id, "--verify")
    assert done.returncode == 2
    assert "not final" in done.stderr
    headway.ok("stop", run_id, "--now")
    headway.receipt(run_id)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("needs.gpus=1", "GPUs"),
        ("needs.memory_per_worker=80 TiB", "of memory"),
        ("needs.workers=512", "512 cores"),
    ],
)
def test_what_the_machine_can_never_hold_is_refused(headway: Headway, setting: str, said: str) -> None:
    done = headway.call("run", "plain.yaml", "--set", setting)
    assert done.returncode == 5
    assert said in done.stderr
    assert headway.json("ls")["runs"] == []


def test_a_shells_words_are_not_passed_on_silently(headway: Headway) -> None:
    done = headway.call("run", "plain.yaml", "--set", "entrypoint=echo hi | cat")
    assert done.returncode == 2
    assert "bash -c" in done.stderr


def test_nothing_of_ray_is_left_in_the_temporary_folder(headway: Headway) -> None:
    import tempfile

    from driving import kill

    place = Path(tempfile.gettempdir())

    def ours() -> set[Path]:
        return {path for path in place.glob("headway-*") if not path.name.startswith("headway-dashboard-")}

    before = ours()
    run_id = headway.start("tiny.yaml", "--", "--steps", "500")
    headway.until_step(run_id, 1)
    kill(run_id, containing="headway.controller.supervisor")
    assert headway.json("show", run_id)["state"] == "FAILED"
    assert ours() - before == set()
