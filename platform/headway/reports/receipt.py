"""PURE. The receipt of a run: what it cost, line by line, why, and by which prices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext

from headway.costing.carbon import Sourced, operational
from headway.costing.lines import CostLine
from headway.costing.prices import Price
from headway.costing.usage import Metric
from headway.costing.waste import Waste
from headway.costing.work_done import Kept, per_unit
from headway.runs.account import Account
from headway.runs.rows import AttemptRow, ProgressRow, RunRow
from headway.units import JOULES_PER_KWH, MICROSECONDS_PER_HOUR, Money

_MICRO = Decimal(1_000_000)


@dataclass(frozen=True, slots=True)
class Source:
    """A footnote: where a price comes from; `fetched_at` in UTC microseconds."""

    number: int
    price_id: str
    offering_key: str
    price_text: str
    currency: str
    unit: str
    sku: str
    snapshot_sha: str
    snapshot_source: str
    fetched_at: int | None


@dataclass(frozen=True, slots=True)
class ReceiptRow:
    """One charge of one attempt; `quantity` in the price's unit, `base_quantity` in seconds or joules."""

    attempt: int
    category: str
    method: str
    quantity: Decimal
    base_quantity: Decimal
    unit: str
    seconds: Decimal
    source: int
    amount: Money


@dataclass(frozen=True, slots=True)
class WasteShare:
    """What a class of time cost, and its share of the total (0 to 1; None when the total is zero)."""

    waste: Waste
    amount: Money
    share: float | None


@dataclass(frozen=True, slots=True)
class Carbon:
    """Operational emissions: metered energy times PUE times the grid's average; `embodied_grams` beside them.

    Those are the run's part of making the machine, by core-hours held; None where no source tells.
    """

    grams: Decimal
    grams_per_kwh: Decimal
    location: str
    source: str
    alternatives: str
    embodied_grams: Decimal | None = None
    embodied_source: str = ""


@dataclass(frozen=True, slots=True)
class UnitCost:
    """Cost per unit of work that the run kept: the message id of the unit, and the amount."""

    unit: str
    amount: Money


@dataclass(frozen=True, slots=True)
class Receipt:
    """Everything a receipt shows; `settled` False means that the run still goes on."""

    run: RunRow
    attempts: tuple[AttemptRow, ...]
    settled: bool
    rows: tuple[ReceiptRow, ...]
    totals: tuple[Money, ...]
    waste: tuple[WasteShare, ...]
    unit_costs: tuple[UnitCost, ...]
    joules: Decimal | None
    joules_method: tuple[str, ...]
    pue: Decimal
    joules_per_sample: Decimal | None
    carbon: Carbon | None
    sources: tuple[Source, ...]
    metrics: tuple[tuple[str, float, float], ...]
    lost: tuple[tuple[int, int, int], ...]
    retained_step: int | None


@dataclass(frozen=True, slots=True)
class GridFactor:
    """Grams of CO2e per kWh at a place (None: no source tells), and who says so."""

    grams_per_kwh: Decimal | None
    location: str
    source: str
    alternatives: str
    pue: Decimal
    embodied_grams_per_core_hour: Decimal | None = None
    embodied_source: str = ""


def build_receipt(
    *,
    run: RunRow,
    attempts: Sequence[AttemptRow],
    lines: Sequence[CostLine],
    prices: Mapping[str, Price],
    snapshots: Mapping[str, Mapping[str, object]],
    usage: Mapping[tuple[int, Metric, str], int],
    metrics: Sequence[Mapping[str, object]],
    retained: ProgressRow | None,
    lost: Sequence[tuple[int, int, int]],
    grid: GridFactor,
    settled: bool,
) -> Receipt:
    """Put a receipt together.

    Args:
        lines: the lines in force; `prices` and `snapshots` hold what they name.
        retained: the progress that the run kept (None: it reported none, or kept none).
        lost: (attempt, step reached, step the work went back to) where steps were done again.
        settled: whether every attempt has ended and been costed.
    """
    sources = _sources(lines, prices, snapshots)
    numbers = {source.price_id: source.number for source in sources}
    rows = _rows(lines, numbers)
    totals = _sum_by_currency(lines)
    joules, methods = _joules(usage)
    samples = retained.samples if retained is not None else None
    return Receipt(
        run=run,
        attempts=tuple(attempts),
        settled=settled,
        rows=rows,
        totals=totals,
        waste=_waste(lines, totals),
        unit_costs=_unit_costs(totals, retained, metrics),
        joules=joules,
        joules_method=methods,
        pue=grid.pue,
        joules_per_sample=joules / samples if joules is not None and samples else None,
        carbon=_carbon(joules, usage, grid),
        sources=sources,
        metrics=_first_and_last(metrics),
        lost=tuple(lost),
        retained_step=retained.step if retained is not None else None,
    )


def receipt_from(account: Account, grid: GridFactor) -> Receipt:
    """The receipt of what the ledger holds about a run."""
    return build_receipt(
        run=account.run,
        attempts=account.attempts,
        lines=account.lines,
        prices=account.prices,
        snapshots=account.snapshots,
        usage=account.usage,
        metrics=account.metrics,
        retained=account.retained,
        lost=account.lost,
        grid=grid,
        settled=account.settled,
    )


def _sources(
    lines: Sequence[CostLine], prices: Mapping[str, Price], snapshots: Mapping[str, Mapping[str, object]]
) -> tuple[Source, ...]:
    found: list[Source] = []
    for price_id in dict.fromkeys(line.price_id for line in lines):
        price = prices.get(price_id)
        if price is None:  # `--verify` says so; the receipt itself must not break over it
            found.append(_gone(len(found) + 1, next(line for line in lines if line.price_id == price_id)))
            continue
        snapshot = snapshots.get(price.snapshot_sha, {})
        fetched = snapshot.get("fetched_at")
        found.append(
            Source(
                number=len(found) + 1,
                price_id=price_id,
                offering_key=price.offering_key,
                price_text=price.price_text,
                currency=price.currency,
                unit=price.unit,
                sku=price.sku,
                snapshot_sha=price.snapshot_sha,
                snapshot_source=str(snapshot.get("source", "")),
                fetched_at=fetched if isinstance(fetched, int) else None,
            )
        )
    return tuple(found)


def _gone(number: int, line: CostLine) -> Source:
    return Source(number, line.price_id, "?", "?", line.currency, line.unit, "?", "", "?", None)


def _rows(lines: Sequence[CostLine], numbers: Mapping[str, int]) -> tuple[ReceiptRow, ...]:
    groups: dict[tuple[int, str, str, str], list[CostLine]] = defaultdict(list)
    for line in lines:
        groups[line.attempt or 0, line.category, line.method, line.price_id].append(line)
    rows: list[ReceiptRow] = []
    for (attempt, category, method, price_id), group in sorted(groups.items()):
        with localcontext() as context:
            context.prec = 60
            quantity = sum((Decimal(line.quantity_text) for line in group), Decimal(0))
            base = quantity * (3600 if category == "compute" else JOULES_PER_KWH)
        span = max(line.stop for line in group) - min(line.start for line in group)
        rows.append(
            ReceiptRow(
                attempt=attempt,
                category=category,
                method=method,
                quantity=quantity,
                base_quantity=base,
                unit=group[0].unit,
                seconds=Decimal(span) / _MICRO,
                source=numbers[price_id],
                amount=Money.from_nano(sum(line.amount_nano for line in group), group[0].currency),
            )
        )
    return tuple(rows)


def _sum_by_currency(lines: Sequence[CostLine]) -> tuple[Money, ...]:
    sums: dict[str, int] = defaultdict(int)
    for line in lines:
        sums[line.currency] += line.amount_nano
    return tuple(Money.from_nano(nano, currency) for currency, nano in sorted(sums.items()))


def _waste(lines: Sequence[CostLine], totals: Sequence[Money]) -> tuple[WasteShare, ...]:
    whole = {total.currency: total.amount for total in totals}
    sums: dict[tuple[str, Waste], int] = defaultdict(int)
    for line in lines:
        sums[line.currency, line.waste] += line.amount_nano
    shares: list[WasteShare] = []
    for currency, total in whole.items():
        for waste in Waste:
            amount = Money.from_nano(sums[currency, waste], currency)
            share = float(amount.amount / total) if total else None
            shares.append(WasteShare(waste, amount, share))
    return tuple(shares)


_UNITS = {
    "step": "receipt.per_step",
    "1k_samples": "receipt.per_thousand_samples",
    "1m_tokens": "receipt.per_million_tokens",
    "point_of_loss": "receipt.per_point_of_loss",
}


def _unit_costs(
    totals: Sequence[Money], retained: ProgressRow | None, metrics: Sequence[Mapping[str, object]]
) -> tuple[UnitCost, ...]:
    """Cost of a unit of kept work; a point of loss by the held-out loss that the run reported."""
    loss = next((row for row in _first_and_last(metrics) if "loss" in row[0].lower()), None)
    kept = Kept(
        steps=None if retained is None else retained.step,
        samples=None if retained is None else retained.samples,
        tokens=None if retained is None else retained.tokens,
        first_loss=None if loss is None or retained is None else _finite(loss[1]),
        last_loss=None if loss is None or retained is None else _finite(loss[2]),
    )
    return tuple(
        UnitCost(_UNITS[unit], Money(amount, total.currency))
        for total in totals
        for unit, amount in per_unit(total.amount, kept).items()
    )


def _finite(value: object) -> Decimal | None:
    """A loss as a number; None of one that diverged."""
    number = Decimal(repr(value))
    return number if number.is_finite() else None


def _joules(usage: Mapping[tuple[int, Metric, str], int]) -> tuple[Decimal | None, tuple[str, ...]]:
    rows = {key: value for key, value in usage.items() if key[1] is Metric.ENERGY}
    if not rows:
        return None, ()
    methods = tuple(sorted({method for _attempt, _metric, method in rows}))
    return Decimal(sum(rows.values())) / _MICRO, methods


def _carbon(
    joules: Decimal | None, usage: Mapping[tuple[int, Metric, str], int], grid: GridFactor
) -> Carbon | None:
    if joules is None or grid.grams_per_kwh is None:
        return None
    grams = operational(joules / JOULES_PER_KWH, grid.pue, Sourced(grid.grams_per_kwh, grid.source))
    embodied = None
    if grid.embodied_grams_per_core_hour is not None:
        held = sum(value for (_n, metric, _how), value in usage.items() if metric is Metric.CORE_HELD)
        embodied = Decimal(held) / MICROSECONDS_PER_HOUR * grid.embodied_grams_per_core_hour
    return Carbon(
        grams,
        grid.grams_per_kwh,
        grid.location,
        grid.source,
        grid.alternatives,
        embodied,
        grid.embodied_source,
    )


def _first_and_last(metrics: Sequence[Mapping[str, object]]) -> tuple[tuple[str, float, float], ...]:
    seen: dict[str, list[float]] = {}
    for metric in metrics:
        seen.setdefault(str(metric["name"]), []).append(float(str(metric["value"])))
    return tuple((name, values[0], values[-1]) for name, values in seen.items())
