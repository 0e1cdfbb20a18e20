"""RayJobs made by hand: seen, priced, on record with the owner `unmanaged`, and never touched."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, cast

from headway.backends.kubernetes.api import Kubernetes
from headway.backends.kubernetes.manifests import RUN_LABEL
from headway.backends.kubernetes.observed import Observation, SeenJob, seen_job, seen_node, seen_pod
from headway.backends.outcome import Outcome
from headway.controller.cluster import BACKEND, POOLS_SECONDS
from headway.controller.cluster_decision import path_to
from headway.controller.cluster_pods import PodMeter
from headway.controller.cluster_pools import Pools
from headway.controller.cluster_records import OPEN_STATES, outcome_body
from headway.controller.figures import figures_of
from headway.controller.settle import keep_snapshot, settle_run
from headway.runs import queries
from headway.runs.events import Event, EventKind
from headway.runs.lease import Holder
from headway.runs.rows import AttemptRow
from headway.runs.states import FailureClass, RunState
from headway.runs.store import Ledger, Recorder, append_events, now_microseconds
from headway.settings import Settings
from headway.spec.cluster import ClusterSpec

OWNER = "unmanaged"
LOOK_SECONDS = 5.0
CLUSTER_LABEL = "ray.io/cluster"
_ID_DIGITS = 10
_HEX = frozenset("0123456789abcdef")
_ENDED = {
    "SUCCEEDED": Outcome(RunState.SUCCEEDED),
    "STOPPED": Outcome(RunState.CANCELLED, reason="stopped"),
}


class Unmanaged:
    """Keeps the record of RayJobs that are not ours."""

    def __init__(
        self, settings: Settings, ledger: Ledger, recorder: Recorder, cluster: ClusterSpec, api: Kubernetes
    ) -> None:
        self._settings, self._ledger, self._recorder = settings, ledger, recorder
        self._cluster, self._api = cluster, api
        self._meter = PodMeter(settings, recorder, 1.0)
        self._figures = figures_of(settings)
        self._pools: tuple[float, Pools] | None = None
        self._next_look = 0.0

    def step(self) -> None:
        """Look once at every RayJob that is not ours."""
        if time.monotonic() < self._next_look:
            return
        at = now_microseconds()
        theirs = [thing for thing in self._api.all_ray_jobs() if RUN_LABEL not in _labels(thing)]
        pods = self._api.listed(("/api/v1", "pods"), CLUSTER_LABEL) if theirs else []
        with self._ledger.read() as connection:
            going = [
                run for run in queries.list_runs(connection, states=OPEN_STATES) if run.owner_id == OWNER
            ]
        for thing in theirs:
            self._bring_on(thing, pods, at)
        there = {run_id_of(thing) for thing in theirs}
        for run in going:
            if run.id not in there:
                self._bring_to_end(
                    run.id, Observation(at, None), Outcome(RunState.CANCELLED, reason="deleted")
                )
        self._next_look = time.monotonic() + LOOK_SECONDS

    def _bring_on(self, thing: Mapping[str, Any], pods: list[dict[str, Any]], at: int) -> None:
        run_id, job = run_id_of(thing), seen_job(thing)
        ray_cluster = (thing.get("status") or {}).get("rayClusterName")
        mine = [_as_of(run_id, pod) for pod in pods if _labels(pod).get(CLUSTER_LABEL) == ray_cluster]
        seen = Observation(at, job, tuple(seen_pod(pod) for pod in mine))
        with self._ledger.read() as connection:
            known = queries.run_by_key(connection, run_id)
        if known is None:
            if any(pod.placed for pod in seen.pods):  # until then it costs nothing
                self._record(run_id, thing)
            return
        if known.state.is_terminal:
            return
        outcome = _outcome(job)
        if outcome is not None and all(pod.has_ended or pod.deleting for pod in seen.pods):
            self._bring_to_end(run_id, seen, outcome)
        else:
            self._meter_and_move(run_id, seen, RunState.RUNNING if job.ray_status else RunState.STARTING)

    def _record(self, run_id: str, thing: Mapping[str, Any]) -> None:
        """Its run and the one attempt that it is."""
        meta, spec = thing["metadata"], thing.get("spec") or {}
        entrypoint = str(spec.get("entrypoint") or "")
        team = next((t for t, where in self._cluster.namespaces.items() if where == meta["namespace"]), None)
        job = {"version": 1, "name": str(meta["name"]), "entrypoint": entrypoint}
        resolved = {"dispatch": OWNER, "entrypoint": entrypoint, "workdir": "", "workers": 1, "retries": {}}
        now = now_microseconds()
        submitted: dict[str, object] = {
            "name": str(meta["name"]),
            "team": team,
            "owner": OWNER,
            "labels": {"namespace": str(meta["namespace"])},
            "spec": {"job": job, "resolved": resolved},
        }
        opened: dict[str, object] = {
            "lease_epoch": self._recorder.clock(),
            "lease_holder": str(Holder.me()),
            "lease_expires_at": now,
            "backend": BACKEND,
        }
        uid: dict[str, object] = {"to": RunState.QUEUED.value, "backend_uid": str(meta["uid"])}
        self._ledger.append(
            [
                self._recorder.event(EventKind.SUBMITTED, submitted, run_id),
                self._recorder.event(EventKind.ATTEMPT_OPENED, opened, run_id, 1),
                self._recorder.event(EventKind.ATTEMPT_STATE, uid, run_id, 1),
            ]
        )

    def _meter_and_move(self, run_id: str, seen: Observation, state: RunState) -> None:
        nodes = {
            node.name: node
            for node in (
                seen_node(one, self._cluster.pool_label) for one in self._api.nodes(self._cluster.pool_label)
            )
        }
        with self._ledger.write() as connection:
            attempt = queries.attempts(connection, run_id)[-1]
            self._meter.look(connection, attempt, seen, nodes, self._priced())
            append_events(connection, self._walk(attempt, state))

    def _walk(self, attempt: AttemptRow, state: RunState) -> list[Event]:
        events: list[Event] = []
        for one in path_to(attempt.state, state):
            body: dict[str, object] = {"to": one.value}
            events.append(self._recorder.event(EventKind.ATTEMPT_STATE, body, attempt.run_id, 1))
            events.append(self._recorder.event(EventKind.RUN_STATE, body, attempt.run_id, 1))
        return events

    def _bring_to_end(self, run_id: str, seen: Observation, outcome: Outcome) -> None:
        keep_snapshot(self._settings, self._figures.snapshot)
        body = {"to": outcome.state.value, **outcome_body(outcome)}
        with self._ledger.write() as connection:
            attempt = queries.attempts(connection, run_id)[-1]
            self._meter.close(connection, attempt, seen.at)
            walked = self._walk(attempt, RunState.RUNNING) if outcome.state is RunState.SUCCEEDED else []
            ended = self._recorder.event(EventKind.ATTEMPT_STATE, body, run_id, 1)
            append_events(connection, [*walked, ended])
            settle_run(connection, run_id, self._figures)
            append_events(connection, [self._recorder.event(EventKind.RUN_STATE, body, run_id)])

    def _priced(self) -> Pools:
        now = time.monotonic()
        if self._pools is None or now - self._pools[0] > POOLS_SECONDS:
            self._pools = (now, Pools(self._settings, self._cluster))
        return self._pools[1]


def run_id_of(thing: Mapping[str, Any]) -> str:
    """The id under which a RayJob of somebody else is on record: the same at every look."""
    meta = thing["metadata"]
    digits = [digit for digit in str(meta["uid"]) if digit in _HEX][:_ID_DIGITS]
    return f"{meta['name']}-{''.join(digits)}"


def _labels(thing: Mapping[str, Any]) -> dict[str, str]:
    return cast("dict[str, str]", thing["metadata"].get("labels") or {})


def _as_of(run_id: str, pod: Mapping[str, Any]) -> dict[str, Any]:
    meta = pod["metadata"]
    return {**pod, "metadata": {**meta, "labels": {**_labels(pod), RUN_LABEL: run_id}}}


def _outcome(job: SeenJob) -> Outcome | None:
    if job.ray_status in _ENDED:
        return _ENDED[job.ray_status]
    if job.ray_status == "FAILED" or job.deployment in {"Failed", "ValidationFailed"}:
        return Outcome(RunState.FAILED, FailureClass.USER, job.said[:300] or None)
    return None
