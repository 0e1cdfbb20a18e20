"""Cost lines and prices in the ledger: stored once, never changed, superseded when costed again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal

from sqlalchemy import Connection, Table, func, select

from headway.catalog.types import Snapshot
from headway.costing.lines import CostLine
from headway.costing.prices import Price
from headway.costing.usage import Metric, PhaseSpan, Usage
from headway.costing.waste import AttemptSteps, Waste
from headway.runs import tables
from headway.runs.events import EventKind
from headway.runs.projection import insert_new
from headway.runs.states import RunState


def add_prices(connection: Connection, snapshot: Snapshot, prices: Iterable[Price]) -> None:
    """Keep the prices that lines will name; those that are there stay as they are."""
    insert_new(
        connection,
        tables.price_snapshot,
        {
            "sha256": snapshot.sha256,
            "source": snapshot.source,
            "licence": snapshot.licence,
            "fetched_at": snapshot.fetched_at,
        },
    )
    for price in prices:
        insert_new(
            connection,
            tables.price,
            {
                "id": price.id,
                **{name: getattr(price, name) for name in price.__slots__},
            },
        )


def add_lines(connection: Connection, lines: Iterable[CostLine]) -> None:
    """Record cost lines, each once."""
    for line in lines:
        row = {name: getattr(line, name) for name in line.__slots__}
        insert_new(connection, tables.cost_line, {"id": line.id, **row, "waste": line.waste.value})


def lines_of(connection: Connection, run_id: str) -> list[CostLine]:
    """The cost lines of a run that are in force: those that no other supersedes."""
    table = tables.cost_line
    superseded = select(table.c.supersedes_id).where(table.c.supersedes_id.is_not(None))
    rows = connection.execute(
        select(table)
        .where((table.c.run_id == run_id) & table.c.id.not_in(superseded))
        .order_by(table.c.attempt, table.c.category, table.c.waste)
    )
    return [
        CostLine(
            **{name: getattr(row, name) for name in CostLine.__slots__ if name != "waste"},
            waste=Waste(row.waste),
        )
        for row in rows
    ]


def changed_lines(connection: Connection, run_id: str) -> tuple[int, list[str]]:
    """How many lines of a run are stored, and the ids of those that no longer say what they were hashed as.

    Superseded lines count too: none of them may change.
    """
    table = tables.cost_line
    rows = connection.execute(select(table).where(table.c.run_id == run_id)).all()
    names = [name for name in CostLine.__slots__ if name != "waste"]
    changed: list[str] = []
    for row in rows:
        known = row.waste in set(Waste)
        values = {name: getattr(row, name) for name in names}
        if not known or CostLine(**values, waste=Waste(row.waste)).id != row.id:
            changed.append(row.id)
    return len(rows), changed


def totals_of(connection: Connection, run_ids: list[str]) -> dict[str, dict[str, int]]:
    """What each of many runs has been charged so far, in nano-units by currency."""
    table = tables.cost_line
    superseded = select(table.c.supersedes_id).where(table.c.supersedes_id.is_not(None))
    rows = connection.execute(
        select(table.c.run_id, table.c.currency, func.sum(table.c.amount_nano))
        .where(table.c.run_id.in_(run_ids) & table.c.id.not_in(superseded))
        .group_by(table.c.run_id, table.c.currency)
    )
    totals: dict[str, dict[str, int]] = {}
    for run_id, currency, nano in rows:
        totals.setdefault(run_id, {})[currency] = int(nano)
    return totals


def prices_of(connection: Connection, price_ids: Iterable[str]) -> dict[str, Price]:
    """Stored prices under the ids they are stored with."""
    table = tables.price
    rows = connection.execute(select(table).where(table.c.id.in_(list(price_ids))))
    return {row.id: Price(**{name: getattr(row, name) for name in Price.__slots__}) for row in rows}


def snapshots_of(connection: Connection, shas: Iterable[str]) -> dict[str, Mapping[str, object]]:
    """What is known of price snapshots, by hash."""
    table = tables.price_snapshot
    rows = connection.execute(select(table).where(table.c.sha256.in_(list(shas))))
    return {
        row.sha256: {"source": row.source, "licence": row.licence, "fetched_at": row.fetched_at}
        for row in rows
    }


def usage_of(connection: Connection, allocation_id: str) -> list[Usage]:
    """The metered usage of one allocation."""
    table = tables.usage
    rows = connection.execute(
        select(table).where(table.c.allocation_id == allocation_id).order_by(table.c.start, table.c.metric)
    )
    return [
        Usage(
            row.allocation_id,
            row.start,
            row.stop,
            Metric(row.metric),
            row.quantity_int,
            row.method,
            row.quality,
        )
        for row in rows
    ]


def usage_totals(connection: Connection, run_id: str) -> dict[tuple[int, Metric, str], int]:
    """Sums of a run's usage by attempt, metric and method: cheap enough to ask for every second."""
    usage, allocation = tables.usage, tables.allocation
    rows = connection.execute(
        select(allocation.c.attempt, usage.c.metric, usage.c.method, func.sum(usage.c.quantity_int))
        .join(allocation, allocation.c.id == usage.c.allocation_id)
        .where(allocation.c.run_id == run_id)
        .group_by(allocation.c.attempt, usage.c.metric, usage.c.method)
    )
    return {(row[0], Metric(row[1]), row[2]): int(Decimal(row[3])) for row in rows}


def phases_of(connection: Connection, run_id: str, attempt: int, end: int) -> list[PhaseSpan]:
    """An attempt's phases in time order; one that is still open ends at `end`."""
    table = tables.phase
    rows = connection.execute(
        select(table).where((table.c.run_id == run_id) & (table.c.attempt == attempt)).order_by(table.c.start)
    )
    return [PhaseSpan(row.kind, row.start, row.stop if row.stop is not None else end) for row in rows]


def steps_of(connection: Connection, run_id: str) -> list[AttemptSteps]:
    """Where each attempt of a run began, how far it came, and its last checkpoint."""
    attempt, progress, checkpoint, event = tables.attempt, tables.progress, tables.checkpoint, tables.event
    starts: dict[int, int] = {}
    notes = connection.execute(
        select(event.c.attempt, event.c.body)
        .where((event.c.run_id == run_id) & (event.c.kind == EventKind.NOTE.value))
        .order_by(event.c.occurred_at)
    )
    for row in notes:
        body = json.loads(row.body)
        if body.get("what") == "restored":
            starts[row.attempt] = int(body["step"])

    def highest(table: Table) -> dict[int, int]:
        rows = connection.execute(
            select(table.c.attempt, func.max(table.c.step).label("step"))
            .where(table.c.run_id == run_id)
            .group_by(table.c.attempt)
        )
        return {row.attempt: row.step for row in rows}

    last, saved = highest(progress), highest(checkpoint)
    rows = connection.execute(
        select(attempt.c.n, attempt.c.state).where(attempt.c.run_id == run_id).order_by(attempt.c.n)
    )
    return [
        AttemptSteps(
            start=starts.get(row.n, 0),
            last=last.get(row.n),
            checkpoint=saved.get(row.n),
            succeeded=row.state == RunState.SUCCEEDED.value,
        )
        for row in rows
    ]
