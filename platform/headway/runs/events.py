"""PURE. Events: the append-only truth from which runs and attempts are projected."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum


class EventKind(StrEnum):
    """What happened."""

    SUBMITTED = "run.submitted"
    RUN_STATE = "run.state"
    STOP_REQUESTED = "run.stop-requested"
    HIDDEN = "run.hidden"
    ATTEMPT_OPENED = "attempt.opened"
    ATTEMPT_STATE = "attempt.state"
    ALLOCATION_OPENED = "allocation.opened"
    ALLOCATION_CLOSED = "allocation.closed"
    WORLD = "world"
    PHASE = "phase"
    PROGRESS = "progress"
    CHECKPOINT = "checkpoint"
    METRIC = "metric"
    LOG = "log"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened, as one source saw it.

    `(source, epoch, seq)` is its identity: `epoch` grows at each restart of the source, `seq` within it;
    recording the same event twice changes nothing. `occurred_at` is in UTC microseconds.
    """

    source: str
    epoch: int
    seq: int
    kind: EventKind
    occurred_at: int
    run_id: str | None = None
    attempt: int | None = None
    body: dict[str, object] = field(default_factory=dict[str, object])


def canonical_json(value: object) -> str:
    """JSON with sorted keys and no spaces: equal values give equal text, hence equal hashes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
