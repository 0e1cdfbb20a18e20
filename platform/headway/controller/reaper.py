"""Closing the books of runs whose supervisor is gone: the first thing that every command does.

A run whose owner's lease has expired is fenced off, its processes are ended, what its workers had written
is taken in, and it is FAILED(infra) with its cost so far. Nothing is done twice: the epoch decides.
"""

from __future__ import annotations

import contextlib

import psutil
from sqlalchemy import Connection, func, select

from headway.backends.local.driver import clean, end_all
from headway.controller.dispatch import is_dispatched
from headway.controller.figures import figures_of
from headway.controller.settle import keep_snapshot, settle_run
from headway.costing.usage import Metric
from headway.runs import queries, tables
from headway.runs.events import Event, EventKind
from headway.runs.ids import backend_name
from headway.runs.lease import Holder, is_expired, take_over
from headway.runs.projection import insert_new
from headway.runs.rows import AttemptRow
from headway.runs.spool import SpoolReader
from headway.runs.states import TERMINAL, FailureClass, RunState
from headway.runs.store import Ledger, Recorder, append_events, now_microseconds
from headway.runs.telling import to_events
from headway.settings import Settings

OPEN_STATES = tuple(state for state in RunState if state not in TERMINAL)
START_MICROSECONDS = 30_000_000
LOCAL = "local"


def reap(settings: Settings, ledger: Ledger) -> list[str]:
    """Close every run whose owner is gone; gives their ids."""
    with ledger.read() as connection:
        runs = queries.list_runs(connection, states=OPEN_STATES)
        last = {run.id: queries.attempts(connection, run.id)[-1:] for run in runs}
        since = {run.id: queries.state_since(connection, run.id) or run.created for run in runs}
    closed: list[str] = []
    now = now_microseconds()
    for run in runs:
        attempts = last[run.id]
        if not attempts or (run.state is RunState.QUEUED and attempts[0].ended is not None):
            # Submitted or resumed, and its supervisor has not opened an attempt yet.
            if is_dispatched(run):
                continue  # it waits for the controller, however long that takes
            if now - since[run.id] > START_MICROSECONDS and _end_run(
                Recorder(ledger, f"reaper:{run.id}"), run.id, None
            ):
                closed.append(run.id)
            continue
        attempt = attempts[0]
        if attempt.backend != LOCAL:
            continue  # what runs in a cluster outlives the controller, which finds it again
        if is_expired(attempt.lease_holder, attempt.lease_expires_at, now) and _close(
            settings, ledger, attempt
        ):
            closed.append(run.id)
    return closed


class Reaper:
    """Reaping as a step of the controller."""

    def __init__(self, settings: Settings, ledger: Ledger) -> None:
        self._settings, self._ledger = settings, ledger

    def step(self) -> list[str]:
        """Close what was lost since."""
        return reap(self._settings, self._ledger)


def _close(settings: Settings, ledger: Ledger, attempt: AttemptRow) -> bool:
    if attempt.ended is None:
        with ledger.write() as connection:
            if not take_over(connection, attempt.run_id, attempt.n, attempt.lease_epoch):
                return False
    _end_owner(attempt.lease_holder)
    recorder = Recorder(ledger, f"reaper:{attempt.run_id}")
    mark = backend_name(attempt.run_id, attempt.n)
    survivors = end_all(mark, 0)
    clean(settings.run_folder(attempt.run_id) / f"a{attempt.n}", mark)
    if attempt.ended is None:
        _close_attempt(settings, ledger, recorder, attempt, mark, still_ran=survivors > 0)
    return _end_run(recorder, attempt.run_id, attempt)


def _end_owner(holder_text: str) -> None:
    holder = Holder.parse(holder_text)
    process = holder.process() if holder.is_local() else None
    if process is not None:
        with contextlib.suppress(psutil.Error):
            process.kill()


def _close_attempt(
    settings: Settings,
    ledger: Ledger,
    recorder: Recorder,
    attempt: AttemptRow,
    mark: str,
    *,
    still_ran: bool,
) -> None:
    spool = settings.run_folder(attempt.run_id) / f"a{attempt.n}" / "spool"
    lines = list(SpoolReader(spool).new_events()) if spool.is_dir() else []
    ledger.append(to_events(attempt.run_id, attempt.n, mark, lines))
    figures = figures_of(settings)
    keep_snapshot(settings, figures.snapshot)
    with ledger.write() as connection:
        now = now_microseconds()
        allocation = connection.execute(
            select(tables.allocation).where(
                (tables.allocation.c.run_id == attempt.run_id) & (tables.allocation.c.attempt == attempt.n)
            )
        ).one_or_none()
        events: list[Event] = []

        end = now
        if allocation is not None:
            metered_until = connection.execute(
                select(func.max(tables.usage.c.stop)).where(tables.usage.c.allocation_id == allocation.id)
            ).scalar()
            spoken_until = max((int(line["at"]) for _name, line in lines), default=0)
            last_sign = max(metered_until or allocation.start, spoken_until, allocation.start)
            end = now if still_ran else last_sign
            since = metered_until or allocation.start
            if end > since:
                _add_held(connection, recorder, allocation.id, allocation.share_num, since, end)
            closing: dict[str, object] = {"id": allocation.id}
            events.append(
                recorder.event(EventKind.ALLOCATION_CLOSED, closing, attempt.run_id, attempt.n, end)
            )
        body: dict[str, object] = {"to": RunState.FAILED.value, "failure_class": FailureClass.INFRA.value}
        events.append(recorder.event(EventKind.ATTEMPT_STATE, body, attempt.run_id, attempt.n, end))
        append_events(connection, events)
        settle_run(connection, attempt.run_id, figures)


def _add_held(
    connection: Connection, recorder: Recorder, allocation: str, cores: int, start: int, stop: int
) -> None:
    """The cores stayed held between the last metered moment and the end, though nobody measured their use."""
    insert_new(
        connection,
        tables.usage,
        {
            "source": recorder.source,
            "epoch": recorder.epoch,
            "seq": recorder.next_seq(),
            "allocation_id": allocation,
            "start": start,
            "stop": stop,
            "metric": Metric.CORE_HELD.value,
            "quantity_int": cores * (stop - start),
            "unit": Metric.CORE_HELD.unit,
            "method": "allocation",
            "quality": "estimated",
        },
    )


def _end_run(recorder: Recorder, run_id: str, attempt: AttemptRow | None) -> bool:
    """End the run as its last attempt ended; says whether it was still open.

    Its supervisor may have ended it since we looked, and may have been lost between the end of an attempt
    that succeeded or was stopped and the end of the run.
    """
    body: dict[str, object] = {"to": RunState.FAILED.value, "reason": "supervisor lost"}
    if attempt is not None and attempt.state in {RunState.SUCCEEDED, RunState.CANCELLED}:
        body["to"] = attempt.state.value
    else:
        body["failure_class"] = FailureClass.INFRA.value
    with recorder.ledger.write() as connection:
        if queries.get_run(connection, run_id).state.is_terminal:
            return False
        append_events(connection, [recorder.event(EventKind.RUN_STATE, body, run_id)])
    return True
