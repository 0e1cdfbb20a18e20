"""What a receipt and a list of priced runs need, read from the ledger."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, func, select

from headway.costing.lines import CostLine, Owner, charge
from headway.costing.waste import AttemptOutcome, classify
from headway.runs import bills, queries, tables
from headway.runs.account import Account, PricedRun, RunPage, Tariff
from headway.runs.pool_prices import tariff_at
from headway.runs.rows import ProgressRow, RunRow
from headway.runs.states import RunState
from headway.units import Money

_GOING_ON = AttemptOutcome(succeeded=True, executed_steps=None, retained_steps=None)


def account_of(connection: Connection, run_id: str, tariff: Tariff) -> Account:
    """Everything about one run; of a run that goes on, with what it has cost so far.

    Raises:
        NotFoundError: no run, or several, begin so.
    """
    run = queries.get_run(connection, run_id)
    pending = open_lines(connection, [run.id], tariff)
    lines = [*bills.lines_of(connection, run.id), *pending]
    prices = bills.prices_of(connection, {line.price_id for line in lines})
    prices |= {price.id: price for price in tariff.prices if pending}
    return Account(
        run=run,
        attempts=queries.attempts(connection, run.id),
        lines=lines,
        prices=prices,
        snapshots=bills.snapshots_of(connection, {price.snapshot_sha for price in prices.values()}),
        usage=bills.usage_totals(connection, run.id),
        metrics=queries.metrics(connection, run.id),
        retained=retained_progress(connection, run.id, run.state),
        lost=_lost(connection, run.id),
        settled=not pending and run.state.is_terminal,
    )


def open_lines(connection: Connection, run_ids: Sequence[str], tariff: Tariff) -> list[CostLine]:
    """Lines for usage that is not settled yet: what the present attempts have cost so far.

    Their time is split by the phases reported so far; what was trained counts as useful until it ends.
    """
    table, attempt = tables.allocation, tables.attempt
    rows = connection.execute(
        select(table)
        .join(attempt, (attempt.c.run_id == table.c.run_id) & (attempt.c.n == table.c.attempt))
        .where(table.c.run_id.in_(list(run_ids)) & attempt.c.ended.is_(None))
    ).all()
    lines: list[CostLine] = []
    for row in rows:
        usage = bills.usage_of(connection, row.id)
        owner = Owner(row.run_id, row.attempt, row.id, row.pool_id, "")
        end = max((part.stop for part in usage), default=row.start)
        phases = bills.phases_of(connection, row.run_id, row.attempt, end)
        waste = classify(phases, row.start, end, _GOING_ON)
        of_pool = tariff_at(connection, row.pool_id, row.start) or tariff
        lines.extend(charge(usage, of_pool.rates, of_pool.prices, owner, waste))
    return lines


def retained_progress(connection: Connection, run_id: str, state: RunState) -> ProgressRow | None:
    """What a run kept: its last progress when it succeeded or goes on, else that of its checkpoint."""
    rows = queries.progress(connection, run_id)
    if not rows:
        return None
    if state is RunState.SUCCEEDED or not state.is_terminal:
        return rows[-1]
    saved = queries.checkpoints(connection, run_id)
    if not saved:
        return None
    newest = max(saved, key=lambda checkpoint: checkpoint.step)
    return next((row for row in reversed(rows) if row.step == newest.step), None)


def _lost(connection: Connection, run_id: str) -> list[tuple[int, int, int]]:
    steps = bills.steps_of(connection, run_id)
    lost: list[tuple[int, int, int]] = []
    for number, attempt in enumerate(steps, start=1):
        later = [item.start for item in steps[number:] if item.last is not None]
        if attempt.last is not None and later and min(later) < attempt.last:
            lost.append((number, attempt.last, min(later)))
    return lost


def page_of_runs(
    connection: Connection, tariff: Tariff, *, team: str = "", state: str = "", limit: int, offset: int = 0
) -> RunPage:
    """One page of runs, newest first, each with its cost; only the page is read, never the whole ledger."""
    table = tables.run
    matching = select(table)
    if team:
        matching = matching.where(table.c.team_id == team)
    if state:
        matching = matching.where(table.c.state == state)
    newest = matching.order_by(table.c.created.desc(), table.c.id.desc()).limit(limit).offset(offset)
    runs = [queries.run_row(row) for row in connection.execute(newest)]
    total = connection.execute(select(func.count()).select_from(matching.subquery())).scalar_one()
    teams = connection.execute(select(table.c.team_id).distinct().order_by(table.c.team_id)).scalars()
    priced = _priced(connection, runs, tariff)
    return RunPage(tuple(priced), total, queries.count_runs(connection), tuple(filter(None, teams)))


def _priced(connection: Connection, runs: Sequence[RunRow], tariff: Tariff) -> list[PricedRun]:
    ids = [run.id for run in runs]
    sums = bills.totals_of(connection, ids)
    unsettled: set[str] = set()
    for line in open_lines(connection, ids, tariff):
        run_id = line.run_id or ""
        unsettled.add(run_id)
        of_run = sums.setdefault(run_id, {})
        of_run[line.currency] = of_run.get(line.currency, 0) + line.amount_nano
    return [
        PricedRun(
            run,
            tuple(Money.from_nano(nano, currency) for currency, nano in sorted(sums.get(run.id, {}).items())),
            settled=run.state.is_terminal and run.id not in unsettled,
        )
        for run in runs
    ]
