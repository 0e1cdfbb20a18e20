"""PURE. Cost lines as rows of FOCUS 1.3 (FinOps Open Cost and Usage Specification), or of 1.2.

A charge that was split over waste classes or runs is an origin charge; each of its lines is an allocated one
whose ratio says its part, and the ratios of a charge sum to 1. FOCUS 1.2 has no split allocation: its rows
carry the same amounts without ratios.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Literal

from headway.costing.lines import CostLine
from headway.costing.prices import Price
from headway.costing.split import split
from headway.units import NANO

FocusVersion = Literal["1.3", "1.2"]
Row = dict[str, object]
# Known to 1.3 only: a 1.2 reader must not meet them.
SINCE_1_3 = (
    "AllocatedMethodDetails",
    "AllocatedMethodId",
    "AllocatedResourceId",
    "AllocatedResourceName",
    "AllocatedTags",
    "ContractApplied",
    "HostProviderName",
    "ServiceProviderName",
)
_METHOD_ID = "headway/waste-class/1"
_RATIO_DIGITS = 12
_CATEGORY = {"compute": ("Compute", "Virtual Machines"), "energy": ("Other", "Other (Other)")}


@dataclass(frozen=True, slots=True)
class Labelled:
    """Whose a run is, and its labels: they become tags."""

    run_name: str
    team: str
    project: str
    labels: Mapping[str, str]


def focus_rows(
    lines: Sequence[CostLine],
    prices: Mapping[str, Price],
    runs: Mapping[str, Labelled],
    version: FocusVersion = "1.3",
) -> list[Row]:
    """One row a line, in their order; amounts are decimal text in the line's own currency, ratios Decimal.

    A price that is gone leaves its columns empty (None), never zero.
    """
    ratios = allocated_ratios(lines)
    rows = [_row(line, prices.get(line.price_id), runs.get(line.run_id or ""), ratios) for line in lines]
    if version == "1.2":
        return [{key: value for key, value in row.items() if key not in SINCE_1_3} for row in rows]
    return rows


def allocated_ratios(lines: Sequence[CostLine]) -> dict[str, Decimal]:
    """Each line's part of its charge, by the line's id; the parts of a charge sum to 1 exactly."""
    charges: dict[tuple[object, ...], list[CostLine]] = defaultdict(list)
    for line in lines:
        charges[_origin(line)].append(line)
    found: dict[str, Decimal] = {}
    for group in charges.values():
        weights = {line.id: abs(line.amount_nano) for line in group}
        if not any(weights.values()):
            weights = dict.fromkeys(weights, 1)
        parts = split(10**_RATIO_DIGITS, weights)
        found.update({key: Decimal(part).scaleb(-_RATIO_DIGITS) for key, part in parts.items()})
    return found


def _origin(line: CostLine) -> tuple[object, ...]:
    return (line.run_id, line.attempt, line.allocation_id, line.category, line.price_id, line.method)


def _row(line: CostLine, price: Price | None, run: Labelled | None, ratios: Mapping[str, Decimal]) -> Row:
    amount = f"{Decimal(line.amount_nano) / NANO:f}"
    provider, region, resource = _place(price)
    category, subcategory = _CATEGORY.get(line.category, ("Other", "Other (Other)"))
    owned = provider != "AWS"
    unit_price = None if price is None else price.price_text
    start, stop = _month(line.start)
    return {
        **_allocation(line, run, ratios[line.id]),
        # Nobody invoices the amortisation of an owned machine: it is an effective cost only.
        "BilledCost": "0" if owned and line.category == "compute" else amount,
        "BillingAccountId": "headway",
        "BillingAccountName": "Headway ledger",
        "BillingCurrency": line.currency,
        "BillingPeriodStart": start,
        "BillingPeriodEnd": stop,
        "ChargeCategory": "Usage",
        "ChargeClass": None,
        "ChargeDescription": f"{line.category} of {resource or 'an unknown machine'}, {line.waste.value}",
        "ChargeFrequency": "Usage-Based",
        "ChargePeriodStart": _time(line.start),
        "ChargePeriodEnd": _time(max(line.stop, line.start + 1_000_000)),
        "ConsumedQuantity": line.quantity_text,
        "ConsumedUnit": _unit(line.unit),
        "ContractApplied": None,
        "ContractedCost": amount,
        "ContractedUnitPrice": unit_price,
        "EffectiveCost": amount,
        "InvoiceIssuerName": provider,
        "ListCost": amount,
        "ListUnitPrice": unit_price,
        "PricingCategory": "Dynamic" if "/spot" in (price.offering_key if price else "") else "Standard",
        "PricingCurrency": line.currency,
        "PricingQuantity": line.quantity_text,
        "PricingUnit": _unit(line.unit),
        "ProviderName": provider,
        "PublisherName": provider,
        "HostProviderName": provider,
        "ServiceProviderName": provider,
        "RegionId": region,
        "ResourceId": line.allocation_id,
        "ResourceType": resource,
        "ServiceCategory": category,
        "ServiceName": "Training runs",
        "ServiceSubcategory": subcategory,
        "SkuId": None if price is None else price.sku,
        "SkuPriceId": line.price_id,
        "Tags": {} if run is None else _tags(run),
        **_own(line, price),
    }


def _allocation(line: CostLine, run: Labelled | None, ratio: Decimal) -> Row:
    element = {
        "AllocatedRatio": ratio,
        "UsageUnit": _unit(line.unit),
        "UsageQuantity": Decimal(line.quantity_text),
    }
    return {
        "AllocatedMethodId": _METHOD_ID,
        "AllocatedMethodDetails": {"Elements": [element]},
        "AllocatedResourceId": line.run_id,
        "AllocatedResourceName": None if run is None else run.run_name,
        "AllocatedTags": {} if run is None else _tags(run),
    }


def _own(line: CostLine, price: Price | None) -> Row:
    return {
        "x_RunId": line.run_id,
        "x_Attempt": line.attempt,
        "x_Stage": line.stage,
        "x_Scope": line.scope,
        "x_WasteClass": line.waste.value,
        "x_Method": line.method,
        "x_EnergyKwh": line.quantity_text if line.unit == "kWh" else None,
        "x_PriceSnapshot": None if price is None else price.snapshot_sha,
        "x_LineId": line.id,
        "x_SupersedesId": line.supersedes_id,
    }


def _tags(run: Labelled) -> dict[str, str]:
    named = {"team": run.team, "project": run.project}
    return {**dict(run.labels), **{key: value for key, value in named.items() if value}}


def _place(price: Price | None) -> tuple[str, str | None, str | None]:
    """Provider, region and machine type, from the name under which a price is kept."""
    parts = [] if price is None else price.offering_key.split("/")
    if len(parts) >= 4 and parts[0] == "aws":
        return "AWS", parts[1], parts[2]
    return "Own machines", None, parts[0] if parts else None


def _unit(unit: str) -> str:
    """Units as FOCUS writes them."""
    return {"core-hour": "Core-Hours", "kWh": "kWh", "instance-hour": "Hours"}.get(unit, unit)


def _time(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _month(microseconds: int) -> tuple[str, str]:
    day = datetime.fromtimestamp(microseconds / 1_000_000, UTC)
    start = day.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    later = start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
    return start.strftime("%Y-%m-%dT%H:%M:%SZ"), later.strftime("%Y-%m-%dT%H:%M:%SZ")
