"""PURE. Prices by tiers of a month's quantity, counted over the whole account (data transfer, storage)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from headway.errors import DataError


@dataclass(frozen=True, slots=True)
class Tier:
    """A price per unit from `start` on, up to `stop` (None: without end)."""

    start: Decimal
    stop: Decimal | None
    price: Decimal


@dataclass(frozen=True, slots=True)
class TierPart:
    """What of a quantity fell into one tier."""

    quantity: Decimal
    price: Decimal

    @property
    def amount(self) -> Decimal:
        """The part's cost."""
        return self.quantity * self.price


@dataclass(frozen=True, slots=True)
class Tiered:
    """A quantity priced by tiers: its parts, and the price of one unit more."""

    parts: tuple[TierPart, ...]
    marginal_price: Decimal

    @property
    def amount(self) -> Decimal:
        """The cost of the quantity."""
        return sum((part.amount for part in self.parts), Decimal(0))

    @property
    def average_price(self) -> Decimal | None:
        """The cost of a unit; None of nothing."""
        quantity = sum((part.quantity for part in self.parts), Decimal(0))
        return self.amount / quantity if quantity else None


def tiered(quantity: Decimal, tiers: Sequence[Tier], before: Decimal = Decimal(0)) -> Tiered:
    """Price a quantity that comes after `before` units of the same month.

    >>> of = [Tier(Decimal(0), Decimal(10), Decimal(2)), Tier(Decimal(10), None, Decimal(1))]
    >>> tiered(Decimal(12), of).amount, tiered(Decimal(1), of, before=Decimal(10)).amount
    (Decimal('22'), Decimal('1'))

    Raises:
        DataError: the quantity is negative, or the tiers do not follow one another from 0 on.
    """
    _check(tiers)
    if quantity < 0 or before < 0:
        raise DataError("costing.negative_quantity", value=min(quantity, before))
    end = before + quantity
    parts = [
        TierPart(inside, tier.price)
        for tier in tiers
        if (inside := (end if tier.stop is None else min(end, tier.stop)) - max(before, tier.start)) > 0
    ]
    marginal = next(tier.price for tier in tiers if tier.stop is None or end < tier.stop)
    return Tiered(tuple(parts), marginal)


def _check(tiers: Sequence[Tier]) -> None:
    reached: Decimal | None = Decimal(0)
    for tier in tiers:
        if reached is None or tier.start != reached or (tier.stop is not None and tier.stop <= tier.start):
            raise DataError("costing.bad_tiers")
        reached = tier.stop
    if reached is not None:
        raise DataError("costing.bad_tiers")
