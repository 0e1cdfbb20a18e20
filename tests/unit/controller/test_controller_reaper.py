"""Books of runs whose owner is gone are closed once, with the cost so far; others are left alone."""

import os
import socket
import subprocess
import sys

import pytest

from headway.controller import reaper
from headway.controller.reaper import START_MICROSECONDS, reap
from headway.controller.submit import reopen_run
from headway.runs import bills, queries
from headway.runs.environment import MARK
from headway.runs.events import EventKind
from headway.runs.ids import backend_name
from headway.runs.lease import Holder
from headway.runs.spool import SpoolWriter
from headway.runs.states import RunState
from headway.settings import Settings

DEAD = f"{socket.gethostname()}/{2**22 + 1}/1"


def run_of(history):
    with history.ledger.read() as connection:
        return queries.get_run(connection, history.run_id)


def attempts_of(history):
    with history.ledger.read() as connection:
        return queries.attempts(connection, history.run_id)


def lost(history, holder=DEAD):
    """A run that trained for 50 s, whose supervisor is gone."""
    history.submit()
    history.open(1, 0, holder=holder)
    history.walk(0, "ADMITTED", "PROVISIONING", "STARTING", "RUNNING")
    history.add(EventKind.PHASE, 0, kind="train")
    history.progress(40, 10)
    history.use(0, 50)
    return history


def test_a_lost_run_fails_as_infra_with_its_cost_so_far(history):
    lost(history)
    assert reap(Settings.load(), history.ledger) == [history.run_id]
    run = run_of(history)
    assert (run.state, run.failure_class, run.reason) == (RunState.FAILED, "infra", "supervisor lost")
    (attempt,) = attempts_of(history)
    assert (attempt.state, attempt.failure_class, attempt.lease_epoch) == (RunState.FAILED, "infra", 2)
    with history.ledger.read() as connection:
        lines = bills.lines_of(connection, history.run_id)
    assert {line.category for line in lines} == {"compute", "energy"}
    assert all(line.amount_nano > 0 for line in lines)


def test_reaping_twice_changes_nothing(history):
    lost(history)
    reap(Settings.load(), history.ledger)
    with history.ledger.read() as connection:
        before = bills.lines_of(connection, history.run_id)
    assert reap(Settings.load(), history.ledger) == []
    with history.ledger.read() as connection:
        assert bills.lines_of(connection, history.run_id) == before


def test_a_run_with_a_live_owner_goes_on(history):
    lost(history, holder=str(Holder.me()))
    assert reap(Settings.load(), history.ledger) == []
    assert run_of(history).state is RunState.RUNNING


def test_what_the_workers_had_written_is_taken_in(history, home):
    lost(history)
    spool = SpoolWriter(home / "runs" / history.run_id / "a1" / "spool", "rank-0")
    spool.write("progress", step=33, samples=528, loss="0.125")
    reap(Settings.load(), history.ledger)
    with history.ledger.read() as connection:
        steps = [row.step for row in queries.progress(connection, history.run_id)]
    assert steps == [10, 33]


def test_its_processes_end(history):
    lost(history)
    env = {**os.environ, MARK: backend_name(history.run_id, 1)}
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], env=env)
    try:
        reap(Settings.load(), history.ledger)
        assert child.wait(10) == -9
    finally:
        child.kill()
        child.wait()


def test_a_run_that_was_just_resumed_waits_for_its_supervisor(history):
    lost(history)
    history.close(50, "FAILED", "user")
    history.state(50, "FAILED", failure_class="user")
    reopen_run(history.ledger, history.run_id)
    assert reap(Settings.load(), history.ledger) == []
    assert run_of(history).state is RunState.QUEUED


@pytest.mark.parametrize("resumed", [False, True])
def test_a_run_that_no_supervisor_ever_takes_fails(history, monkeypatch, resumed):
    history.submit(at=0)
    if resumed:
        history.open(1, 0)
        history.close(1, "FAILED", "user")
        history.state(1, "FAILED")
        reopen_run(history.ledger, history.run_id)
    later = reaper.now_microseconds() + START_MICROSECONDS + 1
    monkeypatch.setattr(reaper, "now_microseconds", lambda: later)
    assert reap(Settings.load(), history.ledger) == [history.run_id]
    assert run_of(history).state is RunState.FAILED


@pytest.mark.parametrize(
    ("attempt", "failure", "run"),
    [("SUCCEEDED", None, "SUCCEEDED"), ("CANCELLED", None, "CANCELLED"), ("FAILED", "user", "FAILED")],
)
def test_a_supervisor_lost_after_its_attempt_ended_leaves_the_attempts_end(history, attempt, failure, run):
    lost(history)
    history.close(50, attempt, failure)
    assert reap(Settings.load(), history.ledger) == [history.run_id]
    assert run_of(history).state.value == run


def test_a_run_that_ends_while_it_is_looked_at_is_left_as_it_ended(history, monkeypatch):
    lost(history)
    history.close(50, "SUCCEEDED")

    def ends_meanwhile(*_arguments):
        if run_of(history).state is RunState.RUNNING:
            history.state(50, "SUCCEEDED")
        return True

    monkeypatch.setattr(reaper, "is_expired", ends_meanwhile)
    assert reap(Settings.load(), history.ledger) == []
    assert run_of(history).state is RunState.SUCCEEDED
