"""PURE. From the workers' spool to the ledger: each line once, in order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headway.runs.events import Event, EventKind

_RECORDED = {
    "progress": EventKind.PROGRESS,
    "phase": EventKind.PHASE,
    "checkpoint": EventKind.CHECKPOINT,
    "metric": EventKind.METRIC,
    "restored": EventKind.NOTE,
    "finished": EventKind.NOTE,
    "stopped": EventKind.NOTE,
    "failure": EventKind.NOTE,
}


def to_event(run_id: str, attempt: int, mark: str, name: str, line: dict[str, Any]) -> Event | None:
    """The ledger's event for a spool line, or None for lines that only the supervisor cares about."""
    kind = str(line["kind"])
    body: dict[str, object] = dict(line["body"])
    if kind == "hello" and body.get("rank") == 0:
        return Event(
            f"{mark}:{name}",
            int(line["epoch"]),
            int(line["seq"]),
            EventKind.WORLD,
            int(line["at"]),
            run_id,
            attempt,
            {"workers": body["world_size"]},
        )
    recorded = _RECORDED.get(kind)
    if recorded is None:
        return None
    if recorded is EventKind.NOTE:
        body = {"what": kind, **body}
    return Event(
        f"{mark}:{name}",
        int(line["epoch"]),
        int(line["seq"]),
        recorded,
        int(line["at"]),
        run_id,
        attempt,
        body,
    )


def to_events(
    run_id: str, attempt: int, mark: str, lines: Iterable[tuple[str, dict[str, Any]]]
) -> list[Event]:
    """The ledger's events for spool lines, in time order over all writers."""
    found = [to_event(run_id, attempt, mark, name, line) for name, line in lines]
    return sorted((event for event in found if event is not None), key=lambda event: event.occurred_at)
