"""Starting the runs that the gateway recorded, first come first served, each by one owner.

A run waits in the ledger, not in a process: only the next few have a supervisor that waits for machines.
"""

from __future__ import annotations

import os
from typing import cast

from sqlalchemy import func, select

from headway.blobs.choose import open_store
from headway.controller.cores import check_devices_and_memory, check_fits
from headway.controller.figures import figures_of
from headway.controller.owner import is_owned
from headway.controller.submit import start_supervisor
from headway.errors import HeadwayError, UserError
from headway.runs import queries, tables
from headway.runs.events import EventKind
from headway.runs.rows import RunRow
from headway.runs.states import FailureClass, RunState
from headway.runs.store import Ledger, Recorder, now_microseconds
from headway.settings import Settings

WAITING_SUPERVISORS = 2
LOOKED_AT = 20
START_MICROSECONDS = 20_000_000
_MARK = '%"dispatch":"controller"%'


def is_dispatched(run: RunRow) -> bool:
    """Whether the controller, and not a command, starts this run."""
    resolved = run.spec.get("resolved")
    return isinstance(resolved, dict) and cast("dict[str, object]", resolved).get("dispatch") == "controller"


class LocalDispatch:
    """Starts supervisors for queued runs on this machine."""

    def __init__(self, settings: Settings, ledger: Ledger, recorder: Recorder) -> None:
        self.settings = settings
        self.ledger = ledger
        self.recorder = recorder
        self._started: dict[str, int] = {}

    def step(self) -> list[str]:
        """Start what is next; gives the ids of the runs whose supervisor was started."""
        waiting = self._queued()
        self._started = {run.id: at for run in waiting if (at := self._started.get(run.id)) is not None}
        alive = [run for run in waiting if self._has_owner(run)]
        free = WAITING_SUPERVISORS - len(alive)
        begun: list[str] = []
        for run in waiting:
            if run in alive:
                continue
            if self._stop_asked(run):
                self._end(run, RunState.CANCELLED, None, "stopped while waiting")
            elif free > 0 and self._is_possible(run):
                start_supervisor(self.settings, run.id)
                self._started[run.id] = now_microseconds()
                free -= 1
                begun.append(run.id)
        return begun

    def _queued(self) -> list[RunRow]:
        table = tables.run
        with self.ledger.read() as connection:
            rows = connection.execute(
                select(table)
                .where((table.c.state == RunState.QUEUED.value) & table.c.spec_json.like(_MARK))
                .order_by(table.c.created, table.c.id)
                .limit(LOOKED_AT)
            )
            first = [queries.run_row(row) for row in rows]
            asked = select(tables.event.c.run_id).where(tables.event.c.kind == EventKind.STOP_REQUESTED.value)
            stopped = connection.execute(
                select(table).where(
                    (table.c.state == RunState.QUEUED.value)
                    & table.c.spec_json.like(_MARK)
                    & table.c.id.in_(asked)
                )
            )
            known = {run.id for run in first}
            return first + [queries.run_row(row) for row in stopped if row.id not in known]

    def _has_owner(self, run: RunRow) -> bool:
        begun = self._started.get(run.id)
        if begun is not None and now_microseconds() - begun < START_MICROSECONDS:
            return True
        return is_owned(self.settings.run_folder(run.id))

    def _stop_asked(self, run: RunRow) -> bool:
        event = tables.event
        with self.ledger.read() as connection:
            attempts = queries.attempts(connection, run.id)
            if attempts and attempts[-1].ended is None:
                return False
            number = attempts[-1].n + 1 if attempts else 1
            since = connection.execute(
                select(func.count())
                .select_from(event)
                .where(
                    (event.c.run_id == run.id)
                    & (event.c.kind == EventKind.STOP_REQUESTED.value)
                    & (event.c.attempt >= number)
                )
            ).scalar_one()
        return since > 0

    def _is_possible(self, run: RunRow) -> bool:
        try:
            self._check(run)
        except HeadwayError as error:
            self._end(run, RunState.FAILED, FailureClass.USER, str(error))
            return False
        return True

    def _check(self, run: RunRow) -> None:
        resolved = cast("dict[str, object]", run.spec["resolved"])
        figures = figures_of(self.settings)
        workers, cores = cast("int", resolved["workers"]), cast("int", resolved["cpus_per_worker"])
        check_fits(workers * cores, figures)
        check_devices_and_memory(workers * cast("int", resolved.get("gpus_per_worker") or 0), 0)
        currency = resolved.get("budget_currency")
        if currency is not None and currency != figures.currency:
            raise UserError("submit.budget_currency", budget=currency, site=figures.currency)
        secrets = cast("dict[str, str]", resolved["secrets"])
        missing = [variable for variable in secrets.values() if variable not in os.environ]
        if missing:
            raise UserError("submit.no_secret", names=", ".join(missing))
        storage = resolved.get("storage")
        if storage is not None and "://" in str(storage):
            raise UserError("submit.remote_storage", storage=storage)
        store = open_store(self.settings.get("blobs"), self.settings.home)
        for sha256 in (resolved.get("package"), *cast("list[str]", resolved.get("py_modules") or [])):
            if sha256 is not None and store.size(str(sha256)) is None:
                raise UserError("blobs.not_found", digest=sha256)

    def _end(self, run: RunRow, state: RunState, failure: FailureClass | None, reason: str) -> None:
        body: dict[str, object] = {"to": state.value, "reason": reason}
        if failure is not None:
            body["failure_class"] = failure.value
        with self.ledger.write() as connection:
            if queries.get_run(connection, run.id).state is not RunState.QUEUED:
                return
            from headway.runs.store import append_events

            append_events(connection, [self.recorder.event(EventKind.RUN_STATE, body, run.id)])
