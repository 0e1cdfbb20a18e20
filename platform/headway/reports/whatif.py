"""PURE. Two plans of one job side by side: as it is, and with something changed."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from headway.planner.types import PlanResult, Rival


def whatif_rows(before: PlanResult, after: PlanResult) -> list[dict[str, Any]]:
    """Every offering of either plan: verdict, time and cost, before and after, with the difference."""
    old = {rival.offering.key: rival for rival in before.rivals}
    new = {rival.offering.key: rival for rival in after.rivals}
    return [_row(key, old.get(key), new.get(key)) for key in dict.fromkeys([*new, *old])]


def _row(key: str, before: Rival | None, after: Rival | None) -> dict[str, Any]:
    was, now = _figures(before), _figures(after)
    one, other = was["cost"], now["cost"]
    difference = None
    if one is not None and other is not None and was["currency"] == now["currency"]:
        difference = f"{Decimal(str(other)) - Decimal(str(one)):.6f}"
    return {
        "offering": key,
        **{f"{name}_before": value for name, value in was.items()},
        **{f"{name}_after": value for name, value in now.items()},
        "cost_difference": difference,
    }


def _figures(rival: Rival | None) -> dict[str, Any]:
    found = rival.prediction if rival is not None else None
    return {
        "verdict": None if rival is None else rival.verdict.value,
        "nodes": None if found is None else found.nodes,
        "seconds": None if found is None else round(found.seconds.expected, 1),
        "cost": None if found is None or found.cost is None else f"{found.cost:.6f}",
        "currency": None if rival is None else rival.offering.currency,
        "kwh": None if found is None else round(found.kwh, 6),
    }
