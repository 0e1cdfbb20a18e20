"""PURE. Listed prices of rented instances as prices that a cost line can name."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from headway.catalog.types import ListedPrice, ServicePrice
from headway.costing.prices import Price
from headway.costing.tiers import Tier
from headway.errors import DataError

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


def service_tiers(rows: Iterable[ServicePrice], service: str, item: str, region: str) -> list[Tier]:
    """The tiers of a service's price in a region; one without tiers is a single one.

    Raises:
        DataError: no price is known there; none is borrowed from another region.
    """
    found = [row for row in rows if (row.service, row.item, row.region) == (service, item, region)]
    if not found:
        raise DataError("costing.no_service_price", service=service, item=item, region=region)
    return [
        Tier(row.tier_from or Decimal(0), row.tier_to, row.price)
        for row in sorted(found, key=lambda row: row.tier_from or Decimal(0))
    ]
