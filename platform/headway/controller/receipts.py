"""Gathering what a receipt and the live line need from the ledger."""

from __future__ import annotations

from sqlalchemy import Connection, select

from headway.catalog.types import HereFigures
from headway.costing.here import here_prices, here_rates
from headway.costing.lines import CostLine, Owner, charge
from headway.costing.waste import Waste
from headway.reports.live import Live
from headway.reports.receipt import GridFactor, Receipt, build_receipt
from headway.runs import bills, queries, tables
from headway.runs.rows import ProgressRow
from headway.runs.states import RunState
from headway.units import Money

_RATE_WINDOW = 20


def open_lines(connection: Connection, run_id: str, figures: HereFigures) -> list[CostLine]:
    """Lines for usage that is not settled yet: what the present attempt has cost so far."""
    table = tables.allocation
    rows = connection.execute(select(table).where((table.c.run_id == run_id) & table.c.stop.is_(None))).all()
    lines: list[CostLine] = []
    for row in rows:
        usage = bills.usage_of(connection, run_id, row.attempt)
        owner = Owner(run_id, row.attempt, row.id, row.pool_id, "")
        lines.extend(charge(usage, here_rates(figures), here_prices(figures), owner, {Waste.USEFUL: 1}))
    return lines


def receipt_of(connection: Connection, run_id: str, figures: HereFigures) -> Receipt:
    """A run's receipt; of a run that goes on, with what it has cost so far."""
    run = queries.get_run(connection, run_id)
    pending = open_lines(connection, run.id, figures)
    lines = [*bills.lines_of(connection, run.id), *pending]
    prices = bills.prices_of(connection, {line.price_id for line in lines})
    prices |= {price.id: price for price in here_prices(figures) if pending}
    shas = {price.snapshot_sha for price in prices.values()}
    return build_receipt(
        run=run,
        attempts=queries.attempts(connection, run.id),
        lines=lines,
        prices=prices,
        snapshots=bills.snapshots_of(connection, shas),
        usage=bills.usage_totals(connection, run.id),
        metrics=queries.metrics(connection, run.id),
        retained=retained_progress(connection, run.id, run.state),
        lost=_lost(connection, run.id),
        grid=GridFactor(
            figures.grams_co2e_per_kwh,
            figures.location,
            figures.carbon_source,
            figures.carbon_alternatives,
            figures.pue,
        ),
        settled=not pending and run.state.is_terminal,
    )


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


def live_of(connection: Connection, run_id: str, figures: HereFigures) -> Live:
    """What to show of a run right now."""
    run = queries.get_run(connection, run_id)
    attempts = queries.attempts(connection, run.id)
    rows = queries.progress(connection, run.id, attempts[-1].n)[-_RATE_WINDOW:] if attempts else []
    lines = [*bills.lines_of(connection, run.id), *open_lines(connection, run.id, figures)]
    currencies = {line.currency for line in lines}
    cost = None
    if len(currencies) == 1:
        cost = Money.from_nano(sum(line.amount_nano for line in lines), currencies.pop())
    last = rows[-1] if rows else None
    energy = bills.usage_totals(connection, run.id)
    joules = sum(value for (_n, metric, _method), value in energy.items() if metric.value == "energy") / 1e6
    seconds = (rows[-1].at - rows[0].at) / 1e6 if len(rows) > 1 else 0.0
    samples = (rows[-1].samples or 0) - (rows[0].samples or 0) if seconds else 0
    return Live(
        run=run,
        progress=last,
        steps=queries.planned_steps(connection, run.id),
        samples_per_second=samples / seconds if seconds and samples else None,
        steps_per_second=(rows[-1].step - rows[0].step) / seconds if seconds else None,
        joules_per_sample=joules / last.samples if last is not None and last.samples and joules else None,
        cost=cost,
    )
