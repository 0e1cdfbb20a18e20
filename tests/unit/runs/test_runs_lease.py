"""Who owns an attempt, and when that owner is given up on."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.errors import LeaseLostError
from headway.runs import queries
from headway.runs.lease import LEASE_MICROSECONDS, Holder, is_expired, renew, take_over

NOW = 1_000_000_000


@pytest.fixture
def child():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield process
    process.kill()
    process.wait()


def holder_of(pid):
    return Holder(socket.gethostname(), pid, _ticks(pid))


def _ticks(pid):
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]


HOSTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1)


@given(HOSTS, st.integers(1, 2**31), st.from_regex(r"[0-9.]+", fullmatch=True))
def test_a_holder_is_read_as_it_was_written(host, pid, started):
    holder = Holder(host, pid, started)
    assert Holder.parse(str(holder)) == holder


def test_i_hold_and_live():
    me = Holder.me()
    assert me.pid == os.getpid()
    assert me.is_local()
    assert me.process() == psutil.Process()
    assert not is_expired(str(me), expires_at=0, now=NOW)


def test_a_live_owner_stays_one_when_the_clock_is_set(child, monkeypatch):
    text = str(holder_of(child.pid))
    assert not is_expired(text, NOW + 1, NOW)
    me = str(Holder.me())
    monkeypatch.setattr(psutil.Process, "create_time", lambda self: 12345.0)
    assert not is_expired(text, NOW + 1, NOW)
    assert str(Holder.me()) == me


def test_a_dead_owner_has_expired_at_once(child):
    text = str(holder_of(child.pid))
    child.kill()
    child.wait()
    assert is_expired(text, expires_at=NOW + 10**9, now=NOW)


def test_a_zombie_owner_has_expired(child):
    text = str(holder_of(child.pid))
    child.kill()
    while psutil.Process(child.pid).status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    assert is_expired(text, expires_at=NOW + 10**9, now=NOW)


def test_another_process_with_the_same_id_is_not_the_owner(child):
    reused = Holder(socket.gethostname(), child.pid, "1")
    assert reused.process() is None
    assert is_expired(str(reused), expires_at=NOW + 10**9, now=NOW)


@pytest.mark.parametrize(("late", "expired"), [(-1, False), (0, False), (1, True)])
def test_an_owner_elsewhere_is_known_by_its_lease_only(late, expired):
    holder = Holder("another-host-than-this", os.getpid(), "1")
    assert not holder.is_local()
    assert is_expired(str(holder), expires_at=NOW, now=NOW + late) is expired


def test_a_stopped_owner_is_given_up_on_only_after_its_time(child):
    text = str(holder_of(child.pid))
    child.send_signal(signal.SIGSTOP)
    while psutil.Process(child.pid).status() != psutil.STATUS_STOPPED:
        time.sleep(0.01)
    assert not is_expired(text, expires_at=NOW, now=NOW)
    assert is_expired(text, expires_at=NOW, now=NOW + 1)
    child.send_signal(signal.SIGCONT)


def opened(history):
    history.submit()
    history.open(1, 0, expires=5)
    return history


def lease(history):
    with history.ledger.read() as connection:
        row = queries.attempts(connection, history.run_id)[0]
    return row.lease_epoch, row.lease_expires_at


def test_renewing_holds_for_another_term(history):
    opened(history)
    renew(history.ledger, history.run_id, 1, 1, NOW)
    assert lease(history) == (1, NOW + LEASE_MICROSECONDS)


def test_who_was_fenced_off_cannot_renew(history):
    opened(history)
    with history.ledger.write() as connection:
        assert take_over(connection, history.run_id, 1, 1)
    with pytest.raises(LeaseLostError):
        renew(history.ledger, history.run_id, 1, 1, NOW)
    assert lease(history) == (2, 5)


def test_only_one_of_two_takes_over(history):
    opened(history)
    with history.ledger.write() as connection:
        assert take_over(connection, history.run_id, 1, 1)
        assert not take_over(connection, history.run_id, 1, 1)


def test_an_ended_attempt_is_neither_renewed_nor_taken_over(half_run):
    with pytest.raises(LeaseLostError):
        renew(half_run.ledger, half_run.run_id, 1, 1, NOW)
    with half_run.ledger.write() as connection:
        assert not take_over(connection, half_run.run_id, 1, 1)
