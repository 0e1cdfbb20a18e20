"""How an attempt ended, from what is known of it."""

import signal

import pytest

from headway.backends.outcome import judge
from headway.runs.states import FailureClass, RunState

USER_WORD = {"failure_class": "user", "reason": "ValueError: shape"}
INFRA_WORD = {"failure_class": "infra", "reason": "ActorDiedError"}


def verdict(code, stop=None, stopped=False, reported=None, log=""):
    found = judge(code, stop_mode=stop, stopped_at_checkpoint=stopped, reported=reported, log_tail=log)
    return found.state.value, found.failure.value if found.failure else None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"code": 0}, ("SUCCEEDED", None)),
        ({"code": 0, "stop": "checkpoint"}, ("SUCCEEDED", None)),
        ({"code": 0, "stop": "checkpoint", "stopped": True}, ("CANCELLED", None)),
        ({"code": 0, "stopped": True}, ("CANCELLED", None)),
        ({"code": -15, "stop": "now"}, ("CANCELLED", None)),
        ({"code": 1, "stop": "now", "reported": USER_WORD}, ("CANCELLED", None)),
        ({"code": 1, "reported": USER_WORD}, ("FAILED", "user")),
        ({"code": 1, "reported": INFRA_WORD, "log": "MemoryError"}, ("FAILED", "infra")),
        ({"code": -9}, ("FAILED", "infra")),
        ({"code": -15}, ("FAILED", "infra")),
        ({"code": -11}, ("FAILED", "user")),
        ({"code": -6}, ("FAILED", "user")),
        ({"code": -63}, ("FAILED", "user")),
        ({"code": 1}, ("FAILED", "user")),
        ({"code": 1, "log": "torch.OutOfMemoryError: CUDA out of memory."}, ("FAILED", "oom")),
        ({"code": 1, "log": "ray.exceptions.ActorDiedError: gone"}, ("FAILED", "infra")),
        ({"code": 1, "log": "WorkerHealthCheckTimeoutError: x\nMemoryError"}, ("FAILED", "oom")),
        ({"code": 1, "log": "NotAMemoryErrorAtAll"}, ("FAILED", "user")),
    ],
)
def test_the_table_of_outcomes(given, expected):
    assert verdict(**given) == expected


def test_only_a_failure_has_a_class():
    for code in (0, 1, -9):
        for stop in (None, "now", "checkpoint"):
            found = judge(code, stop_mode=stop, stopped_at_checkpoint=False, reported=None, log_tail="")
            assert (found.failure is not None) == (found.state is RunState.FAILED)


@pytest.mark.parametrize("failure", FailureClass)
def test_the_drivers_word_is_believed(failure):
    word = {"failure_class": failure.value, "reason": "why"}
    found = judge(1, stop_mode=None, stopped_at_checkpoint=False, reported=word, log_tail="")
    assert (found.failure, found.reason) == (failure, "why")


def test_the_last_line_of_the_log_says_why():
    found = judge(
        3, stop_mode=None, stopped_at_checkpoint=False, reported=None, log_tail="a\n  last one \n\n"
    )
    assert found.reason == "exit code 3: last one"
    log = "x" * 5000
    assert (
        len(judge(1, stop_mode=None, stopped_at_checkpoint=False, reported=None, log_tail=log).reason) <= 300
    )


def test_a_signal_is_named():
    found = judge(-signal.SIGSEGV, stop_mode=None, stopped_at_checkpoint=False, reported=None, log_tail="")
    assert "SIGSEGV" in found.reason
