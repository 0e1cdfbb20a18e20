"""Reading the ledger: typed rows for the rooms above."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import cast

from sqlalchemy import Connection, func, select

from headway.errors import NotFoundError
from headway.runs import tables
from headway.runs.events import EventKind
from headway.runs.rows import AttemptRow, CheckpointRow, ProgressRow, RunRow
from headway.runs.states import RunState


def run_row(row: object) -> RunRow:
    """A row of the run table as the rooms above see it."""
    values = cast("dict[str, object]", row._mapping)  # pyright: ignore[reportAttributeAccessIssue] # noqa: SLF001 - SQLAlchemy's documented name
    return RunRow(
        id=str(values["id"]),
        name=str(values["name"]),
        team_id=str(values["team_id"]),
        state=RunState(str(values["state"])),
        reason=cast("str | None", values["reason"]),
        failure_class=cast("str | None", values["failure_class"]),
        spec=json.loads(str(values["spec_json"])),
        code_sha=cast("str | None", values["code_sha"]),
        labels=json.loads(str(values["labels"])),
        created=cast("int", values["created"]),
        ended=cast("int | None", values["ended"]),
        request_key=str(values["request_key"]),
        hidden=cast("int | None", values["hidden"]),
        owner_id=cast("str | None", values["owner_id"]),
        parent_run_id=cast("str | None", values["parent_run_id"]),
    )


def get_run(connection: Connection, run_id: str) -> RunRow:
    """One run by its id, or by a prefix of the id that only one run has.

    Raises:
        NotFoundError: no run, or several, begin so.
    """
    table = tables.run
    row = connection.execute(select(table).where(table.c.id == run_id)).one_or_none()
    if row is not None:
        return run_row(row)
    found = connection.execute(
        select(table).where(table.c.id.startswith(run_id, autoescape=True)).order_by(table.c.created).limit(6)
    ).all()
    if len(found) == 1 and run_id:
        return run_row(found[0])
    if found and run_id:
        raise NotFoundError("runs.ambiguous", run=run_id, runs=", ".join(str(item.id) for item in found))
    raise NotFoundError("runs.not_found", run=run_id)


def run_by_key(connection: Connection, key: str) -> RunRow | None:
    """The run that a client named so when it was submitted, or whose id this is; hidden ones only by id."""
    table = tables.run
    row = connection.execute(select(table).where(table.c.request_key == key)).one_or_none()
    if row is None:
        row = connection.execute(select(table).where(table.c.id == key)).one_or_none()
    return None if row is None else run_row(row)


def list_runs(
    connection: Connection,
    *,
    states: tuple[RunState, ...] = (),
    limit: int | None = None,
    with_hidden: bool = True,
) -> list[RunRow]:
    """Runs, newest first; those that were deleted from the lists too, unless they are not wanted."""
    table = tables.run
    query = select(table).order_by(table.c.created.desc(), table.c.id.desc())
    if not with_hidden:
        query = query.where(table.c.hidden.is_(None))
    if states:
        query = query.where(table.c.state.in_([state.value for state in states]))
    if limit is not None:
        query = query.limit(limit)
    return [run_row(row) for row in connection.execute(query)]


def state_since(connection: Connection, run_id: str) -> int | None:
    """When the run's state was last recorded, or None while it is as it was submitted."""
    table = tables.event
    return connection.execute(
        select(func.max(table.c.occurred_at)).where(
            (table.c.run_id == run_id) & (table.c.kind == EventKind.RUN_STATE.value)
        )
    ).scalar()


def count_runs(connection: Connection, *, with_hidden: bool = True) -> int:
    """How many runs there are; those deleted from the lists too, unless they are not wanted."""
    query = select(func.count()).select_from(tables.run)
    if not with_hidden:
        query = query.where(tables.run.c.hidden.is_(None))
    return connection.execute(query).scalar_one()


def attempts(connection: Connection, run_id: str) -> list[AttemptRow]:
    """A run's attempts in order."""
    return attempts_of(connection, [run_id])


def attempts_of(connection: Connection, run_ids: Sequence[str]) -> list[AttemptRow]:
    """The attempts of some runs, each run's in order."""
    table = tables.attempt
    rows = connection.execute(
        select(table).where(table.c.run_id.in_(run_ids)).order_by(table.c.run_id, table.c.n)
    )
    return [
        AttemptRow(
            row.run_id,
            row.n,
            RunState(row.state),
            row.failure_class,
            row.lease_epoch,
            row.lease_holder,
            row.lease_expires_at,
            row.backend,
            row.started,
            row.ended,
            row.exit_code,
            row.backend_ref,
            row.backend_uid,
        )
        for row in rows
    ]


def progress(connection: Connection, run_id: str, attempt: int | None = None) -> list[ProgressRow]:
    """A run's progress rows in time order, of all attempts or of one."""
    table = tables.progress
    query = select(table).where(table.c.run_id == run_id).order_by(table.c.at)
    if attempt is not None:
        query = query.where(table.c.attempt == attempt)
    return [_progress(row) for row in connection.execute(query)]


def _progress(row: object) -> ProgressRow:
    values = cast("dict[str, object]", row._mapping)  # pyright: ignore[reportAttributeAccessIssue] # noqa: SLF001 - SQLAlchemy's documented name
    loss = values["loss"]
    return ProgressRow(
        cast("int", values["attempt"]),
        cast("int", values["at"]),
        cast("int", values["step"]),
        cast("int | None", values["samples"]),
        cast("int | None", values["tokens"]),
        None if loss is None else float(str(loss)),
    )


def last_progress(connection: Connection, run_id: str) -> ProgressRow | None:
    """The newest progress row of a run."""
    table = tables.progress
    query = (
        select(table)
        .where(table.c.run_id == run_id)
        .order_by(table.c.at.desc(), table.c.step.desc())
        .limit(1)
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else _progress(row)


def checkpoints(connection: Connection, run_id: str) -> list[CheckpointRow]:
    """A run's committed checkpoints in time order."""
    table = tables.checkpoint
    rows = connection.execute(select(table).where(table.c.run_id == run_id).order_by(table.c.committed_at))
    return [CheckpointRow(row.attempt, row.step, row.uri, row.manifest_sha, row.committed_at) for row in rows]


def metrics(connection: Connection, run_id: str) -> list[dict[str, object]]:
    """Named figures a run reported (`held_out_loss` …), in time order, each with its attempt and time."""
    table = tables.event
    rows = connection.execute(
        select(table)
        .where((table.c.run_id == run_id) & (table.c.kind == EventKind.METRIC.value))
        .order_by(table.c.occurred_at, table.c.seq)
    )
    return [{**json.loads(row.body), "attempt": row.attempt, "at": row.occurred_at} for row in rows]


def stop_requests(connection: Connection, run_id: str, attempt: int) -> list[str]:
    """The modes (`checkpoint`, `now`) in which a stop of this attempt was asked for, in order."""
    table = tables.event
    rows = connection.execute(
        select(table.c.body)
        .where(
            (table.c.run_id == run_id)
            & (table.c.attempt == attempt)
            & (table.c.kind == EventKind.STOP_REQUESTED.value)
        )
        .order_by(table.c.occurred_at)
    )
    return [str(json.loads(row.body)["mode"]) for row in rows]


def notes(
    connection: Connection, run_id: str, attempt: int, what: str
) -> list[tuple[int, dict[str, object]]]:
    """Notes of one kind about an attempt, each with the moment of its recording, in that order."""
    table = tables.event
    rows = connection.execute(
        select(table.c.recorded_at, table.c.body)
        .where(
            (table.c.run_id == run_id) & (table.c.attempt == attempt) & (table.c.kind == EventKind.NOTE.value)
        )
        .order_by(table.c.recorded_at)
    )
    found = ((int(row.recorded_at), json.loads(row.body)) for row in rows)
    return [(at, body) for at, body in found if body.get("what") == what]


def planned_steps(connection: Connection, run_id: str) -> int | None:
    """How many steps the run is to take in all, where its script said so."""
    table = tables.event
    row = connection.execute(
        select(table.c.body)
        .where((table.c.run_id == run_id) & (table.c.kind == EventKind.PROGRESS.value))
        .order_by(table.c.occurred_at.desc(), table.c.seq.desc())
        .limit(1)
    ).one_or_none()
    steps = json.loads(row.body).get("steps") if row is not None else None
    return steps if isinstance(steps, int) else None
