"""Two tasks at once give what they would one after the other, errors and a killed process included."""

from __future__ import annotations

import os
import signal

import pytest

from headway.errors import UserError
from headway.profile.beside import both


def fails() -> int:
    raise UserError("profile.no_library", name="nosuch")


@pytest.mark.parametrize("fork", [True, False])
def test_both_results_come_back(fork: bool) -> None:
    here, there = both(os.getpid, os.getpid, fork=fork)
    assert here == os.getpid()
    assert (there != here) is (fork and len(os.sched_getaffinity(0)) > 1)


@pytest.mark.parametrize("fork", [True, False])
@pytest.mark.parametrize("tasks", [(fails, int), (int, fails), (fails, fails)])
def test_an_error_of_either_is_raised_as_it_was(fork: bool, tasks) -> None:
    with pytest.raises(UserError, match="nosuch"):
        both(*tasks, fork=fork)


def test_what_a_killed_process_should_have_done_is_done_here() -> None:
    mine = os.getpid()

    def dies_elsewhere() -> str:
        if os.getpid() != mine:
            os.kill(os.getpid(), signal.SIGKILL)
        return "done"

    assert both(int, dies_elsewhere, fork=True) == (0, "done")
