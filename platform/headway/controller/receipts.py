"""Gathering what a receipt and the live line need from the ledger."""

from __future__ import annotations

from decimal import Decimal

from sqlalchemy import Connection

from headway.catalog.tables import embodied_per_vcpu_hour
from headway.catalog.types import HereFigures
from headway.controller.settle import tariff_of
from headway.costing.lines import CostLine
from headway.reports.live import Live
from headway.reports.receipt import GridFactor, Receipt, receipt_from
from headway.runs import bills, queries, receipts
from headway.runs.receipts import retained_progress
from headway.runs.rows import ProgressRow
from headway.runs.states import RunState
from headway.units import Money

__all__ = ["grid_of", "live_of", "open_lines", "receipt_of", "retained_progress", "tariff_of"]

_RATE_WINDOW = 20
LIKE_SERVER = "m6i.metal"  # a server of 128 logical cores, as here.toml assumes


def grid_of(figures: HereFigures) -> GridFactor:
    """What a kWh here emits, and who says so."""
    return GridFactor(
        figures.grams_co2e_per_kwh,
        figures.location,
        figures.carbon_source,
        figures.carbon_alternatives,
        figures.pue,
        *_making(figures),
    )


def _making(figures: HereFigures) -> tuple[Decimal | None, str]:
    """Grams of making the machine by core-hour: of the instance that this is, else of a like server, assumed.

    A rented host's hours are taken as all used; one's own by the stated utilisation.
    """
    known = embodied_per_vcpu_hour()
    instance = figures.server_source.split(" ", 1)[0]
    if instance in known:
        return known[instance]
    grams, source = known[LIKE_SERVER]
    return grams / figures.utilisation, f"assumed as of {source}, used {figures.utilisation:.0%} of the time"


def open_lines(connection: Connection, run_id: str, figures: HereFigures) -> list[CostLine]:
    """Lines for usage that is not settled yet: what the present attempt has cost so far."""
    return receipts.open_lines(connection, [run_id], tariff_of(figures))


def receipt_of(connection: Connection, run_id: str, figures: HereFigures) -> Receipt:
    """A run's receipt; of a run that goes on, with what it has cost so far."""
    return receipt_from(receipts.account_of(connection, run_id, tariff_of(figures)), grid_of(figures))


def live_of(connection: Connection, run_id: str, figures: HereFigures) -> Live:
    """What to show of a run right now."""
    run = queries.get_run(connection, run_id)
    attempts = queries.attempts(connection, run.id)
    rows: list[ProgressRow] = []
    if attempts and (run.state is RunState.RUNNING or run.state.is_terminal):
        rows = queries.progress(connection, run.id, attempts[-1].n)[-_RATE_WINDOW:]
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
