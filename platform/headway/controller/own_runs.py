"""The efficiency that this installation's own finished runs reached, by what the ledger has of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sqlalchemy import Connection

from headway.catalog.tables import accelerators
from headway.controller.workload import work_of
from headway.errors import HeadwayError
from headway.runs import queries
from headway.runs.rows import ProgressRow, RunRow
from headway.runs.states import RunState
from headway.runs.store import Ledger
from headway.settings import Settings
from headway.spec.job import JobSpec

LATEST = 30
LEAST_STEPS = 5
_CPU_KEY = "cpu-core-generic"


def own_shares(settings: Settings) -> list[float]:
    """Shares of this machine's peak that its own runs reached, newest first; none without a ledger.

    Runs that are too short to say anything, or whose model is not known, are left out.
    """
    if not settings.ledger_path.is_file():
        return []
    ledger = Ledger.at(settings.ledger_path)
    try:
        with ledger.read() as connection:
            runs = queries.list_runs(connection, states=(RunState.SUCCEEDED,), limit=LATEST)
            found = [share for run in runs if (share := _share(connection, run)) is not None]
    finally:
        ledger.close()
    return found


def _share(connection: Connection, run: RunRow) -> float | None:
    job = cast("dict[str, dict[str, object]]", run.spec.get("job", {}))
    if "model" not in job.get("workload", {}):
        return None
    try:
        spec = JobSpec.model_validate(job)
        profile = work_of(spec).profile
    except (HeadwayError, ValueError):  # a job file of an older version, or a factory of the user's
        return None
    attempts = queries.attempts(connection, run.id)
    rows = queries.progress(connection, run.id, attempts[-1].n) if attempts else []
    rate = _tokens_per_second(rows)
    cores = (spec.needs.workers or 1) * spec.needs.cpus_per_worker
    peak = accelerators()[_CPU_KEY].peak_flops["fp32"]
    return None if rate is None else min(1.0, rate * profile.flops_per_token / (peak * cores))


def _tokens_per_second(rows: Sequence[ProgressRow]) -> float | None:
    """Over the last attempt's steps, its first left out: it has compilation and warm-up in it."""
    if len(rows) < 2 or rows[-1].step - rows[0].step < LEAST_STEPS:
        return None
    first, last = rows[0], rows[-1]
    seconds = (last.at - first.at) / 1e6
    if first.tokens is None or last.tokens is None or seconds <= 0 or last.tokens <= first.tokens:
        return None
    return (last.tokens - first.tokens) / seconds
