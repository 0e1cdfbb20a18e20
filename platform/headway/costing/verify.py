"""PURE. Proving a receipt: the lines add up, and each still has the price it was made with."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext

from headway.costing.lines import CostLine
from headway.costing.prices import Price
from headway.units import round_nano


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was proved, or not: the message id of what, and its values."""

    ok: bool
    message: str
    values: Mapping[str, object]


def verify(
    lines: Sequence[CostLine], prices: Mapping[str, Price], total_nano: Mapping[str, int]
) -> list[Check]:
    """Check lines against the prices stored under their ids and against the total that was shown.

    Each charge (attempt × category × price × method) is priced again from its summed quantity; the result
    must be its lines' sum to a nano-unit. Totals are compared per currency.
    """
    checks = [
        _price_check(price_id, prices.get(price_id)) for price_id in sorted({x.price_id for x in lines})
    ]
    groups: dict[tuple[int | None, str | None, str, str, str], list[CostLine]] = defaultdict(list)
    sums: dict[str, int] = defaultdict(int)
    for line in lines:
        groups[line.attempt, line.allocation_id, line.category, line.price_id, line.method].append(line)
        sums[line.currency] += line.amount_nano
    for (attempt, _allocation, category, price_id, _method), group in sorted(groups.items(), key=str):
        price = prices.get(price_id)
        if price is None:
            continue
        with localcontext() as context:
            context.prec = 60
            quantity = sum((Decimal(line.quantity_text) for line in group), Decimal(0))
            expected = round_nano(quantity * price.amount)
            found = sum(line.amount_nano for line in group)
        # Quantities are kept to 18 decimals: their sum may miss the exact product by one nano at a tie.
        ok = abs(expected - found) <= 1
        values = {"attempt": attempt, "category": category, "expected": expected, "found": found}
        checks.append(Check(ok, "verify.charge", values))
    for currency in sorted(set(sums) | set(total_nano)):
        values = {"currency": currency, "lines": sums[currency], "total": total_nano.get(currency, 0)}
        checks.append(Check(sums[currency] == total_nano.get(currency, 0), "verify.total", values))
    return checks


def _price_check(price_id: str, price: Price | None) -> Check:
    if price is None:
        return Check(False, "verify.price_missing", {"price": price_id[:12]})
    return Check(
        price.id == price_id, "verify.price_hash", {"price": price_id[:12], "offering": price.offering_key}
    )
