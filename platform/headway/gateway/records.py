"""What the gateway reads from and writes to the ledger: submissions, stops, hiding, who may see what."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, select
from sqlalchemy.exc import IntegrityError

from headway.errors import ForbiddenError, NotFoundError, StateError
from headway.gateway.submissions import Submission
from headway.messages import find as find_text
from headway.runs import queries, tables
from headway.runs.events import Event, EventKind
from headway.runs.ids import RANDOM_BYTES, new_run_id
from headway.runs.rows import AttemptRow, RunRow
from headway.runs.states import RunState
from headway.runs.store import Ledger, Recorder, append_events
from headway.runs.tokens import Principal, Role

LISTED_RUNS = 1000
LAUNCHED = "launched"
_PLACES = tuple(
    select(tables.run.c.id, tables.run.c.team_id, tables.run.c.request_key).where(column == bindparam("key"))
    for column in (tables.run.c.request_key, tables.run.c.id)
)


@dataclass(frozen=True, slots=True)
class Seen:
    """A run and its attempts, as one caller may see them."""

    run: RunRow
    attempts: list[AttemptRow]

    @property
    def reason(self) -> str:
        """Why it waits or failed, in words."""
        reason = self.run.reason or ""
        return find_text(reason) or reason


class Records:
    """The gateway's own hand in the ledger; every method is one transaction."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.recorder = Recorder(ledger, f"gateway:{secrets.token_hex(6)}")

    def submit(self, submission: Submission) -> tuple[str, bool]:
        """Record a new run; gives its id, and whether it is new.

        Raises:
            StateError: another request has the same key.
        """
        run_id = new_run_id(submission.name, secrets.token_bytes(RANDOM_BYTES))
        body = {**submission.body, "request_key": submission.key}
        try:
            self.ledger.append([self.recorder.event(EventKind.SUBMITTED, body, run_id)])
        except IntegrityError:
            return self._again(submission), False
        return run_id, True

    def _again(self, submission: Submission) -> str:
        with self.ledger.read() as connection:
            run = queries.run_by_key(connection, submission.key or "")
        if run is None:
            raise StateError("gateway.key_gone", key=submission.key)
        resolved = run.spec.get("resolved")
        known = resolved.get("request_sha") if isinstance(resolved, dict) else None
        same_team = run.team_id == (submission.body.get("team") or "default")
        if known != submission.digest or not same_team:
            raise StateError("gateway.key_taken", key=submission.key)
        return run.id

    def seen(self, key: str, who: Principal) -> Seen:
        """A run by its submission id or its own.

        Raises:
            NotFoundError: there is none, or it was deleted.
            ForbiddenError: it is another team's.
        """
        with self.ledger.read() as connection:
            run = queries.run_by_key(connection, key)
            if run is None:
                raise NotFoundError("gateway.no_job", key=key)
            check_may_see(run, who)
            return Seen(run, queries.attempts(connection, run.id))

    def id_of(self, key: str, who: Principal) -> str:
        """The id of a run that the caller may see, for what needs no more of it: followers come back often.

        Raises:
            NotFoundError: there is none.
            ForbiddenError: it is another team's.
        """
        with self.ledger.read() as connection:
            for query in _PLACES:
                found = connection.execute(query, {"key": key}).first()
                if found is not None:
                    _check_team(found.id, found.team_id, found.request_key, who)
                    return str(found.id)
        raise NotFoundError("gateway.no_job", key=key)

    def listed(self, who: Principal, limit: int = LISTED_RUNS) -> list[Seen]:
        """The caller's runs that are not hidden, newest first."""
        with self.ledger.read() as connection:
            table = tables.run
            query = select(table).where(table.c.hidden.is_(None))
            if who.role is not Role.ADMIN:
                query = query.where(table.c.team_id == who.team)
            query = query.order_by(table.c.created.desc(), table.c.id.desc()).limit(limit)
            runs = [queries.run_row(row) for row in connection.execute(query)]
            attempts = _attempts_of(connection, [run.id for run in runs])
        return [Seen(run, attempts.get(run.id, [])) for run in runs]

    def stop(self, seen: Seen, mode: str) -> bool:
        """Ask a run to stop; says whether it was still going."""
        run = seen.run
        if run.state.is_terminal:
            return False
        number = seen.attempts[-1].n if seen.attempts else 1
        self.recorder.append(EventKind.STOP_REQUESTED, {"mode": mode}, run.id, number)
        return True

    def hide(self, seen: Seen) -> None:
        """Take an ended run out of the lists and free its key; its record and its cost stay.

        Raises:
            StateError: it has not ended.
        """
        run = seen.run
        if not run.state.is_terminal:
            raise StateError("gateway.delete_running", key=run.request_key, state=run.state.value)
        if run.hidden is None:
            self.recorder.append(EventKind.HIDDEN, {}, run.id)

    def take(self, events: Sequence[Event], usage: Sequence[dict[str, object]]) -> int:
        """Record what others saw, each once and all or nothing; says how much was new."""
        from headway.runs.projection import insert_new

        with self.ledger.write() as connection:
            new = append_events(connection, events)
            return new + sum(insert_new(connection, tables.usage, row) for row in usage)

    def launch(self, run_id: str, attempt: int, claim: str) -> AttemptRow:
        """Let one process, and no other, start an attempt; asked again by the same one it answers alike.

        Raises:
            NotFoundError: there is no such attempt.
            StateError: it has ended, or was started by another process.
        """
        with self.ledger.write() as connection:
            found = _open_attempt(connection, run_id, attempt)
            if found is None:
                raise StateError("kubernetes.not_open", run=run_id, attempt=attempt)
            launched = queries.notes(connection, run_id, attempt, LAUNCHED)
            if any(body.get("claim") != claim for _at, body in launched):
                raise StateError("kubernetes.launched_before", run=run_id, attempt=attempt)
            if not launched:
                body: dict[str, object] = {"what": LAUNCHED, "claim": claim}
                append_events(connection, [self.recorder.event(EventKind.NOTE, body, run_id, attempt)])
            return found

    def asked(self, run_id: str, attempt: int) -> dict[str, object]:
        """What an attempt is to do: whether it is still open, and in which mode it is to stop."""
        with self.ledger.read() as connection:
            is_open = _open_attempt(connection, run_id, attempt) is not None
            modes = queries.stop_requests(connection, run_id, attempt)
        stop = "now" if "now" in modes else (modes[-1] if modes else None)
        return {"open": is_open, "stop": stop}

    def counts(self) -> dict[str, int]:
        """How many runs there are in each state."""
        from sqlalchemy import func

        table = tables.run
        with self.ledger.read() as connection:
            query = select(table.c.state, func.count()).group_by(table.c.state)
            found = {str(row[0]): int(row[1]) for row in connection.execute(query)}
        return {state.value: found.get(state.value, 0) for state in RunState}


def _open_attempt(connection: Connection, run_id: str, attempt: int) -> AttemptRow | None:
    known = queries.attempts(connection, run_id)
    if not any(one.n == attempt for one in known):
        raise NotFoundError("gateway.no_attempt", run=run_id, attempt=attempt)
    last = known[-1]
    return last if last.n == attempt and last.ended is None else None


def check_may_see(run: RunRow, who: Principal) -> None:
    """Refuse another team's run.

    Raises:
        ForbiddenError: it is.
    """
    _check_team(run.id, run.team_id, run.request_key, who)


def _check_team(run_id: str, team: str, key: str, who: Principal) -> None:
    own = who.run_id == run_id if who.role is Role.RUN else who.team == team
    if who.role is not Role.ADMIN and not own:
        raise ForbiddenError("gateway.not_yours", key=key)


def _attempts_of(connection: Connection, run_ids: Sequence[str]) -> dict[str, list[AttemptRow]]:
    found: dict[str, list[AttemptRow]] = {}
    for start in range(0, len(run_ids), 500):
        for row in queries.attempts_of(connection, run_ids[start : start + 500]):
            found.setdefault(row.run_id, []).append(row)
    return found
