"""PURE. The guard that a new price must pass before it may stand beside the known ones.

Real tables went wrong: for seven months one held prices of China (in CNY) and of GovCloud under us-east-1.
A price is refused when it is not above zero, is a placeholder, changes currency, rises by more than 15 % or
falls by more than 60 % in one step (the largest real cut of an accelerator type so far was 44 %).
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

PLACEHOLDERS = frozenset({Decimal("0.00001")})
HIGHEST_RISE = Decimal("1.15")
DEEPEST_FALL = Decimal("0.40")


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
