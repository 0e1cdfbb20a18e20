"""What choosing by the prediction costs over choosing by the truth.

A choice: rows of one source that train one model at one sequence length in one task, with different devices,
counts, batches or precisions. Their cost is device-hours a token at the accelerator's lowest on-demand list
price in us-east-1; rows without a price are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from cases import Outcome

from headway.catalog.tables import instance_types, on_demand_prices

REGION = "us-east-1"


@dataclass(frozen=True)
class Choice:
    source: str
    model: str
    seq_len: int
    options: int
    regret_percent: float
    worst_percent: float
    middle_percent: float


@cache
def price_per_hour(accelerator: str) -> float | None:
    """Of one device, in USD, as now in force."""
    known = instance_types()
    found = [
        float(price.price_text) / float(kind.accelerator_count)
        for price in on_demand_prices()
        if price.region == REGION and price.effective_to is None and price.currency == "USD"
        if (kind := known.get(price.instance)) is not None
        if kind.accelerator == accelerator and kind.accelerator_count >= 1
    ]
    return min(found) if found else None


def choices(outcomes: list[Outcome]) -> list[Choice]:
    groups: dict[tuple[str, str, int, str], list[tuple[float, float, str]]] = {}
    for one in outcomes:
        row, price = one.case.row, price_per_hour(one.case.row.accelerator)
        if price is None:
            continue
        key = (row.source, row.model, one.case.setup.seq_len, row.task)
        costs = (price / one.value, price / one.case.seen.measured, row.row_id)
        groups.setdefault(key, []).append(costs)
    found: list[Choice] = []
    for (source, model, seq_len, _), options in sorted(groups.items()):
        if len(options) < 2:
            continue
        chosen = min(options, key=lambda option: (option[0], option[2]))[1]
        truths = sorted(option[1] for option in options)
        best = truths[0]
        found.append(
            Choice(
                source,
                model,
                seq_len,
                len(options),
                100 * (chosen / best - 1),
                100 * (truths[-1] / best - 1),
                100 * (truths[len(truths) // 2] / best - 1),
            )
        )
    return found
