"""Settling: an ended attempt's usage becomes cost lines.

Earlier attempts are costed again when what the run kept of them has changed, by lines that supersede the
old ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, select

from headway.catalog.types import HereFigures, Snapshot
from headway.costing.here import here_prices, here_rates
from headway.costing.lines import CostLine, Owner, charge, resplit
from headway.costing.waste import AttemptOutcome, classify, outcomes
from headway.runs import bills, tables
from headway.runs.account import Tariff
from headway.runs.pool_prices import tariff_at
from headway.settings import Settings

_NOTHING = (0, "0")  # amount and quantity of a line that only takes another's place


def keep_snapshot(settings: Settings, snapshot: Snapshot) -> None:
    """Keep the bytes that the prices were read from, so that they can be hashed again later."""
    folder = settings.home / "snapshots"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{snapshot.sha256}.toml"
    if not path.exists():
        draft = path.with_suffix(".draft")
        draft.write_bytes(snapshot.body)
        draft.rename(path)


def tariff_of(figures: HereFigures) -> Tariff:
    """How usage of this machine is priced."""
    return Tariff(tuple(here_rates(figures)), tuple(here_prices(figures)))


def settle_run(connection: Connection, run_id: str, figures: HereFigures) -> list[CostLine]:
    """Cost every ended attempt of a run, in the caller's transaction; gives the lines that are new.

    Attempts whose lines stand as they are get none: settling twice changes nothing. An attempt that has
    been costed keeps its charges; only their split into waste classes may change.
    """
    bills.add_prices(connection, figures.snapshot, here_prices(figures))
    kept = outcomes(bills.steps_of(connection, run_id))
    table, attempt = tables.allocation, tables.attempt
    rows = connection.execute(
        select(table)
        .join(attempt, (attempt.c.run_id == table.c.run_id) & (attempt.c.n == table.c.attempt))
        .where((table.c.run_id == run_id) & table.c.stop.is_not(None) & attempt.c.ended.is_not(None))
        .order_by(table.c.attempt, table.c.start, table.c.id)
    ).all()
    team = connection.execute(select(tables.run.c.team_id).where(tables.run.c.id == run_id)).scalar_one()
    standing = bills.lines_of(connection, run_id)
    new: list[CostLine] = []
    for row in rows:
        owner = Owner(run_id, row.attempt, row.id, row.pool_id, team)
        old = [line for line in standing if line.allocation_id == row.id]
        wanted = _cost(connection, owner, row.start, row.stop, kept[row.attempt - 1], figures, old)
        new.extend(_superseding(old, wanted))
    bills.add_lines(connection, new)
    return new


def _cost(
    connection: Connection,
    owner: Owner,
    start: int,
    stop: int,
    outcome: AttemptOutcome,
    figures: HereFigures,
    old: Sequence[CostLine],
) -> list[CostLine]:
    phases = bills.phases_of(connection, owner.run_id, owner.attempt, stop)
    waste = classify(phases, start, stop, outcome)
    if old:
        return resplit(old, waste)
    usage = bills.usage_of(connection, owner.allocation_id)
    tariff = tariff_at(connection, owner.pool_id, start) or tariff_of(figures)
    return charge(usage, tariff.rates, tariff.prices, owner, waste)


def _superseding(old: Sequence[CostLine], wanted: Sequence[CostLine]) -> list[CostLine]:
    """What to add so that `wanted` stands instead of `old`; nothing where both say the same."""

    def key(line: CostLine) -> tuple[str, str, str, str]:
        return (line.category, line.price_id, line.method, line.waste.value)

    def says(lines: Sequence[CostLine]) -> dict[tuple[str, str, str, str], tuple[int, str]]:
        pairs = {key(line): (line.amount_nano, line.quantity_text) for line in lines}
        return {name: pair for name, pair in pairs.items() if pair != _NOTHING}

    before = {key(line): line for line in old}
    after = {key(line): line for line in wanted}
    if says(old) == says(wanted):
        return []
    lines = [
        replace(line, supersedes_id=before[name].id if name in before else None)
        for name, line in after.items()
    ]
    lines.extend(
        replace(line, supersedes_id=line.id, amount_nano=_NOTHING[0], quantity_text=_NOTHING[1])
        for name, line in before.items()
        if name not in after and (line.amount_nano, line.quantity_text) != _NOTHING
    )
    return lines
