"""PURE. All that the ledger holds about what runs cost, as plain records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from headway.costing.lines import CostLine, Rate
from headway.costing.prices import Price
from headway.costing.usage import Metric
from headway.runs.rows import AttemptRow, ProgressRow, RunRow
from headway.units import Money


@dataclass(frozen=True, slots=True)
class Tariff:
    """How usage that is not settled yet is priced: what it has cost so far."""

    rates: tuple[Rate, ...]
    prices: tuple[Price, ...]


@dataclass(frozen=True, slots=True)
class Account:
    """Everything about one run that a receipt is made of."""

    run: RunRow
    attempts: Sequence[AttemptRow]
    lines: Sequence[CostLine]
    prices: Mapping[str, Price]
    snapshots: Mapping[str, Mapping[str, object]]
    usage: Mapping[tuple[int, Metric, str], int]
    metrics: Sequence[Mapping[str, object]]
    retained: ProgressRow | None
    lost: Sequence[tuple[int, int, int]]
    settled: bool


@dataclass(frozen=True, slots=True)
class PricedRun:
    """A run of a list with what it has cost; `settled` False means that it goes on."""

    run: RunRow
    totals: tuple[Money, ...]
    settled: bool


@dataclass(frozen=True, slots=True)
class RunPage:
    """One page of runs: of `total` that match, out of `in_ledger`."""

    runs: tuple[PricedRun, ...]
    total: int
    in_ledger: int
    teams: tuple[str, ...]


def tariff_document(tariff: Tariff) -> dict[str, Any]:
    """The tariff as JSON takes it, for a process that cannot work it out itself."""
    return {
        "rates": [
            {
                **asdict(rate),
                "metric": rate.metric.value,
                "integers_per_unit": f"{rate.integers_per_unit:f}",
                "factor": f"{rate.factor:f}",
            }
            for rate in tariff.rates
        ],
        "prices": [asdict(price) for price in tariff.prices],
    }


def tariff_from(document: Mapping[str, Any]) -> Tariff:
    """The tariff that `tariff_document` wrote."""
    rates = [
        Rate(
            Metric(row["metric"]),
            str(row["category"]),
            str(row["offering_key"]),
            str(row["unit"]),
            Decimal(row["integers_per_unit"]),
            Decimal(row["factor"]),
        )
        for row in document["rates"]
    ]
    return Tariff(tuple(rates), tuple(Price(**row) for row in document["prices"]))
