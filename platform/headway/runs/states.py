"""PURE. The run state machine: states, transitions, failure classes and their retry budgets.

A run is QUEUED until machines are free, then goes ADMITTED → PROVISIONING → STARTING → RUNNING and to a
terminal state. Every non-terminal state has a terminal exit. FAILED and CANCELLED leave only by `resume`,
which makes a new attempt; an attempt that has ended never changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headway.errors import StateError


class RunState(StrEnum):
    """Where a run (or an attempt) is."""

    QUEUED = "QUEUED"
    ADMITTED = "ADMITTED"
    PROVISIONING = "PROVISIONING"
    STARTING = "STARTING"
    RUNNING = "RUNNING"
    PREEMPTING = "PREEMPTING"
    RESTARTING = "RESTARTING"
    RESIZING = "RESIZING"
    SUSPENDED = "SUSPENDED"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    EXPIRED = "EXPIRED"

    @property
    def is_terminal(self) -> bool:
        """Whether the run has ended (FAILED and CANCELLED may still be resumed)."""
        return self in TERMINAL

    @property
    def is_resumable(self) -> bool:
        """Whether `resume` may make a new attempt."""
        return self in RESUMABLE


class FailureClass(StrEnum):
    """Why an attempt failed; each class has its own retry budget and backoff."""

    USER = "user"
    OOM = "oom"
    IMAGE = "image"
    INFRA = "infra"
    PREEMPTION = "preemption"
    HANG = "hang"
    BUDGET = "budget"
    START_TIMEOUT = "start-timeout"


S = RunState
TERMINAL = frozenset({S.SUCCEEDED, S.FAILED, S.CANCELLED, S.EXPIRED})
RESUMABLE = frozenset({S.FAILED, S.CANCELLED})
HOLDS_MACHINES = frozenset(
    {S.ADMITTED, S.PROVISIONING, S.STARTING, S.RUNNING, S.PREEMPTING, S.RESTARTING, S.RESIZING}
)
_LOST = frozenset({S.FAILED, S.CANCELLED, S.EXPIRED})
_ENDED = _LOST | {S.SUCCEEDED}

TRANSITIONS: dict[RunState, frozenset[RunState]] = {
    S.QUEUED: _LOST | {S.ADMITTED},
    S.ADMITTED: _LOST | {S.PROVISIONING, S.RESTARTING},
    S.PROVISIONING: _LOST | {S.STARTING, S.RESTARTING},
    S.STARTING: _ENDED | {S.RUNNING, S.RESTARTING},
    S.RUNNING: _ENDED | {S.PREEMPTING, S.RESTARTING, S.RESIZING, S.SUSPENDED},
    S.PREEMPTING: _ENDED | {S.RUNNING, S.RESTARTING, S.SUSPENDED},
    S.RESTARTING: _ENDED | {S.RUNNING},
    S.RESIZING: _ENDED | {S.RUNNING, S.RESTARTING},
    S.SUSPENDED: _LOST | {S.RUNNING, S.QUEUED},
    S.SUCCEEDED: frozenset(),
    S.FAILED: frozenset(),
    S.CANCELLED: frozenset(),
    S.EXPIRED: frozenset(),
}


def check_transition(source: RunState, target: RunState, *, resume: bool = False) -> None:
    """Refuse a change of state that the table does not have.

    Raises:
        StateError: the transition does not exist; `resume` alone opens FAILED and CANCELLED.
    """
    if resume and source in RESUMABLE and target is RunState.QUEUED:
        return
    if target not in TRANSITIONS[source]:
        raise StateError("runs.no_transition", source=source.value, target=target.value)


@dataclass(frozen=True, slots=True)
class RetryRule:
    """How often a failure class is retried and how long to wait before the next try."""

    budget: int
    first_wait_seconds: float
    longest_wait_seconds: float = 300.0

    def wait_seconds(self, earlier: int) -> float:
        """Backoff before the retry that follows `earlier` retries: doubles up to the longest wait."""
        return min(self.first_wait_seconds * 2.0 ** min(earlier, 60), self.longest_wait_seconds)


DEFAULT_RETRIES: dict[FailureClass, RetryRule] = {
    FailureClass.USER: RetryRule(0, 0.0),
    FailureClass.OOM: RetryRule(0, 0.0),
    FailureClass.IMAGE: RetryRule(0, 0.0),
    FailureClass.INFRA: RetryRule(3, 1.0),
    FailureClass.PREEMPTION: RetryRule(20, 0.0),
    FailureClass.HANG: RetryRule(1, 1.0),
    FailureClass.BUDGET: RetryRule(0, 0.0),
    FailureClass.START_TIMEOUT: RetryRule(2, 5.0),
}


def retry_rule(failure: FailureClass, budgets: dict[str, int]) -> RetryRule:
    """The rule of one class, its budget replaced by the job's own where it states one."""
    default = DEFAULT_RETRIES[failure]
    budget = budgets.get(failure.value, default.budget)
    return RetryRule(budget, default.first_wait_seconds, default.longest_wait_seconds)
