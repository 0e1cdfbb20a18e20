"""PURE. Listed prices of rented instances as prices that a cost line can name."""

from __future__ import annotations

from collections.abc import Iterable

from headway.catalog.types import ListedPrice
from headway.costing.prices import Price

UNIT = "instance-hour"


def offering_key(region: str, instance: str, capacity: str) -> str:
    """The name under which an offering's price is kept."""
    return f"aws/{region}/{instance}/{capacity}"


def market_prices(listed: Iterable[ListedPrice], snapshot_sha: str) -> list[Price]:
    """Dated list prices with provenance; undated observations are left out: nobody may bill by them."""
    return [
        Price(
            snapshot_sha=snapshot_sha,
            offering_key=offering_key(row.region, row.instance, row.capacity),
            unit=UNIT,
            price_text=row.price_text,
            currency=row.currency,
            effective_from=row.effective_from,
            effective_to=row.effective_to,
            sku=row.source,
        )
        for row in listed
        if row.dated
    ]
