"""Rows projected from events: one function per kind, all in the transaction that records the event."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import cast

from sqlalchemy import Connection, Table, insert, select, update
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from headway.errors import NotFoundError
from headway.runs import tables
from headway.runs.events import Event, EventKind, canonical_json
from headway.runs.states import RunState, check_transition


def insert_new(connection: Connection, table: Table, row: Mapping[str, object]) -> bool:
    """Insert a row unless one with its key exists; says whether it was new."""
    make = sqlite_insert if connection.dialect.name == "sqlite" else postgresql_insert
    return connection.execute(make(table).values(dict(row)).on_conflict_do_nothing()).rowcount == 1


def project(connection: Connection, event: Event) -> None:
    """Apply one new event to the projected rows."""
    handler = _HANDLERS.get(event.kind)
    if handler is not None:
        handler(connection, event)


def _text(body: Mapping[str, object], key: str) -> str | None:
    value = body.get(key)
    return None if value is None else str(value)


def _submitted(connection: Connection, event: Event) -> None:
    body = event.body
    spec_json = canonical_json(body["spec"])
    team = _text(body, "team") or "default"
    insert_new(connection, tables.team, {"id": team, "name": team})
    project_id = _text(body, "project")
    if project_id is not None:
        insert_new(
            connection, tables.project, {"id": project_id, "team_id": team, "reporting_currency": "USD"}
        )
    connection.execute(
        insert(tables.run).values(
            id=event.run_id,
            name=body["name"],
            team_id=team,
            project_id=project_id,
            owner_id=_text(body, "owner"),
            labels=canonical_json(body.get("labels") or {}),
            spec_json=spec_json,
            spec_sha=hashlib.sha256(spec_json.encode()).hexdigest(),
            code_sha=_text(body, "code_sha"),
            state=RunState.QUEUED.value,
            version=1,
            request_key=body.get("request_key") or event.run_id,
            parent_run_id=_text(body, "parent"),
            limits=canonical_json(body.get("limits") or {}),
            created=event.occurred_at,
        )
    )


def _run_state(connection: Connection, event: Event) -> None:
    row = connection.execute(
        select(tables.run.c.state, tables.run.c.version).where(tables.run.c.id == event.run_id)
    ).one_or_none()
    if row is None:
        raise NotFoundError("runs.not_found", run=event.run_id)
    target = RunState(str(event.body["to"]))
    if row.state != target.value:
        check_transition(RunState(row.state), target, resume=bool(event.body.get("resume")))
    connection.execute(
        update(tables.run)
        .where(tables.run.c.id == event.run_id)
        .values(
            state=target.value,
            reason=_text(event.body, "reason"),
            failure_class=_text(event.body, "failure_class"),
            version=row.version + 1,
            ended=event.occurred_at if target.is_terminal else None,
        )
    )


def _hidden(connection: Connection, event: Event) -> None:
    """The run leaves the lists and gives its request key back; its record stays."""
    connection.execute(
        update(tables.run)
        .where(tables.run.c.id == event.run_id)
        .values(hidden=event.occurred_at, request_key=f"hidden/{event.run_id}")
    )


def _attempt_opened(connection: Connection, event: Event) -> None:
    body = event.body
    connection.execute(
        insert(tables.attempt).values(
            run_id=event.run_id,
            n=event.attempt,
            state=RunState.QUEUED.value,
            lease_epoch=body["lease_epoch"],
            lease_holder=body["lease_holder"],
            lease_expires_at=body["lease_expires_at"],
            backend=body["backend"],
            started=event.occurred_at,
        )
    )


def _attempt_state(connection: Connection, event: Event) -> None:
    table = tables.attempt
    where = (table.c.run_id == event.run_id) & (table.c.n == event.attempt)
    current = RunState(connection.execute(select(table.c.state).where(where)).scalar_one())
    target = RunState(str(event.body["to"]))
    if current is not target:
        check_transition(current, target)
    values: dict[str, object] = {"state": target.value}
    values |= {key: _text(event.body, key) for key in ("backend_ref", "backend_uid") if key in event.body}
    if target.is_terminal:
        values |= {
            "failure_class": _text(event.body, "failure_class"),
            "ended": event.occurred_at,
            "exit_code": event.body.get("exit_code"),
        }
        _close_phase(connection, event)
    connection.execute(update(table).where(where).values(**values))


def _allocation_opened(connection: Connection, event: Event) -> None:
    body = event.body
    site = cast("dict[str, object]", body["site"])
    insert_new(connection, tables.site, site)
    insert_new(connection, tables.pool, {"site_id": site["id"], **cast("dict[str, object]", body["pool"])})
    insert_new(
        connection,
        tables.allocation,
        {
            "id": body["id"],
            "run_id": event.run_id,
            "attempt": event.attempt,
            "pool_id": cast("dict[str, object]", body["pool"])["id"],
            "node": body["node"],
            "zone_id": body.get("zone_id"),
            "share_num": body["share_num"],
            "share_den": body["share_den"],
            "start": event.occurred_at,
        },
    )


def _allocation_closed(connection: Connection, event: Event) -> None:
    connection.execute(
        update(tables.allocation)
        .where((tables.allocation.c.id == event.body["id"]) & tables.allocation.c.stop.is_(None))
        .values(stop=event.occurred_at)
    )


def _world(connection: Connection, event: Event) -> None:
    key = {"run_id": event.run_id, "attempt": event.attempt, "start": event.occurred_at}
    insert_new(connection, tables.world, {**key, "workers": event.body["workers"]})


def _close_phase(connection: Connection, event: Event) -> None:
    table = tables.phase
    connection.execute(
        update(table)
        .where((table.c.run_id == event.run_id) & (table.c.attempt == event.attempt) & table.c.stop.is_(None))
        .values(stop=event.occurred_at)
    )


def _phase(connection: Connection, event: Event) -> None:
    _close_phase(connection, event)
    key = {"run_id": event.run_id, "attempt": event.attempt, "start": event.occurred_at}
    insert_new(connection, tables.phase, {**key, "kind": event.body["kind"]})


def _progress(connection: Connection, event: Event) -> None:
    body = event.body
    insert_new(
        connection,
        tables.progress,
        {
            "run_id": event.run_id,
            "attempt": event.attempt,
            "at": event.occurred_at,
            "step": body["step"],
            "samples": body.get("samples"),
            "tokens": body.get("tokens"),
            "loss": _text(body, "loss"),
        },
    )


def _checkpoint(connection: Connection, event: Event) -> None:
    body = event.body
    insert_new(
        connection,
        tables.checkpoint,
        {
            "run_id": event.run_id,
            "attempt": event.attempt,
            "step": body["step"],
            "uri": body["uri"],
            "manifest_sha": body["manifest_sha"],
            "committed_at": event.occurred_at,
            "state": "committed",
        },
    )


def _log(connection: Connection, event: Event) -> None:
    body = event.body
    row = {"run_id": event.run_id, "attempt": event.attempt, "stream": body["stream"]}
    values = {"uri": body["uri"], "bytes": body["bytes"], "sha": body.get("sha")}
    if not insert_new(connection, tables.log, {**row, **values}):
        table = tables.log
        connection.execute(
            update(table)
            .where(
                (table.c.run_id == event.run_id)
                & (table.c.attempt == event.attempt)
                & (table.c.stream == body["stream"])
            )
            .values(**values)
        )


_HANDLERS: dict[EventKind, Callable[[Connection, Event], None]] = {
    EventKind.SUBMITTED: _submitted,
    EventKind.RUN_STATE: _run_state,
    EventKind.HIDDEN: _hidden,
    EventKind.ATTEMPT_OPENED: _attempt_opened,
    EventKind.ATTEMPT_STATE: _attempt_state,
    EventKind.ALLOCATION_OPENED: _allocation_opened,
    EventKind.ALLOCATION_CLOSED: _allocation_closed,
    EventKind.WORLD: _world,
    EventKind.PHASE: _phase,
    EventKind.PROGRESS: _progress,
    EventKind.CHECKPOINT: _checkpoint,
    EventKind.LOG: _log,
}
