"""PURE. The page that puts a run beside the same run elsewhere, from the document of `headway compare`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from headway.reports.dashboard import Cell, Sheet
from headway.reports.wording import Wording
from headway.units import Money


@dataclass(frozen=True, slots=True)
class CompareView:
    """A run as it was, and as it would be elsewhere; `basis` says what the prediction rests on."""

    title: str
    note: str
    sheet: Sheet
    basis: Cell
    command: str


def compare_view(document: Mapping[str, Any], wording: Wording) -> CompareView:
    """The comparison as rows: the run itself first, then every offering in the planner's order."""
    say = wording.say
    names = ("where", "machines", "time", "cost", "kwh", "grams", "verdict", "why")
    actual = (
        Cell(say("compare.actual")),
        Cell(""),
        *_figures(document["actual"], wording),
        Cell(say("compare.measured")),
        Cell(""),
    )
    rows = [actual, *(_offering(row, wording) for row in document["elsewhere"])]
    run = str(document["run_id"])
    return CompareView(
        title=say("dashboard.compare_of", run=run),
        note=say("dashboard.predicted"),
        sheet=Sheet(
            say("dashboard.compare"),
            tuple(say(f"dashboard.head_{name}") for name in names),
            tuple(rows),
            frozenset({2, 3, 4, 5}),
        ),
        basis=Cell(str(document["basis"]), lang="en"),
        command=f"headway compare {run}",
    )


def _offering(row: Mapping[str, Any], wording: Wording) -> tuple[Cell, ...]:
    priced = row["cost"] is not None
    capacity = wording.maybe(f"dashboard.capacity_{row['capacity']}", str(row["capacity"]))
    return (
        Cell(f"{row['offering']}, {capacity}"),
        Cell(f"{row['nodes'] or 1} × {row['instance']}", lang="en"),
        *_figures(row, wording),
        Cell(wording.say(f"verdict.{row['verdict']}")),
        Cell(str(row["price_basis"]), lang="en") if priced else Cell(str(row["why"])),
    )


def _figures(row: Mapping[str, Any], wording: Wording) -> tuple[Cell, ...]:
    def figure(value: float | None) -> str:
        return wording.unknown("dashboard.not_predicted") if value is None else wording.number(value)

    seconds, cost = row["seconds"], row["cost"]
    return (
        Cell(wording.unknown("dashboard.not_predicted") if seconds is None else wording.seconds(seconds)),
        Cell(
            wording.unknown("dashboard.no_price")
            if cost is None
            else wording.money(Money(Decimal(cost), str(row["currency"])))
        ),
        Cell(figure(row["kwh"])),
        Cell(figure(row["grams_co2e"])),
    )


def refusal(code: int, error: str) -> str:
    """What the command said when it refused; nothing where it broke: a traceback tells a reader nothing."""
    return "" if code == 1 and "Traceback" in error else error.strip()
