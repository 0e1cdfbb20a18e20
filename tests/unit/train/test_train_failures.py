"""An error's class decides retries: a dead worker is infra whatever its peers say."""

import pytest

from headway.runs.states import FailureClass
from headway.train.failures import classify_error


def kind(name, base=Exception):
    return type(name, (base,), {})


class TrainingFailedError(Exception):
    def __init__(self, message, workers):
        super().__init__(message)
        self.worker_failures = workers


def found(error):
    return classify_error(error)["failure_class"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("OutOfMemoryError", "oom"),
        ("ActorDiedError", "infra"),
        ("WorkerHealthCheckFailedError", "infra"),
        ("NodeDiedError", "infra"),
        ("DistNetworkError", "infra"),
        ("WorkerGroupStartupTimeoutError", "start-timeout"),
        ("NCCLHangError", "hang"),
        ("SomethingElse", "user"),
    ],
)
def test_known_names_have_their_class(name, expected):
    assert found(kind(name)("x")) == expected
    assert found(kind("Sub", kind(name))("a subclass counts too")) == expected
    assert FailureClass(expected)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), "oom"),
        (ValueError("bad"), "user"),
        (KeyError("x"), "user"),
        (ConnectionResetError("peer"), "infra"),
        (RuntimeError("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"), "oom"),
        (
            RuntimeError("[gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:4242"),
            "infra",
        ),
    ],
)
def test_errors_as_they_come(error, expected):
    assert found(error) == expected


def test_a_users_error_is_found_below_rays():
    error = TrainingFailedError("Training failed", {0: ValueError("shape mismatch"), 1: None})
    assert classify_error(error) == {"failure_class": "user", "reason": "ValueError: shape mismatch"}


def test_a_dead_worker_outweighs_its_peers_errors():
    workers = {0: RuntimeError("Connection closed by peer"), 1: kind("ActorDiedError")("The actor died")}
    assert found(TrainingFailedError("x", workers)) == "infra"
    workers = {0: ValueError("odd state"), 1: kind("ActorDiedError")("The actor died")}
    assert found(TrainingFailedError("x", workers)) == "infra"


def test_memory_outweighs_the_deaths_that_follow_from_it():
    workers = {0: kind("OutOfMemoryError")("x"), 1: kind("ActorDiedError")("y")}
    assert found(TrainingFailedError("x", workers)) == "oom"


@pytest.mark.parametrize("how", ["cause", "context", "base"])
def test_a_wrapped_error_is_found(how):
    inner = kind("ActorDiedError")("gone")
    outer = RuntimeError("wrapped")
    if how == "cause":
        outer.__cause__ = inner
    elif how == "context":
        outer.__context__ = inner
    else:
        outer._base_exc = inner
    assert found(outer) == "infra"


def test_a_ring_of_causes_ends():
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    assert found(one) == "user"


def test_a_reason_is_one_short_line():
    reason = classify_error(ValueError("Traceback ...\n  line 3\nValueError: " + "x" * 1000))["reason"]
    assert "\n" not in reason
    assert len(reason) <= 300
    assert classify_error(ValueError())["reason"].startswith("ValueError")
