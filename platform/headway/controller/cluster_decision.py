"""PURE. What becomes of an attempt in a cluster, from what the ledger holds and what the cluster shows.

Truth within one attempt, in this order: what its head said of the end, Ray's job status, KubeRay's, Kueue's,
the pods. The cluster is looked at before the ledger is read, so that what is missing in the look and known in
the ledger is gone, and not yet to come.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headway.backends.kubernetes.observed import Observation, SeenJob, SeenPod
from headway.backends.outcome import Outcome
from headway.runs.states import FailureClass, RunState

SECOND = 1_000_000
STOP_NOW_MICROSECONDS = 15 * SECOND  # for the head to say how it ended
IMAGE_MICROSECONDS = 120 * SECOND  # a registry that fails once may answer at the next try
EX_NOT_MINE = "exit code 75"
_NO_MEMORY = "running low on memory"
_RAY_ENDED = frozenset({"SUCCEEDED", "FAILED", "STOPPED"})
LIVE = (RunState.QUEUED, RunState.ADMITTED, RunState.PROVISIONING, RunState.STARTING, RunState.RUNNING)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the ledger holds of an open attempt; moments in UTC microseconds, None where it has not happened.

    `head_uid` is the pod in which it was launched; `outcome` what its head said of the end; `stop` the mode
    that was asked for.
    """

    mark: str
    state: RunState
    created: bool = False
    admitted_at: int | None = None
    launched_at: int | None = None
    head_uid: str | None = None
    outcome: Outcome | None = None
    outcome_at: int | None = None
    stop: str | None = None
    stop_at: int | None = None
    over_budget: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """Where the attempt stands: a live state with what it waits for, or its outcome.

    `keep_job` where its RayJob, suspended, goes on as the next attempt.
    """

    state: RunState
    waits: str = ""
    outcome: Outcome | None = None
    keep_job: bool = False


def decide(known: Recorded, seen: Observation, start_deadline: int | None) -> Decision:
    """The attempt's next state.

    `start_deadline` is how many microseconds it may take from admission to its launch.
    """
    ended = _said(known, seen) or _stopped(known, seen) or _lost(known, seen)
    if ended is None and start_deadline is not None and known.admitted_at is not None:
        waited = seen.at - known.admitted_at
        if known.launched_at is None and waited > start_deadline:
            why = _why_not_started(seen)
            reason = f"not started {waited // SECOND} s after it was admitted{why}"
            ended = Decision(known.state, outcome=_failed(FailureClass.START_TIMEOUT, reason))
    if ended is not None:
        return replace(ended, outcome=_as_asked(known, ended.outcome))
    return _going_on(known, seen)


def _said(known: Recorded, seen: Observation) -> Decision | None:
    """The head's own word. That of a failure counts once the cluster has been looked at after it.

    A program whose machine is taken away fails too: then the machine is the reason, not the program.
    """
    outcome = known.outcome
    if outcome is None or known.outcome_at is None:
        return None
    if outcome.state is not RunState.FAILED:
        return Decision(known.state, outcome=outcome)
    if seen.at <= known.outcome_at:
        return None
    if _is_evicted(seen):
        return _evicted(known, seen)
    failure = seen.failure
    if failure is not None and failure[0] in {FailureClass.PREEMPTION, FailureClass.OOM}:
        return Decision(known.state, outcome=replace(outcome, failure=failure[0], reason=failure[1]))
    if known.head_uid is not None and _is_leaving(seen, known.head_uid):
        return Decision(known.state, outcome=_failed(FailureClass.INFRA, "its head was taken away"))
    return Decision(known.state, outcome=outcome)


def _stopped(known: Recorded, seen: Observation) -> Decision | None:
    if known.stop is None or known.stop_at is None:
        return None
    waited = seen.at - known.stop_at
    if known.launched_at is None:
        return Decision(known.state, outcome=Outcome(RunState.CANCELLED, reason="stopped before it began"))
    if known.stop == "now" and waited > STOP_NOW_MICROSECONDS:
        return Decision(known.state, outcome=Outcome(RunState.CANCELLED, reason="stopped at once"))
    return None


def _lost(known: Recorded, seen: Observation) -> Decision | None:
    """What ended the attempt without a word of its head."""
    job = seen.job
    if job is not None and not job.deleting and job.job_id == known.mark:
        if _is_evicted(seen) and known.admitted_at is not None:
            return _evicted(known, seen)
        outcome = None if job.suspended else _ended_in_cluster(known, seen, job)
    else:
        outcome = None if not known.created else _without_job(seen)
    return None if outcome is None else Decision(known.state, outcome=outcome)


def _without_job(seen: Observation) -> Outcome | None:
    if seen.job is None:
        return _of_pods(seen, "its RayJob is gone")
    return _of_pods(seen, "its RayJob was deleted") if seen.job.deleting else None


def _ended_in_cluster(known: Recorded, seen: Observation, job: SeenJob) -> Outcome | None:
    if job.ray_status in _RAY_ENDED or job.deployment in {"Failed", "ValidationFailed"}:
        return _of_ray(seen, job)
    if known.launched_at is None:
        image = _bad_image(seen)
        return None if image is None else _failed(FailureClass.IMAGE, image)
    if known.head_uid is not None and _is_gone(seen, known.head_uid):
        return _of_pods(seen, "its head was lost")
    return None


def _of_ray(seen: Observation, job: SeenJob) -> Outcome:
    if job.ray_status == "SUCCEEDED":
        return Outcome(RunState.SUCCEEDED)
    if EX_NOT_MINE in job.said:
        return _failed(FailureClass.INFRA, "its head was started twice")
    if _NO_MEMORY in job.said:  # Ray's own watch kills a process before the kernel would kill the pod
        return _failed(FailureClass.OOM, job.said)
    return _of_pods(seen, job.said or f"Ray says {job.ray_status or job.deployment}")


def _of_pods(seen: Observation, reason: str) -> Outcome:
    failure = seen.failure
    if failure is not None:
        return _failed(failure[0], f"{reason}: {failure[1]}" if failure[1] else reason)
    return _failed(FailureClass.INFRA, reason)


def _as_asked(known: Recorded, outcome: Outcome | None) -> Outcome | None:
    """A run that was to stop, and was lost meanwhile, has stopped; one over its budget failed by it."""
    if outcome is None or outcome.state is RunState.SUCCEEDED:
        return outcome
    if known.over_budget:
        return replace(
            outcome, state=RunState.FAILED, failure=FailureClass.BUDGET, reason="reached its budget"
        )
    if known.stop is not None and outcome.state is RunState.FAILED:
        return replace(outcome, state=RunState.CANCELLED, failure=None)
    return outcome


def _is_evicted(seen: Observation) -> bool:
    return seen.job is not None and (
        (seen.workload is not None and bool(seen.workload.evicted)) or seen.job.suspended
    )


def _evicted(known: Recorded, seen: Observation) -> Decision | None:
    """Kueue has taken its machines: once they are free, and the RayJob is at rest, the attempt has ended."""
    job = seen.job
    assert job is not None
    if job.deployment != "Suspended" or any(not pod.has_ended for pod in seen.pods):
        return Decision(known.state, waits="gives its machines back")
    said = "" if seen.workload is None else seen.workload.evicted
    return Decision(
        known.state,
        outcome=_failed(FailureClass.PREEMPTION, f"evicted: {said}" if said else "suspended"),
        keep_job=True,
    )


def _going_on(known: Recorded, seen: Observation) -> Decision:
    job = seen.job
    if job is None or job.suspended or (seen.workload is not None and not seen.workload.admitted):
        said = "" if seen.workload is None else seen.workload.said
        return Decision(known.state, waits=said)
    unplaced = [pod for pod in seen.pods if pod.placed is None and not pod.deleting]
    state = RunState.ADMITTED
    if seen.pods and not unplaced:
        state = RunState.STARTING
    elif seen.pods:
        state = RunState.PROVISIONING
    if known.launched_at is not None:
        state = RunState.RUNNING if job.ray_status == "RUNNING" else RunState.STARTING
    # A look that is older than what is recorded takes nothing back.
    state = max(state, known.state, key=LIVE.index)
    waits = next((pod.said for pod in unplaced if pod.said), "")
    return Decision(state, waits=waits)


def path_to(source: RunState, target: RunState) -> tuple[RunState, ...]:
    """The live states to go through, in order, without the one where it stands."""
    return LIVE[LIVE.index(source) + 1 : LIVE.index(target) + 1]


def _is_leaving(seen: Observation, uid: str) -> bool:
    pod = _pod(seen, uid)
    return pod is None or pod.deleting


def _is_gone(seen: Observation, uid: str) -> bool:
    pod = _pod(seen, uid)
    return pod is None or pod.has_ended


def _pod(seen: Observation, uid: str) -> SeenPod | None:
    return next((pod for pod in seen.pods if pod.uid == uid), None)


def _bad_image(seen: Observation) -> str | None:
    for pod in seen.pods:
        waited = seen.at - (pod.placed or seen.at)
        if pod.failure is FailureClass.IMAGE and waited > IMAGE_MICROSECONDS:
            return pod.said
    return None


def _why_not_started(seen: Observation) -> str:
    said = next((pod.said for pod in seen.pods if pod.said), "")
    return f": {said}" if said else ""


def _failed(failure: FailureClass, reason: str) -> Outcome:
    return Outcome(RunState.FAILED, failure, reason[:300])
