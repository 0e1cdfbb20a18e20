"""What the controller reads of cluster runs in the ledger, as the decision wants it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from headway.backends.outcome import Outcome
from headway.controller.cluster_decision import Recorded
from headway.controller.dispatch import is_dispatched
from headway.runs import queries, tables
from headway.runs.events import EventKind
from headway.runs.ids import backend_name
from headway.runs.rows import AttemptRow, RunRow
from headway.runs.states import TERMINAL, FailureClass, RunState, retry_rule

HEAD, ENDING, OVER_BUDGET, LAUNCHED, OUTCOME = "head", "ending", "over-budget", "launched", "outcome"
OPEN_STATES = tuple(state for state in RunState if state not in TERMINAL)


@dataclass(frozen=True, slots=True)
class Ending:
    """How an attempt is going to end once its machines are given back, and since when that is decided."""

    since: int
    outcome: Outcome
    keep_job: bool


def open_runs(connection: Connection) -> list[RunRow]:
    """The runs that the controller has to bring to their end, the first submitted first."""
    found = [run for run in queries.list_runs(connection, states=OPEN_STATES) if is_dispatched(run)]
    return found[::-1]


def recorded(connection: Connection, attempt: AttemptRow) -> Recorded:
    """All that is known of an open attempt."""
    run_id, number = attempt.run_id, attempt.n
    launched = queries.notes(connection, run_id, number, LAUNCHED)
    heads = queries.notes(connection, run_id, number, HEAD)
    said = queries.notes(connection, run_id, number, OUTCOME)
    stops = _stops(connection, run_id, number)
    return Recorded(
        mark=backend_name(run_id, number),
        state=attempt.state,
        created=attempt.backend_uid is not None,
        admitted_at=_admitted_at(connection, run_id, number),
        launched_at=launched[0][0] if launched else None,
        head_uid=str(heads[-1][1]["uid"]) if heads else None,
        outcome=outcome_from(said[-1][1]) if said else None,
        outcome_at=said[-1][0] if said else None,
        stop="now" if any(mode == "now" for _at, mode in stops) else (stops[-1][1] if stops else None),
        stop_at=max((at for at, mode in stops if mode == "now"), default=stops[0][0] if stops else None),
        over_budget=bool(queries.notes(connection, run_id, number, OVER_BUDGET)),
    )


def ending_of(connection: Connection, attempt: AttemptRow) -> Ending | None:
    """How an attempt is to end, where that is decided."""
    found = queries.notes(connection, attempt.run_id, attempt.n, ENDING)
    if not found:
        return None
    at, body = found[-1]
    return Ending(at, outcome_from(body), bool(body.get("keep_job")))


def outcome_body(outcome: Outcome) -> dict[str, object]:
    """An outcome as notes and states hold it."""
    return {
        "state": outcome.state.value,
        "failure_class": outcome.failure.value if outcome.failure else None,
        "reason": outcome.reason,
        "exit_code": outcome.exit_code,
    }


def outcome_from(body: dict[str, object]) -> Outcome:
    """The outcome that a note holds."""
    failure, reason, code = body.get("failure_class"), body.get("reason"), body.get("exit_code")
    return Outcome(
        RunState(str(body["state"])),
        FailureClass(str(failure)) if failure else None,
        None if reason is None else str(reason),
        code if isinstance(code, int) else None,
    )


def stop_asked_since(connection: Connection, run_id: str, since: int) -> bool:
    """Whether a run that has no open attempt was asked to stop after a moment."""
    table = tables.event
    last = connection.execute(
        select(func.max(table.c.occurred_at)).where(
            (table.c.run_id == run_id) & (table.c.kind == EventKind.STOP_REQUESTED.value)
        )
    ).scalar()
    return last is not None and int(last) > since


def retry_wait(connection: Connection, run: RunRow, failure: FailureClass) -> float | None:
    """Seconds until the next attempt after a failure that is recorded; None where there is none.

    A retry goes on with something: a checkpoint, or a script that can save one, or nothing was done yet.
    Else it would pay for all of it again, and only a job file that states a budget for the class wants that.
    Whom its queue makes room for others, waits there again, as for every job of that queue.
    """
    resolved = run.spec["resolved"]
    assert isinstance(resolved, dict)
    budgets = {str(name): int(count) for name, count in resolved["retries"].items()}
    world = tables.world
    attempts = queries.attempts(connection, run.id)
    saves = (
        bool(queries.checkpoints(connection, run.id))
        or connection.execute(select(func.count()).where(world.c.run_id == run.id)).scalar_one() > 0
        or not queries.notes(connection, run.id, attempts[-1].n, LAUNCHED)
        or failure is FailureClass.PREEMPTION
    )
    earlier = sum(one.failure_class == failure.value for one in attempts) - 1
    rule = retry_rule(failure, budgets)
    if earlier >= rule.budget or not (saves or failure.value in budgets):
        return None
    return rule.wait_seconds(earlier)


def _stops(connection: Connection, run_id: str, attempt: int) -> list[tuple[int, str]]:
    table = tables.event
    rows = connection.execute(
        select(table.c.occurred_at, table.c.body)
        .where(
            (table.c.run_id == run_id)
            & (table.c.attempt == attempt)
            & (table.c.kind == EventKind.STOP_REQUESTED.value)
        )
        .order_by(table.c.occurred_at)
    )
    return [(int(row.occurred_at), str(json.loads(row.body)["mode"])) for row in rows]


def _admitted_at(connection: Connection, run_id: str, attempt: int) -> int | None:
    table = tables.event
    rows = connection.execute(
        select(table.c.occurred_at, table.c.body)
        .where(
            (table.c.run_id == run_id)
            & (table.c.attempt == attempt)
            & (table.c.kind == EventKind.ATTEMPT_STATE.value)
        )
        .order_by(table.c.recorded_at)
    )
    return next(
        (int(row.occurred_at) for row in rows if json.loads(row.body)["to"] == RunState.ADMITTED.value), None
    )
