"""Runs on a Kubernetes cluster, as a step of the controller: each look brings every run nearer to its end.

All that is known is in the ledger and in the cluster. An attempt ends in three moves, each found again after
a kill: how it ends is noted, its objects are deleted and its pods awaited, then its books are closed in one
transaction.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from sqlalchemy import Connection

from headway.backends.kubernetes.api import Kubernetes
from headway.backends.kubernetes.manifests import Ask
from headway.backends.kubernetes.observed import Observation
from headway.backends.outcome import Outcome
from headway.controller.cluster_ask import ask_of, job_of, namespace_of
from headway.controller.cluster_decision import Decision, decide, path_to
from headway.controller.cluster_objects import ClusterObjects, Look, secret_values
from headway.controller.cluster_pods import PodMeter
from headway.controller.cluster_pools import Chosen, Pools
from headway.controller.cluster_records import (
    ENDING,
    HEAD,
    OVER_BUDGET,
    Ending,
    ending_of,
    open_runs,
    outcome_body,
    recorded,
    retry_wait,
    stop_asked_since,
)
from headway.controller.figures import figures_of
from headway.controller.receipts import open_lines
from headway.controller.settle import keep_snapshot, settle_run
from headway.errors import CapacityError, UserError
from headway.messages import text
from headway.runs import bills, queries
from headway.runs.events import Event, EventKind
from headway.runs.ids import backend_name
from headway.runs.lease import LEASE_MICROSECONDS, Holder
from headway.runs.rows import AttemptRow, RunRow
from headway.runs.states import FailureClass, RunState
from headway.runs.store import Ledger, Recorder, append_events, now_microseconds
from headway.runs.tokens import revoke_of_run
from headway.settings import Settings
from headway.spec.cluster import ClusterSpec
from headway.units import NANO

LOOK_SECONDS = 1.0
POOLS_SECONDS = 30.0
NEW_AT_ONCE = 10
SECOND = 1_000_000
PODS_PATIENCE_MICROSECONDS = (
    300 * SECOND
)  # beyond the grace: a node that is lost never says that its pods ended
BACKEND = "kubernetes"
_PHASES = {RunState.ADMITTED: "provision", RunState.STARTING: "boot"}


class ClusterDispatch:
    """Starts, watches and ends the runs of one cluster."""

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        recorder: Recorder,
        cluster: ClusterSpec,
        connect: Callable[[], Kubernetes] = Kubernetes.connect,
    ) -> None:
        self.settings, self.ledger, self.recorder, self.cluster = settings, ledger, recorder, cluster
        self._connect = connect
        self._objects: ClusterObjects | None = None
        self._pools: tuple[float, Pools] | None = None
        self._meter = PodMeter(settings, recorder, cluster.cpu_overcommit)
        self._figures = figures_of(settings)
        self._next_look = 0.0

    def step(self) -> None:
        """Look at the cluster, then bring on every run that is open, and sweep away what ended ones left."""
        if time.monotonic() < self._next_look:
            return
        _ = self.pools  # what is wrong with the sites file is no run's fault: it fails here
        look = self.objects.look()  # before the ledger: what is known there and missing here is gone
        with self.ledger.read() as connection:
            runs = open_runs(connection)
            attempts = {run.id: queries.attempts(connection, run.id)[-1:] for run in runs}
        begun = 0
        ahead = sum(1 for run in runs if self._is_waiting(attempts[run.id]))
        for run in runs:
            last = attempts[run.id][0] if attempts[run.id] else None
            if last is not None and last.ended is None:
                self._bring_on(run, last, look)
            elif begun < NEW_AT_ONCE and (self.objects.abilities.kueue is not None or not ahead):
                started = self._next_attempt(run, last)
                begun, ahead = begun + started, ahead + started
            else:
                self._say_waits(run, text("kubernetes.waits_first", ahead=ahead))
        self._sweep(look, {run.id for run in runs})
        self._next_look = time.monotonic() + LOOK_SECONDS

    @staticmethod
    def _is_waiting(last: list[AttemptRow]) -> bool:
        return bool(last) and last[0].ended is None and last[0].state is not RunState.RUNNING

    @property
    def objects(self) -> ClusterObjects:
        """The cluster, connected to at first use."""
        if self._objects is None:
            self._objects = ClusterObjects(self.cluster, self.ledger, self._connect())
        return self._objects

    @property
    def pools(self) -> Pools:
        """The pools at the prices of now."""
        now = time.monotonic()
        if self._pools is None or now - self._pools[0] > POOLS_SECONDS:
            self._pools = (now, Pools(self.settings, self.cluster))
        return self._pools[1]

    def _next_attempt(self, run: RunRow, last: AttemptRow | None) -> bool:
        """Open the next attempt of a run that has none open, when it is time; says whether it did."""
        since = run.created if last is None or last.ended is None else last.ended
        with self.ledger.read() as connection:
            stopped = stop_asked_since(connection, run.id, since)
            wait = self._backoff(connection, run, last)
        if stopped:
            self._end_run(run.id, Outcome(RunState.CANCELLED, reason="stopped while waiting"))
            return False
        if now_microseconds() < since + wait * SECOND:
            return False
        number = 1 if last is None else last.n + 1
        try:
            ask, chosen = self._ask(run, number)
            secret_values(run)
            self._check_budget_currency(run, chosen)
        except (UserError, CapacityError) as error:
            self._end_run(run.id, Outcome(RunState.FAILED, FailureClass.USER, str(error)[:300]))
            return False
        self.ledger.append([self._opened(run.id, number)])
        self._create(run, number, ask)
        return True

    def _backoff(self, connection: Connection, run: RunRow, last: AttemptRow | None) -> float:
        if last is None or last.failure_class is None or run.state is RunState.QUEUED:
            return 0.0
        return retry_wait(connection, run, FailureClass(last.failure_class)) or 0.0

    @staticmethod
    def _check_budget_currency(run: RunRow, chosen: Chosen) -> None:
        job = job_of(run)
        if job.limits.budget is None:
            return
        for pool in chosen.pools:
            if pool.offering.currency != job.limits.budget.currency:
                raise UserError(
                    "submit.budget_currency", budget=job.limits.budget.currency, site=pool.offering.currency
                )

    def _ask(self, run: RunRow, number: int) -> tuple[Ask, Chosen]:
        objects = self.objects
        where = objects.namespace(namespace_of(self.cluster, run.team_id))
        return ask_of(run, number, self.cluster, self.pools, where, objects.abilities)

    def _opened(self, run_id: str, number: int) -> Event:
        now = now_microseconds()
        body: dict[str, object] = {
            "lease_epoch": self.recorder.clock(),
            "lease_holder": str(Holder.me()),
            "lease_expires_at": now + LEASE_MICROSECONDS,
            "backend": BACKEND,
        }
        return self.recorder.event(EventKind.ATTEMPT_OPENED, body, run_id, number, now)

    def _create(self, run: RunRow, number: int, known: Ask | None = None) -> None:
        """Make the attempt's objects, or find those that a controller before made."""
        try:
            ask = known or self._ask(run, number)[0]
            uid = self.objects.create(run, ask)
        except (UserError, CapacityError) as error:
            outcome = Outcome(RunState.FAILED, FailureClass.USER, str(error)[:300])
            self._note_ending(run.id, number, outcome, keep_job=False)
            return
        self._record_uid(run.id, number, uid)

    def _record_uid(self, run_id: str, number: int, uid: str | None) -> None:
        body: dict[str, object] = {
            "to": RunState.QUEUED.value,
            "backend_ref": backend_name(run_id, number),
            "backend_uid": uid,
        }
        self.recorder.append(EventKind.ATTEMPT_STATE, body, run_id, number)

    def _bring_on(self, run: RunRow, attempt: AttemptRow, look: Look) -> None:
        """One look at an open attempt."""
        seen = look.of(run.id)
        with self.ledger.write() as connection:
            attempt = queries.attempts(connection, run.id)[-1]
            if attempt.ended is not None:
                return
            self._meter.look(connection, attempt, seen, look.nodes, self.pools)
            ending = ending_of(connection, attempt)
        if ending is not None:
            self._finish(run, attempt, ending, seen)
        elif attempt.backend_uid is None:
            self._create_or_adopt(run, attempt, seen)
        elif not self._has_other_job(run, attempt, seen):
            self._follow(run, attempt, seen)

    def _create_or_adopt(self, run: RunRow, attempt: AttemptRow, seen: Observation) -> None:
        with self.ledger.read() as connection:
            known = recorded(connection, attempt)
        if known.stop is not None:
            outcome = Outcome(RunState.CANCELLED, reason="stopped before it began")
            self._note_ending(run.id, attempt.n, outcome, keep_job=False)
        elif seen.job is not None and not seen.job.deleting and seen.job.job_id == known.mark:
            self._record_uid(run.id, attempt.n, seen.job.uid)
        elif seen.job is not None and not seen.job.deleting and not seen.job.suspended:
            self.objects.remove(seen.job.namespace, seen.job.name)
        else:
            self._create(run, attempt.n)

    def _has_other_job(self, run: RunRow, attempt: AttemptRow, seen: Observation) -> bool:
        """Whether the RayJob still belongs to the attempt before; at rest it is given to this one."""
        job = seen.job
        if job is None or job.deleting or job.job_id == backend_name(run.id, attempt.n):
            return False
        if job.suspended:
            self.objects.rename(job, backend_name(run.id, attempt.n))
        else:  # it was started again before that: what it started hears that its attempt has ended
            self.objects.remove(job.namespace, job.name)
            self._record_uid(run.id, attempt.n, None)
        return True

    def _follow(self, run: RunRow, attempt: AttemptRow, seen: Observation) -> None:
        with self.ledger.read() as connection:
            known = recorded(connection, attempt)
            over = self._is_over_budget(connection, run) and known.launched_at is not None
        head = seen.head
        if known.launched_at is not None and known.head_uid is None and head is not None:
            body: dict[str, object] = {"what": HEAD, "uid": head.uid, "pod": head.name}
            self.recorder.append(EventKind.NOTE, body, run.id, attempt.n)
            known = replace(known, head_uid=head.uid)
        if over and not known.over_budget:
            self._stop_over_budget(run, attempt)
            return
        deadline = self.cluster.start_deadline
        decision = decide(known, seen, None if deadline is None else int(deadline * SECOND))
        if decision.outcome is not None:
            self._note_ending(run.id, attempt.n, decision.outcome, keep_job=decision.keep_job)
            if not decision.keep_job and seen.job is not None:
                self.objects.remove(seen.job.namespace, seen.job.name, known.mark)
            return
        self._record_states(run, attempt, decision)

    def _is_over_budget(self, connection: Connection, run: RunRow) -> bool:
        budget = job_of(run).limits.budget
        if budget is None:
            return False
        lines = [
            *bills.lines_of(connection, run.id),
            *open_lines(connection, run.id, self._figures),
        ]
        spent = sum(line.amount_nano for line in lines if line.currency == budget.currency)
        return spent >= budget.amount * NANO

    def _stop_over_budget(self, run: RunRow, attempt: AttemptRow) -> None:
        events = [
            self.recorder.event(EventKind.NOTE, {"what": OVER_BUDGET}, run.id, attempt.n),
            self.recorder.event(EventKind.STOP_REQUESTED, {"mode": "checkpoint"}, run.id, attempt.n),
        ]
        self.ledger.append(events)

    def _record_states(self, run: RunRow, attempt: AttemptRow, decision: Decision) -> None:
        events = self._walk(run, attempt, decision.state)
        if events:
            self.ledger.append(events)
        elif decision.state is RunState.QUEUED:
            self._say_waits(run, text("kubernetes.waits_queue", said=decision.waits or "-"))
        elif decision.waits:
            self._say_waits(run, text("kubernetes.waits_node", said=decision.waits))

    def _walk(self, run: RunRow, attempt: AttemptRow, target: RunState) -> list[Event]:
        """Through the live states up to one; a run that restarts is RUNNING next, and nothing between."""
        events: list[Event] = []
        restarting = run.state is RunState.RESTARTING
        for state in path_to(attempt.state, target):
            body: dict[str, object] = {"to": state.value}
            events.append(self.recorder.event(EventKind.ATTEMPT_STATE, body, run.id, attempt.n))
            if not restarting or state is RunState.RUNNING:
                events.append(self.recorder.event(EventKind.RUN_STATE, body, run.id, attempt.n))
            if state in _PHASES:
                phase: dict[str, object] = {"kind": _PHASES[state]}
                events.append(self.recorder.event(EventKind.PHASE, phase, run.id, attempt.n))
        return events

    def _say_waits(self, run: RunRow, reason: str) -> None:
        reason = reason[:300]
        if reason != run.reason and run.state is not RunState.RUNNING:
            body: dict[str, object] = {"to": run.state.value, "reason": reason}
            self.recorder.append(EventKind.RUN_STATE, body, run.id)

    def _note_ending(self, run_id: str, number: int, outcome: Outcome, *, keep_job: bool) -> None:
        body: dict[str, object] = {"what": ENDING, **outcome_body(outcome), "keep_job": keep_job}
        self.recorder.append(EventKind.NOTE, body, run_id, number)

    def _finish(self, run: RunRow, attempt: AttemptRow, ending: Ending, seen: Observation) -> None:
        """Give the attempt's machines back; once its pods are gone, close its books."""
        mark = backend_name(run.id, attempt.n)
        if not ending.keep_job:
            namespace = namespace_of(self.cluster, run.team_id)
            if seen.job is not None and not seen.job.deleting:
                namespace = seen.job.namespace
                self.objects.remove(namespace, seen.job.name, mark)
            elif seen.job is None:
                self.objects.remove(namespace, mark)
        grace = self.cluster.stop_grace or 0
        patience = PODS_PATIENCE_MICROSECONDS + int(grace * SECOND)
        running = [pod for pod in seen.pods if not pod.has_ended]
        if running and seen.at - ending.since < patience:
            return
        self._close(run, attempt, ending, seen)

    def _close(self, run: RunRow, attempt: AttemptRow, ending: Ending, seen: Observation) -> None:
        outcome = ending.outcome
        keep_snapshot(self.settings, self._figures.snapshot)
        kept = False
        with self.ledger.write() as connection:
            self._meter.close(connection, attempt, seen.at)
            body = {"to": outcome.state.value, **outcome_body(outcome)}
            walked: list[Event] = []
            if outcome.state is RunState.SUCCEEDED:  # it may have ended before it was seen to run
                walked = self._walk(run, attempt, RunState.RUNNING)
            closed = self.recorder.event(EventKind.ATTEMPT_STATE, body, run.id, attempt.n)
            append_events(connection, [*walked, closed])
            settle_run(connection, run.id, self._figures)
            state, events = self._after(connection, run, outcome)
            if state is RunState.RESTARTING and ending.keep_job and seen.job is not None:
                kept = True
                events.append(self._opened(run.id, attempt.n + 1))
                uid: dict[str, object] = {
                    "to": RunState.QUEUED.value,
                    "backend_ref": backend_name(run.id, attempt.n + 1),
                    "backend_uid": seen.job.uid,
                }
                events.append(self.recorder.event(EventKind.ATTEMPT_STATE, uid, run.id, attempt.n + 1))
            append_events(connection, events)
            if state.is_terminal:
                revoke_of_run(connection, run.id, now_microseconds())
        if kept and seen.job is not None:
            self.objects.rename(seen.job, backend_name(run.id, attempt.n + 1))

    def _after(self, connection: Connection, run: RunRow, outcome: Outcome) -> tuple[RunState, list[Event]]:
        """The run's state after an attempt, with the event that says so."""
        state = outcome.state
        failure = outcome.failure if state is RunState.FAILED else None
        if failure is not None and retry_wait(connection, run, failure) is not None:
            state = RunState.RESTARTING
        present = queries.get_run(connection, run.id).state
        if state is RunState.RESTARTING and present is RunState.QUEUED:
            return state, []  # it never left its queue, and waits there again
        body = {"to": state.value, **outcome_body(outcome)}
        if state is RunState.RESTARTING:
            body["failure_class"] = None
        return state, [self.recorder.event(EventKind.RUN_STATE, body, run.id)]

    def _end_run(self, run_id: str, outcome: Outcome) -> None:
        body = {"to": outcome.state.value, **outcome_body(outcome)}
        with self.ledger.write() as connection:
            if queries.get_run(connection, run_id).state.is_terminal:
                return
            append_events(connection, [self.recorder.event(EventKind.RUN_STATE, body, run_id)])
            revoke_of_run(connection, run_id, now_microseconds())

    def _sweep(self, look: Look, open_ids: set[str]) -> None:
        """Delete what belongs to runs that have ended; what no ledger of ours knows is not ours to delete."""
        left = [seen.job for run_id, seen in look.runs.items() if run_id not in open_ids and seen.job]
        for job in left:
            if job.deleting or job.run_id is None:
                continue
            with self.ledger.read() as connection:
                run = queries.run_by_key(connection, job.run_id)
            if run is not None and run.id == job.run_id and run.state.is_terminal:
                self.objects.remove(job.namespace, job.name)
