"""`headway logs`: one worker's words, one attempt's, here and through a gateway; what is not there."""

from __future__ import annotations

import threading
import time

import pytest

from headway.cli import logs


@pytest.fixture
def printed(finished_run, home):
    """A run of two attempts, whose driver and two workers have printed."""
    for attempt in (1, 2):
        folder = home / "runs" / finished_run.run_id / f"a{attempt}"
        folder.mkdir(parents=True)
        for stream in ("driver", "rank-0", "rank-1"):
            (folder / f"{stream}.log").write_text(f"{stream} of {attempt}\n")
    return finished_run.run_id


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "driver of 2\n"),
        (["--rank", "1"], "rank-1 of 2\n"),
        (["--rank", "0", "-a", "1"], "rank-0 of 1\n"),
        (["--rank", "0", "-f"], "rank-0 of 2\n"),
    ],
)
def test_a_worker_and_an_attempt_are_chosen(headway, printed, words, expected):
    assert headway("logs", printed, *words)[:2] == (0, expected)


def test_a_worker_that_there_is_not_is_exit_code_3_and_says_which_there_are(headway, printed, home):
    code, out, err = headway("logs", printed, "--rank", "2")
    assert (code, out) == (3, "")
    assert "0 to 1" in err
    for path in (home / "runs" / printed / "a2").glob("rank-*"):
        path.unlink()
    code, _out, err = headway("logs", printed, "--rank", "0")
    assert code == 3
    assert "no logs by rank" in err


@pytest.mark.parametrize(
    "words",
    [
        ["--rank", "-1"],
        ["--rank", "x"],
        ["--rank", "1000000"],
        ["--supervisor", "--rank", "1"],
        ["--supervisor", "-a", "1"],
        ["--supervisor", "--address", "http://127.0.0.1:1"],
    ],
)
def test_what_makes_no_sense_is_exit_code_2(headway, printed, words):
    code, out, _err = headway("logs", printed, *words)
    assert (code, out) == (2, "")


def test_a_gateway_that_is_not_there_is_exit_code_7(headway, printed):
    code, out, err = headway("logs", printed, "--address", "http://127.0.0.1:1")
    assert (code, out) == (7, "")
    assert "headway up" in err
    assert headway("logs", printed, "--address", "ftp://127.0.0.1")[0] == 2


def test_a_new_attempt_is_followed_from_its_first_byte(headway, half_run, home, monkeypatch):
    monkeypatch.setattr(logs, "POLL_SECONDS", 0.02)
    half_run.state(100, "RESTARTING", reason="a worker died")
    first, second = (home / "runs" / half_run.run_id / f"a{n}" / "driver.log" for n in (1, 2))
    for path in (first, second):
        path.parent.mkdir(parents=True)
    first.write_text("the first attempt says more than the second\n")

    def go_on():
        time.sleep(0.3)
        with first.open("a") as file:
            file.write("its end\n")
        half_run.open(2, 110)
        second.write_text("short\n")
        time.sleep(0.3)
        half_run.state(115, "RUNNING")
        half_run.state(200, "SUCCEEDED")

    thread = threading.Thread(target=go_on)
    thread.start()
    code, out, _err = headway("logs", half_run.run_id, "-f")
    thread.join()
    assert code == 0
    assert out == "the first attempt says more than the second\nits end\nshort\n"
