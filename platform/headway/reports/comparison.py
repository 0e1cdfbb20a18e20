"""PURE. A run beside the same run elsewhere, as rows and as a document."""

from __future__ import annotations

from typing import Any

from headway.planner.types import PlanResult, Rival
from headway.reports.plan import why
from headway.reports.receipt import Receipt
from headway.units import JOULES_PER_KWH

SCHEMA_VERSION = 1


def comparison_document(receipt: Receipt, seconds: float, result: PlanResult, basis: str) -> dict[str, Any]:
    """The comparison; `actual` is measured and charged, `elsewhere` predicted, and each says how."""
    total = receipt.totals[0] if len(receipt.totals) == 1 else None
    kwh = None if receipt.joules is None else float(receipt.joules / JOULES_PER_KWH)
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": receipt.run.id,
        "actual": {
            "seconds": round(seconds, 1),
            "cost": None if total is None else f"{total.amount:.9f}",
            "currency": None if total is None else total.currency,
            "kwh": kwh,
            "grams_co2e": None if receipt.carbon is None else float(receipt.carbon.grams),
        },
        "basis": basis,
        "elsewhere": [_row(rival) for rival in result.rivals],
    }


def _row(rival: Rival) -> dict[str, Any]:
    offering, found = rival.offering, rival.prediction
    return {
        "offering": offering.key,
        "capacity": offering.capacity,
        "instance": offering.instance,
        "verdict": rival.verdict.value,
        "why": why(rival),
        "nodes": found.nodes if found else None,
        "seconds": round(found.seconds.expected, 1) if found else None,
        "seconds_low": round(found.seconds.low, 1) if found else None,
        "seconds_high": round(found.seconds.high, 1) if found else None,
        "cost": f"{found.cost:.6f}" if found and found.cost is not None else None,
        "cost_low": f"{found.cost_low:.6f}" if found and found.cost_low is not None else None,
        "cost_high": f"{found.cost_high:.6f}" if found and found.cost_high is not None else None,
        "currency": offering.currency,
        "kwh": found.kwh if found else None,
        "grams_co2e": found.grams_co2e if found else None,
        "price_basis": offering.price_basis,
    }
