"""What a node-hour of a pool has cost and when: kept as runs begin on it, and asked for again when they end.

A price holds from the moment it was first seen in force until another one was; each allocation is priced
by what its pool cost when it began.
"""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection, select

from headway.catalog.types import Snapshot
from headway.costing.lines import node_rate
from headway.costing.prices import Price
from headway.runs import bills, tables
from headway.runs.account import Tariff

UNIT = "node-hour"


def keep_price(connection: Connection, snapshot: Snapshot, price: Price) -> Price:
    """Keep what a pool costs from `price.effective_from` on; one that says the same as before is that one."""
    before = _latest(connection, price.offering_key, price.effective_from)
    if before is not None and replace(price, effective_from=before.effective_from) == before:
        return before
    bills.add_prices(connection, snapshot, [price])
    return price


def tariff_at(connection: Connection, pool_id: str, at: int) -> Tariff | None:
    """How node-hours of a pool were priced at a time; None of a pool that no run was ever priced on."""
    price = _latest(connection, pool_id, at)
    return None if price is None else Tariff((node_rate(pool_id),), (price,))


def _latest(connection: Connection, pool_id: str, at: int) -> Price | None:
    table = tables.price
    row = connection.execute(
        select(table)
        .where((table.c.offering_key == pool_id) & (table.c.unit == UNIT) & (table.c.effective_from <= at))
        .order_by(table.c.effective_from.desc(), table.c.id)
        .limit(1)
    ).one_or_none()
    return None if row is None else Price(**{name: getattr(row, name) for name in Price.__slots__})
