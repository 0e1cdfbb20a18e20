"""PURE. How an attempt on this machine ended, from its exit status, what its workers said, and its log."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass

from headway.runs.states import FailureClass, RunState

_OOM = re.compile(r"\b(?:OutOfMemoryError|MemoryError|CUDA out of memory|oom-kill)\b")
_INFRA = re.compile(
    r"\b(?:ActorDiedError|WorkerCrashedError|NodeDiedError|RaySystemError|WorkerHealthCheck\w+)\b"
)
LOG_TAIL_BYTES = 20_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """The attempt's last state; a failure has its class and one line of why."""

    state: RunState
    failure: FailureClass | None = None
    reason: str | None = None
    exit_code: int | None = None


def judge(
    returncode: int,
    *,
    stop_mode: str | None,
    stopped_at_checkpoint: bool,
    reported: Mapping[str, object] | None,
    log_tail: str,
) -> Outcome:
    """Decide the outcome.

    Args:
        returncode: the driver's; negative for a signal.
        stop_mode: the last stop that was asked for (`checkpoint`, `now`), or None.
        stopped_at_checkpoint: the workers left the loop because of it.
        reported: the driver's own word of its failure (`failure_class`, `reason`), or None.
        log_tail: the end of the driver's log, searched only where nothing better is known.
    """
    if returncode == 0 and not stopped_at_checkpoint:
        return Outcome(RunState.SUCCEEDED)
    if stopped_at_checkpoint:
        return Outcome(RunState.CANCELLED, reason="stopped after a checkpoint")
    if stop_mode is not None:
        return Outcome(
            RunState.CANCELLED, reason="stopped at once" if stop_mode == "now" else "stopped, no checkpoint"
        )
    if reported is not None:
        failure = FailureClass(str(reported["failure_class"]))
        return Outcome(RunState.FAILED, failure, str(reported["reason"]))
    if returncode < 0:
        name = signal.Signals(-returncode).name if -returncode in set(signal.Signals) else str(-returncode)
        killed = -returncode in {signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT}
        failure = FailureClass.INFRA if killed else FailureClass.USER
        return Outcome(RunState.FAILED, failure, f"driver ended by {name}")
    last = next((line.strip() for line in reversed(log_tail.splitlines()) if line.strip()), "")
    if _OOM.search(log_tail):
        failure = FailureClass.OOM
    elif _INFRA.search(log_tail):
        failure = FailureClass.INFRA
    else:
        failure = FailureClass.USER
    return Outcome(RunState.FAILED, failure, f"exit code {returncode}: {last}"[:300])
