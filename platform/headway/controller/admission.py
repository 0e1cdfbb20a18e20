"""Admission on this machine: a run waits until the cores it asks for are free, first come first served."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from headway.catalog.types import SITE_ID, HereFigures
from headway.controller.cores import machine_cores
from headway.runs import tables
from headway.runs.events import Event, EventKind
from headway.runs.states import RunState
from headway.runs.store import Recorder, append_events

POOL_ID = f"{SITE_ID}/cores"


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a run is not admitted yet: a message id and its values."""

    message: str
    values: Mapping[str, object]


def admit(
    connection: Connection,
    recorder: Recorder,
    run_id: str,
    attempt: int,
    cores: int,
    figures: HereFigures,
    now: int,
) -> str | Waiting:
    """Admit the attempt if its cores are free and nobody came before it; gives the allocation's id.

    Must run inside a write transaction: that is what keeps two runs from taking the same cores.
    """
    run, allocation = tables.run, tables.allocation
    total = machine_cores(figures)
    held = connection.execute(
        select(allocation.c.run_id, allocation.c.share_num).where(
            (allocation.c.pool_id == POOL_ID) & allocation.c.stop.is_(None)
        )
    ).all()
    created = connection.execute(select(run.c.created).where(run.c.id == run_id)).scalar_one()
    state = connection.execute(select(run.c.state).where(run.c.id == run_id)).scalar_one()
    ahead = connection.execute(
        select(func.count())
        .select_from(run)
        .where((run.c.state == RunState.QUEUED.value) & (run.c.created < created) & (run.c.id != run_id))
    ).scalar_one()
    used = sum(row.share_num for row in held)
    if used + cores > total:
        holders = ", ".join(sorted({str(row.run_id) for row in held})) or "-"
        values = {"needed": cores, "free": total - used, "holders": holders, "ahead": ahead}
        return Waiting("queue.cores_held", values)
    if ahead and state == RunState.QUEUED.value:
        return Waiting("queue.behind", {"ahead": ahead})
    allocation_id = f"alloc-{uuid.uuid4().hex}"
    body: dict[str, object] = {
        "id": allocation_id,
        "site": {"id": SITE_ID, "kind": "owned", "region": None, "location": figures.location},
        "pool": {
            "id": POOL_ID,
            "instance": f"{total} cores",
            "capacity": "owned",
            "currency": figures.currency,
        },
        "node": socket.gethostname(),
        "share_num": cores,
        "share_den": total,
    }

    def event(kind: EventKind, values: dict[str, object]) -> Event:
        return recorder.event(kind, values, run_id, attempt, now)

    events = [
        event(EventKind.ALLOCATION_OPENED, body),
        event(EventKind.ATTEMPT_STATE, {"to": RunState.ADMITTED.value}),
    ]
    if state == RunState.QUEUED.value:
        events.append(event(EventKind.RUN_STATE, {"to": RunState.ADMITTED.value}))
    append_events(connection, events)
    return allocation_id
