"""PURE. A run's cost as a waterfall, from its parts to its total: a Vega-Lite chart and its words."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from headway.reports.receipt import Receipt
from headway.reports.wording import Wording
from headway.units import Money

_PART, _TOTAL = "#0072B2", "#595959"  # Okabe-Ito blue; a grey of 7:1 on white


@dataclass(frozen=True, slots=True)
class Step:
    """One bar: a category, or the total; it goes from `start` to `stop`."""

    label: str
    start: Decimal
    stop: Decimal
    amount: Money
    is_total: bool


@dataclass(frozen=True, slots=True)
class Waterfall:
    """The bars of one currency, the chart of them, and the sentence that replaces it."""

    steps: tuple[Step, ...]
    chart: dict[str, Any]
    alt: str


def waterfalls(receipt: Receipt, wording: Wording) -> tuple[Waterfall, ...]:
    """One waterfall for each currency of a receipt: amounts of two are never added."""
    return tuple(_of(receipt, total, wording) for total in receipt.totals)


def _of(receipt: Receipt, total: Money, wording: Wording) -> Waterfall:
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for row in receipt.rows:
        if row.amount.currency == total.currency:
            sums[row.category] += row.amount.amount
    steps: list[Step] = []
    reached = Decimal(0)
    for category, amount in sums.items():
        label = wording.maybe(f"receipt.{category}", category)
        steps.append(Step(label, reached, reached + amount, Money(amount, total.currency), is_total=False))
        reached += amount
    steps.append(Step(wording.say("receipt.total"), Decimal(0), total.amount, total, is_total=True))
    parts = ", ".join(f"{step.label} {wording.money(step.amount)}" for step in steps)
    alt = wording.say("dashboard.waterfall_alt", run=receipt.run.id, parts=parts)
    return Waterfall(tuple(steps), _chart(steps, total.currency, wording), alt)


def _chart(steps: list[Step], currency: str, wording: Wording) -> dict[str, Any]:
    values = [
        {
            "step": step.label,
            "start": float(step.start),
            "stop": float(step.stop),
            "shown": wording.money(step.amount),
            "colour": _TOTAL if step.is_total else _PART,
        }
        for step in steps
    ]
    place: dict[str, Any] = {
        "field": "step",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"labelAngle": 0},
    }
    high: dict[str, Any] = {"field": "stop", "type": "quantitative"}
    return {
        "data": {"values": values},
        "height": 260,
        "layer": [
            {
                "mark": {"type": "bar", "size": 60, "tooltip": False},
                "encoding": {
                    "x": place,
                    "y": {
                        "field": "start",
                        "type": "quantitative",
                        "title": currency,
                        "axis": {"tickCount": 5},
                    },
                    "y2": {"field": "stop"},
                    "color": {"field": "colour", "type": "nominal", "scale": None, "legend": None},
                },
            },
            {
                "mark": {"type": "text", "dy": -8, "fontSize": 13},
                "encoding": {"x": place, "y": high, "text": {"field": "shown"}},
            },
        ],
        "config": {"locale": _locale(wording)},
    }


def _locale(wording: Wording) -> dict[str, Any]:
    french = wording.language == "fr"
    return {
        "number": {
            "decimal": "," if french else ".",
            "thousands": "\u202f" if french else ",",
            "grouping": [3],
            "currency": ["", ""],
        }
    }
