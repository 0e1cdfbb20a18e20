"""Telling an address of the user's that a run has ended: once, tried again until it is taken."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable

from sqlalchemy import select

from headway.messages import find as find_text
from headway.runs import queries, tables
from headway.runs.events import EventKind
from headway.runs.rows import RunRow
from headway.runs.states import TERMINAL
from headway.runs.store import Ledger, Recorder, now_microseconds

TIMEOUT_SECONDS = 5.0
TRIES = 8
RECENT_MICROSECONDS = 24 * 3600 * 1_000_000
_NOTE = "webhook"

Send = Callable[[str, dict[str, object]], str | None]


def post(url: str, body: dict[str, object]) -> str | None:
    """Post JSON; None when it was taken, else what went wrong."""
    data = json.dumps(body).encode()
    headers = {"Content-Type": "application/json", "User-Agent": "headway"}
    if not url.startswith(("http://", "https://")):
        return "not an http address"
    request = urllib.request.Request(url, data, headers)  # noqa: S310 - the scheme was checked
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS):  # noqa: S310 - the scheme was checked
            return None
    except (urllib.error.URLError, OSError, ValueError) as error:
        return str(error)


class Webhook:
    """A step of the controller: ended runs that nobody was told of yet."""

    def __init__(self, url: str, ledger: Ledger, recorder: Recorder, send: Send = post) -> None:
        self._url, self._ledger, self._recorder, self._send = url, ledger, recorder, send
        self._tries: dict[str, tuple[int, int]] = {}

    def step(self) -> int:
        """Tell what is to be told now; says how many were taken."""
        if not self._url:
            return 0
        taken = 0
        for run in self._untold():
            count, not_before = self._tries.get(run.id, (0, 0))
            if now_microseconds() < not_before:
                continue
            problem = self._send(self._url, told(run))
            if problem is None or count + 1 >= TRIES:
                note: dict[str, object] = {"what": _NOTE, "ended": run.ended, "problem": problem}
                self._recorder.append(EventKind.NOTE, note, run.id)
                self._tries.pop(run.id, None)
                taken += problem is None
            else:
                self._tries[run.id] = (count + 1, now_microseconds() + 1_000_000 * 2**count)
        return taken

    def _untold(self) -> list[RunRow]:
        run, event = tables.run, tables.event
        since = now_microseconds() - RECENT_MICROSECONDS
        with self._ledger.read() as connection:
            ended = [
                queries.run_row(row)
                for row in connection.execute(
                    select(run)
                    .where((run.c.ended > since) & run.c.state.in_([state.value for state in TERMINAL]))
                    .order_by(run.c.ended)
                )
            ]
            notes = connection.execute(
                select(event.c.run_id, event.c.body).where(
                    (event.c.kind == EventKind.NOTE.value) & (event.c.recorded_at > since)
                )
            )
            found = ((row.run_id, json.loads(row.body)) for row in notes)
            done = {(run_id, body["ended"]) for run_id, body in found if body.get("what") == _NOTE}
        return [one for one in ended if (one.id, one.ended) not in done]


def told(run: RunRow) -> dict[str, object]:
    """What the address hears."""
    return {
        "run": run.id,
        "name": run.name,
        "team": run.team_id,
        "state": run.state.value,
        "failure_class": run.failure_class,
        "reason": find_text(run.reason or "") or run.reason,
        "ended_us": run.ended,
    }
