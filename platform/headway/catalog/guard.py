"""PURE. The guard that a new price must pass before it may stand beside the known ones.

Real tables went wrong: for seven months one held prices of China (in CNY) and of GovCloud under us-east-1.
A price is refused when it is not above zero, is a placeholder, changes currency, rises by more than 15 % or
falls by more than 60 % in one step (the largest real cut of an accelerator type so far was 44 %).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from headway.catalog.types import ListedPrice

PLACEHOLDERS = frozenset({Decimal("0.00001")})
HIGHEST_RISE = Decimal("1.15")
DEEPEST_FALL = Decimal("0.40")
LEAST_COVERAGE = 0.5
JUMPS = frozenset({"guard.rise", "guard.fall"})
_SERIES = frozenset({"on-demand"})  # kinds whose price may be compared with the one before


@dataclass(frozen=True, slots=True)
class Refused:
    """A price that was not taken over, and why (a message id)."""

    price: ListedPrice
    why: str
    known_price_text: str | None


def refuse_price(
    price_text: str,
    currency: str,
    *,
    known_price_text: str | None,
    known_currency: str | None,
    on_demand_price_text: str | None = None,
) -> str | None:
    """Why a new price must not be taken over, as a message id; None when it may.

    `known_*` is the price that stood before, None for a type that is new; `on_demand_price_text` is given
    for a spot price, which must not be above it.
    """
    try:
        price = Decimal(price_text)
    except InvalidOperation:
        return "guard.not_a_number"
    if not price.is_finite() or price <= 0:
        return "guard.not_positive"
    if price in PLACEHOLDERS:
        return "guard.placeholder"
    if known_currency is not None and currency != known_currency:
        return "guard.other_currency"
    if on_demand_price_text is not None and price > Decimal(on_demand_price_text):
        return "guard.above_on_demand"
    if known_price_text is not None:
        ratio = price / Decimal(known_price_text)
        if ratio > HIGHEST_RISE:
            return "guard.rise"
        if ratio < DEEPEST_FALL:
            return "guard.fall"
    return None


def too_few(new: Iterable[ListedPrice], known: Iterable[ListedPrice]) -> tuple[int, int] | None:
    """Where an answer covers less than half of what was known: both counts; else None."""
    found, before = ({(price.instance, price.region) for price in prices} for prices in (new, known))
    if len(found & before) < LEAST_COVERAGE * len(before):
        return len(found & before), len(before)
    return None


def screen(
    new: Sequence[ListedPrice],
    known: Mapping[tuple[str, ...], ListedPrice],
    on_demand: Mapping[tuple[str, str], ListedPrice],
    *,
    jumps: bool = False,
) -> tuple[list[ListedPrice], list[Refused]]:
    """The prices that may be taken over, and those that may not.

    Args:
        new: of one kind.
        known: the price in force by `ListedPrice.place`.
        on_demand: the on-demand price in force by instance and region, against which spot is held.
        jumps: whether a price may rise or fall by more than the guard allows.
    """
    taken: list[ListedPrice] = []
    refused: list[Refused] = []
    for price in new:
        before = known.get(price.place) if price.capacity in _SERIES else None
        limit = on_demand.get((price.instance, price.region)) if price.capacity == "spot" else None
        beside = before or limit
        why = refuse_price(
            price.price_text,
            price.currency,
            known_price_text=before.price_text if before else None,
            known_currency=beside.currency if beside else None,
            on_demand_price_text=limit.price_text if limit else None,
        )
        if why is None or (jumps and why in JUMPS):
            taken.append(price)
        else:
            refused.append(Refused(price, why, before.price_text if before else None))
    return taken, refused
