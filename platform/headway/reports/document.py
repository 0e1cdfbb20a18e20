"""PURE. A receipt as plain data: what `-o json` prints; amounts are decimal text with their currency."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from headway.reports.receipt import Receipt, Source
from headway.units import Money

SCHEMA_VERSION = 1


def iso_time(microseconds: int | None) -> str | None:
    """A ledger time as ISO 8601 in UTC."""
    if microseconds is None:
        return None
    return datetime.fromtimestamp(microseconds / 1_000_000, UTC).isoformat(timespec="milliseconds")


def money_document(money: Money) -> dict[str, str]:
    """An exact amount and its currency."""
    return {"amount": f"{money.amount:f}", "currency": money.currency}


def receipt_document(receipt: Receipt) -> dict[str, Any]:
    """The whole receipt."""
    run = receipt.run
    return {
        "schema_version": SCHEMA_VERSION,
        "run_id": run.id,
        "name": run.name,
        "team": run.team_id,
        "state": run.state.value,
        "failure_class": run.failure_class,
        "reason": run.reason,
        "settled": receipt.settled,
        "created": iso_time(run.created),
        "ended": iso_time(run.ended),
        "attempts": [
            {
                "attempt": attempt.n,
                "state": attempt.state.value,
                "failure_class": attempt.failure_class,
                "started": iso_time(attempt.started),
                "ended": iso_time(attempt.ended),
            }
            for attempt in receipt.attempts
        ],
        **_money_part(receipt),
        **_physical_part(receipt),
        "recipe": _resolved(run.spec, "recipe"),
        "gate": _resolved(run.spec, "gate"),
        "prices": [_price(source) for source in receipt.sources],
        "metrics": {name: {"first": first, "last": last} for name, first, last in receipt.metrics},
        "replayed": [
            {"attempt": attempt, "reached_step": reached, "back_to_step": back}
            for attempt, reached, back in receipt.lost
        ],
        "retained_step": receipt.retained_step,
    }


def _resolved(spec: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - JSON
    """A part of how the job file was read; None where the run has none."""
    return spec.get("resolved", {}).get(name)


def _money_part(receipt: Receipt) -> dict[str, Any]:
    return {
        "lines": [
            {
                "attempt": row.attempt,
                "category": row.category,
                "method": row.method,
                "quantity": f"{row.quantity:f}",
                "unit": row.unit,
                "price": row.source,
                **money_document(row.amount),
            }
            for row in receipt.rows
        ],
        "totals": [money_document(total) for total in receipt.totals],
        "waste": [
            {"class": part.waste.value, "share": part.share, **money_document(part.amount)}
            for part in receipt.waste
        ],
        "unit_costs": [
            {"unit": cost.unit.removeprefix("receipt."), **money_document(cost.amount)}
            for cost in receipt.unit_costs
        ],
    }


def _physical_part(receipt: Receipt) -> dict[str, Any]:
    def number(value: Decimal | None) -> float | None:
        return None if value is None else float(value)

    carbon = receipt.carbon
    return {
        "energy": {
            "joules": number(receipt.joules),
            "methods": list(receipt.joules_method),
            "pue": float(receipt.pue),
            "joules_per_sample": number(receipt.joules_per_sample),
        },
        "carbon": None
        if carbon is None
        else {
            "grams_co2e": number(carbon.grams),
            "grams_per_kwh": number(carbon.grams_per_kwh),
            "location": carbon.location,
            "source": carbon.source,
            "alternatives": carbon.alternatives,
            "embodied_grams_co2e": number(carbon.embodied_grams),
            "embodied_source": carbon.embodied_source,
        },
    }


def _price(source: Source) -> dict[str, Any]:
    return {
        "number": source.number,
        "price_id": source.price_id,
        "offering": source.offering_key,
        "price": source.price_text,
        "currency": source.currency,
        "unit": source.unit,
        "source": source.sku,
        "snapshot_sha256": source.snapshot_sha,
        "snapshot_source": source.snapshot_source,
        "as_of": iso_time(source.fetched_at),
    }
