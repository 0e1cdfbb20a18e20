"""PURE. Cost lines: usage times the price in force, split by waste, each immutable and hashed.

A charge is one metric of one allocation under one price. It is rounded once, half-even, to a nano-unit of
its currency, then split over the waste classes by largest remainder: the lines of a charge add up to it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext

from headway.costing.prices import Price, change_points, price_in_force
from headway.costing.split import split
from headway.costing.usage import Metric, Usage
from headway.costing.waste import Waste
from headway.units import MICROSECONDS_PER_HOUR, round_nano

_DECIMALS = 18
_MICROJOULES_PER_KWH = Decimal(3_600_000) * 1_000_000


@dataclass(frozen=True, slots=True)
class Rate:
    """How a metric is priced: which offering's price, per what unit, and the integer units in one of it."""

    metric: Metric
    category: str
    offering_key: str
    unit: str
    integers_per_unit: Decimal
    factor: Decimal = Decimal(1)

    def quantity(self, quantity_int: int) -> Decimal:
        """A stored integer in priced units; `factor` is the PUE for energy."""
        with localcontext() as context:
            context.prec = 60
            return Decimal(quantity_int) * self.factor / self.integers_per_unit


def core_rate(site: str) -> Rate:
    """Cores held, priced per core-hour."""
    return Rate(Metric.CORE_HELD, "compute", f"{site}/core", "core-hour", MICROSECONDS_PER_HOUR)


def node_rate(pool_id: str) -> Rate:
    """Nodes held, or parts of them, priced per node-hour of their pool."""
    return Rate(Metric.NODE_HELD, "compute", pool_id, "node-hour", MICROSECONDS_PER_HOUR)


def energy_rate(site: str, pue: Decimal) -> Rate:
    """Energy at the wall of the building: metered joules times PUE, priced per kWh."""
    return Rate(Metric.ENERGY, "energy", f"{site}/energy", "kWh", _MICROJOULES_PER_KWH, pue)


@dataclass(frozen=True, slots=True)
class CostLine:
    """One priced part with a cause; `supersedes_id` names the line that this one replaces."""

    stage: str
    run_id: str | None
    attempt: int | None
    allocation_id: str | None
    pool_id: str | None
    team_id: str | None
    category: str
    scope: str
    waste: Waste
    start: int
    stop: int
    quantity_text: str
    unit: str
    price_id: str
    amount_nano: int
    currency: str
    method: str
    supersedes_id: str | None = None

    @property
    def id(self) -> str:
        """SHA-256 of the line, so that costing the same twice gives the same lines."""
        fields = [str(getattr(self, name)) for name in self.__slots__]
        return hashlib.sha256("\x1f".join(fields).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Owner:
    """Whom a charge belongs to."""

    run_id: str
    attempt: int
    allocation_id: str
    pool_id: str
    team_id: str


def charge(
    usage: Sequence[Usage],
    rates: Sequence[Rate],
    prices: Sequence[Price],
    owner: Owner,
    waste: Mapping[Waste, int],
) -> list[CostLine]:
    """Accrued cost lines of one allocation.

    Usage that crosses a change of price is cut there in proportion to time. `waste` gives the weights of
    the classes; a class of zero weight makes no line.
    """
    lines: list[CostLine] = []
    for rate in rates:
        groups: dict[tuple[str, str], list[Usage]] = {}
        by_id: dict[str, Price] = {}
        for row in usage:
            if row.metric is rate.metric and row.quantity_int:
                for part in _cut(row, prices, rate):
                    price = price_in_force(prices, rate.offering_key, rate.unit, part.start)
                    by_id[price.id] = price
                    groups.setdefault((price.id, part.method), []).append(part)
        for (price_id, method), rows in sorted(groups.items()):
            lines.extend(_lines_of_charge(rows, rate, by_id[price_id], method, owner, waste))
    return lines


def _cut(row: Usage, prices: Sequence[Price], rate: Rate) -> list[Usage]:
    points = change_points(prices, rate.offering_key, row.start, row.stop)
    if not points:
        return [row]
    edges = [row.start, *points, row.stop]
    parts = split(
        row.quantity_int,
        {index: edges[index + 1] - edges[index] for index in range(len(edges) - 1)},
    )
    return [
        Usage(row.allocation_id, edges[i], edges[i + 1], row.metric, parts[i], row.method, row.quality)
        for i in parts
    ]


def _lines_of_charge(
    rows: Sequence[Usage],
    rate: Rate,
    price: Price,
    method: str,
    owner: Owner,
    waste: Mapping[Waste, int],
) -> list[CostLine]:
    quantity = rate.quantity(sum(row.quantity_int for row in rows))
    with localcontext() as context:
        context.prec = 60
        amount_nano = round_nano(quantity * price.amount)
    whole = CostLine(
        stage="accrued",
        run_id=owner.run_id,
        attempt=owner.attempt,
        allocation_id=owner.allocation_id,
        pool_id=owner.pool_id,
        team_id=owner.team_id,
        category=rate.category,
        scope="direct",
        waste=Waste.USEFUL,
        start=min(row.start for row in rows),
        stop=max(row.stop for row in rows),
        quantity_text=quantity_text(quantity),
        unit=rate.unit,
        price_id=price.id,
        amount_nano=amount_nano,
        currency=price.currency,
        method=method,
    )
    return _by_waste(whole, waste)


def _by_waste(whole: CostLine, waste: Mapping[Waste, int]) -> list[CostLine]:
    weights = {kind: weight for kind, weight in waste.items() if weight} or {Waste.IDLE: 1}
    amounts = split(whole.amount_nano, weights)
    with localcontext() as context:
        context.prec = 60
        quantities = split(int(Decimal(whole.quantity_text).scaleb(_DECIMALS)), weights)
        texts = {kind: quantity_text(Decimal(part).scaleb(-_DECIMALS)) for kind, part in quantities.items()}
    return [
        replace(whole, waste=kind, amount_nano=amounts[kind], quantity_text=texts[kind]) for kind in weights
    ]


def resplit(lines: Sequence[CostLine], waste: Mapping[Waste, int]) -> list[CostLine]:
    """Lines of the same charges, split anew: what each charge comes to never changes."""
    groups: dict[tuple[int | None, str | None, str, str, str], list[CostLine]] = {}
    for line in lines:
        key = (line.attempt, line.allocation_id, line.category, line.price_id, line.method)
        groups.setdefault(key, []).append(line)
    result: list[CostLine] = []
    for group in groups.values():
        with localcontext() as context:
            context.prec = 60
            quantity = sum((Decimal(line.quantity_text) for line in group), Decimal(0))
        whole = replace(
            group[0],
            quantity_text=quantity_text(quantity),
            amount_nano=sum(line.amount_nano for line in group),
            supersedes_id=None,
        )
        result.extend(_by_waste(whole, waste))
    return result


def run_cost(
    usage: Mapping[tuple[int, Metric, str], int], rates: Sequence[Rate], prices: Sequence[Price], at: int
) -> Decimal:
    """What summed usage (attempt, metric, method) costs at the prices of a time, unrounded."""
    total = Decimal(0)
    with localcontext() as context:
        context.prec = 60
        for rate in rates:
            price = price_in_force(prices, rate.offering_key, rate.unit, at)
            summed = sum(
                value for (_attempt, metric, _method), value in usage.items() if metric is rate.metric
            )
            total += rate.quantity(summed) * price.amount
    return total


def quantity_text(quantity: Decimal) -> str:
    """A quantity as decimal text with 18 decimals at most, without an exponent."""
    with localcontext() as context:
        context.prec = 60
        text = f"{round(quantity, _DECIMALS):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
