"""PURE. A plan as rows for people and as a document for machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from headway.messages import find, text
from headway.planner.hybrid import Hybrid
from headway.planner.types import Limits, PlanResult, Prediction, Rival, Work
from headway.units import format_amount, format_bytes, format_seconds

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class PlanRow:
    """One offering as a line of text."""

    verdict: str
    where: str
    machines: str
    recipe: str
    fit: str
    time: str
    cost: str
    kwh: str
    carbon: str
    why: str


def plan_rows(result: PlanResult) -> list[PlanRow]:
    """Every offering as a row, in the planner's order."""
    return [_row(rival) for rival in result.rivals]


def _row(rival: Rival) -> PlanRow:
    offering, found = rival.offering, rival.prediction
    blank = "-"
    return PlanRow(
        verdict=text(f"verdict.{rival.verdict.value}"),
        where=offering.key if offering.site == offering.key else f"{offering.key} {offering.capacity}",
        machines=f"{found.nodes if found else 1} × {offering.instance}",
        recipe=_recipe(found, rival) if found else blank,
        fit=f"{format_bytes(found.memory_bytes)} / {format_bytes(offering.memory_bytes)}" if found else blank,
        time=_time(found) if found else blank,
        cost=_cost(found, offering.currency) if found else blank,
        kwh=f"{found.kwh:.3g}" if found else blank,
        carbon=f"{found.grams_co2e / 1000:.3g}" if found and found.grams_co2e is not None else blank,
        why=why(rival),
    )


def _recipe(found: Prediction, rival: Rival) -> str:
    parts = [found.recipe.sharding] if found.nodes * rival.offering.devices > 1 else []
    if found.recipe.lean:
        parts.append(text("plan.lean"))
    if found.recipe.recompute:
        parts.append(text("plan.recompute"))
    return " · ".join([*parts, f"µ {found.recipe.micro_batch}"])


def _time(found: Prediction) -> str:
    low, high = format_seconds(found.seconds.low), format_seconds(found.seconds.high)
    number, _space, unit = low.rpartition(" ")
    if number and " " not in number and high.endswith(f" {unit}") and high.count(" ") == 1:
        low = number  # a unit that both have is said once
    return f"{format_seconds(found.seconds.expected)} ({low}–{high})"


def _cost(found: Prediction, currency: str) -> str:
    if found.cost is None or found.cost_low is None or found.cost_high is None:
        return "?"
    low, high = format_amount(found.cost_low), format_amount(found.cost_high)
    return f"{format_amount(found.cost)} {currency} ({low}–{high})"


def why(rival: Rival) -> str:
    """The reason of a verdict, in words; two figures that differ never read the same."""
    shown, values = _readable(rival.values), rival.values
    for one, other in _BOTH_SHOWN:
        if one in shown and shown[one] == shown.get(other) and values[one] != values[other]:
            shown |= {key: _to_the_unit(key, values[key]) for key in (one, other)}
    return text(rival.message, **shown)


_BOTH_SHOWN = (
    ("seconds", "deadline"), ("seconds", "limit"), ("cost", "budget"), ("needed_bytes", "available_bytes"),
)  # fmt: skip


def _to_the_unit(key: str, value: object) -> str:
    """A figure with all its digits."""
    if isinstance(value, Decimal):
        return f"{value:,.9f}".rstrip("0")
    unit = "B" if key.endswith("_bytes") else "s"
    return f"{value:,} {unit}" if isinstance(value, int) else f"{value:,.3f} {unit}"


def _readable(values: Mapping[str, object]) -> dict[str, object]:
    shown: dict[str, object] = {}
    for key, value in values.items():
        if key.endswith("_bytes") and isinstance(value, int):
            shown[key] = format_bytes(value)
        elif key in {"seconds", "deadline", "limit"} and isinstance(value, float):
            shown[key] = format_seconds(value)
        elif isinstance(value, Decimal):
            shown[key] = format_amount(value)
        elif key == "capacity":
            shown[key] = find(f"dashboard.capacity_{value}") or value
        else:
            shown[key] = value
    return shown


def plan_document(
    work: Work, limits: Limits, result: PlanResult, provenance: Mapping[str, Any]
) -> dict[str, Any]:
    """The whole plan; amounts are decimal text with their currency."""
    profile = work.profile
    return {
        "schema_version": SCHEMA_VERSION,
        "model": {
            "name": profile.name,
            "method": profile.method,
            "parameters": profile.parameters,
            "trainable": profile.trainable,
            "seq_len": profile.seq_len,
            "precision": profile.precision,
            "basis": profile.basis,
        },
        "samples": work.samples,
        "global_batch": work.global_batch,
        "limits": {
            "deadline_seconds": limits.deadline_seconds,
            "budget": None if limits.budget is None else f"{limits.budget:f}",
            "budget_currency": limits.budget_currency,
            "sites": list(limits.sites),
            "sensitivity": limits.sensitivity,
            "devices": [limits.min_devices, limits.max_devices],
        },
        "provenance": dict(provenance),
        "offerings": [_rival_document(rival) for rival in result.rivals],
    }


def hybrid_rows(found: Sequence[Hybrid]) -> list[dict[str, Any]]:
    """Runs over two sites as plain rows, cheapest first."""
    return [
        {
            "first": one.first.key,
            "second": one.second.key,
            "share_first": round(one.share, 6),
            "seconds": round(one.seconds, 1),
            "cost": f"{one.cost:.6f}",
            "moving_cost": f"{one.moving_cost:.6f}",
            "unknown_egress": list(one.unknown_egress),
            "alone": one.alone,
            "saved": None if one.saved is None else f"{one.saved:.6f}",
            "currency": one.first.currency,
            "kwh": round(one.kwh, 6),
        }
        for one in found
    ]


def _rival_document(rival: Rival) -> dict[str, Any]:
    offering = rival.offering
    return {
        "offering": offering.key,
        "verdict": rival.verdict.value,
        "reason": rival.message,
        "values": {key: _plain(value) for key, value in rival.values.items()},
        "instance": offering.instance,
        "accelerator": offering.accelerator,
        "capacity": offering.capacity,
        "price_per_node_hour": None if offering.price_per_hour is None else f"{offering.price_per_hour:.6f}",
        "currency": offering.currency,
        "price_basis": offering.price_basis,
        "price_source": offering.price_source,
        "efficiency": {
            "expected": round(offering.efficiency.expected, 4),
            "basis": offering.efficiency.basis,
        },
        "prediction": None if rival.prediction is None else _prediction(rival.prediction),
    }


def _plain(value: object) -> object:
    """A value of a reason for machines: money as decimal text to the nano-unit, seconds to a tenth."""
    if isinstance(value, Decimal):
        return f"{value:.9f}"
    return round(value, 1) if isinstance(value, float) else value


def _prediction(found: Prediction) -> dict[str, Any]:
    def money(amount: Decimal | None) -> str | None:
        return None if amount is None else f"{amount:.6f}"

    return {
        "nodes": found.nodes,
        "sharding": found.recipe.sharding,
        "recompute": found.recipe.recompute,
        "lean_layers": found.recipe.lean,
        "micro_batch": found.recipe.micro_batch,
        "memory_bytes_per_device": found.memory_bytes,
        "seconds": round(found.seconds.expected, 1),
        "seconds_low": round(found.seconds.low, 1),
        "seconds_high": round(found.seconds.high, 1),
        "cost": money(found.cost),
        "cost_low": money(found.cost_low),
        "cost_high": money(found.cost_high),
        "kwh": round(found.kwh, 6),
        "grams_co2e": None if found.grams_co2e is None else round(found.grams_co2e, 3),
        "moving_cost": money(found.moving_cost),
        "moving_seconds": round(found.moving_seconds, 1),
        "waiting_seconds": round(found.waiting_seconds, 1),
        "unknown_egress": found.unknown_egress,
        "interruptions": round(found.interruptions, 4),
        "checkpoint_every_seconds": None
        if found.checkpoint_every_seconds is None
        else round(found.checkpoint_every_seconds, 1),
    }
