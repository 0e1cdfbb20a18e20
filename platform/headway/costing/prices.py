"""PURE. Prices with their provenance, and which one is in force at a time.

Times are UTC microseconds. A price's id is the hash of everything it states, so a stored line can prove
that its price was not changed afterwards.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from headway.errors import DataError


@dataclass(frozen=True, slots=True)
class Price:
    """One price per unit of one offering over a time; `effective_to` None means still in force.

    `price_text` is decimal text, exactly as its source gave it. `offering_key` names what is priced
    (`here/core`), `unit` per what (`core-hour`), `sku` how the source names or derives it.
    """

    snapshot_sha: str
    offering_key: str
    unit: str
    price_text: str
    currency: str
    effective_from: int
    effective_to: int | None
    sku: str

    @property
    def id(self) -> str:
        """SHA-256 of the row."""
        fields = (
            self.snapshot_sha,
            self.offering_key,
            self.unit,
            self.price_text,
            self.currency,
            str(self.effective_from),
            "" if self.effective_to is None else str(self.effective_to),
            self.sku,
        )
        return hashlib.sha256("\x1f".join(fields).encode()).hexdigest()

    @property
    def amount(self) -> Decimal:
        """The price as a number."""
        return Decimal(self.price_text)

    def holds_at(self, at: int) -> bool:
        """Whether this price is in force at a time (start included, end excluded)."""
        return self.effective_from <= at and (self.effective_to is None or at < self.effective_to)


def price_in_force(prices: Iterable[Price], offering_key: str, unit: str, at: int) -> Price:
    """The one price of an offering at a time.

    Raises:
        DataError: no price is known for that time (it is never borrowed from another offering or time),
            or two contradict each other.
    """
    found = {
        price.id: price
        for price in prices
        if price.offering_key == offering_key and price.unit == unit and price.holds_at(at)
    }
    if not found:
        raise DataError("costing.no_price", offering=offering_key, unit=unit)
    if len(found) > 1:
        raise DataError("costing.two_prices", offering=offering_key, unit=unit)
    return next(iter(found.values()))


def change_points(prices: Sequence[Price], offering_key: str, start: int, stop: int) -> list[int]:
    """The times strictly inside an interval at which a price of the offering begins or ends."""
    points: set[int] = set()
    for price in prices:
        if price.offering_key == offering_key:
            points |= {price.effective_from} | (
                {price.effective_to} if price.effective_to is not None else set()
            )
    return sorted(point for point in points if start < point < stop)
