"""PURE. All known prices as one table: the package's, what was fetched since, what was imported.

A fetched price that differs from the package's follows it in time; what held before still holds then, so
costing an old run gives the same before and after a refresh. Imported prices are what a person states: each
holds from the day that it names, and from then on the newest import of a place is the one in force.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property

from headway.catalog.types import ListedPrice

DAY = 86_400_000_000


@dataclass(frozen=True)
class PriceTable:
    """Dated prices, each place's in order of time, and undated observations apart.

    `sha256` is the hash of what the prices were read from, `as_of` the newest day on which AWS's prices were
    looked up (UTC µs), by the package or by a refresh: an import never makes those look newer.
    """

    dated: tuple[ListedPrice, ...]
    observed: tuple[ListedPrice, ...]
    sha256: str
    as_of: int
    source: str

    @cached_property
    def _by_kind(self) -> dict[tuple[str, str, str, str], list[ListedPrice]]:
        found: dict[tuple[str, str, str, str], list[ListedPrice]] = defaultdict(list)
        for price in self.dated:
            found[price.provider, price.region, price.instance, price.capacity].append(price)
        return dict(found)

    def in_force(
        self, region: str, instance: str, capacity: str, at: int, provider: str = "aws"
    ) -> list[ListedPrice]:
        """The prices in force at a time, cheapest first: one, or one a zone or contract term."""
        rows = self._by_kind.get((provider, region, instance, capacity), [])
        held = [row for row in rows if row.holds_at(at)]
        return sorted(held, key=lambda row: (Decimal(row.price_text), row.zone, row.terms))

    def all_in_force(self, at: int) -> list[ListedPrice]:
        """Every dated price that holds at a time."""
        return [price for price in self.dated if price.holds_at(at)]

    def observations(self, region: str, instance: str, capacity: str) -> list[ListedPrice]:
        """Undated prices, cheapest first; none where dated ones are known."""
        if self._by_kind.get(("aws", region, instance, capacity)):
            return []
        rows = [
            row
            for row in self.observed
            if (row.region, row.instance, row.capacity) == (region, instance, capacity)
        ]
        return sorted(rows, key=lambda row: Decimal(row.price_text))


def merged(packaged: Iterable[ListedPrice], fetched: Sequence[ListedPrice]) -> tuple[ListedPrice, ...]:
    """The package's prices and those fetched since, as one series a place."""
    series: dict[tuple[str, ...], list[ListedPrice]] = defaultdict(list)
    for price in packaged:
        series[price.place].append(price)
    for price in sorted(fetched, key=lambda one: one.effective_from):
        _append(series[price.place], price)
    return tuple(price for rows in series.values() for price in rows)


def _append(rows: list[ListedPrice], new: ListedPrice) -> None:
    last = rows[-1] if rows else None
    if last is None or last.capacity != "on-demand":
        rows.append(new)
        return
    if (last.price_text, last.currency) == (new.price_text, new.currency):
        rows[-1] = replace(last, effective_to=new.effective_to, last_seen=max(last.last_seen, new.last_seen))
        return
    # A date of effect before the day on which the other price was still seen cannot be right.
    start = max(new.effective_from, last.last_seen + DAY if last.last_seen else last.effective_from + 1)
    rows[-1] = replace(last, effective_to=min(start, last.effective_to or start))
    rows.append(replace(new, effective_from=start))


def imported_series(imported: Iterable[ListedPrice]) -> tuple[ListedPrice, ...]:
    """Imported prices, the oldest import first, as one series a place."""
    series: dict[tuple[str, ...], list[ListedPrice]] = defaultdict(list)
    for price in imported:
        rows = series[price.place]
        rows[:] = _overruled(rows, price)
    return tuple(price for rows in series.values() for price in rows)


def _overruled(rows: Sequence[ListedPrice], new: ListedPrice) -> list[ListedPrice]:
    earlier = [row for row in rows if row.effective_from < new.effective_from]
    if not earlier:
        return [new]
    last = earlier[-1]
    if (last.price_text, last.currency) == (new.price_text, new.currency):
        return [*earlier[:-1], replace(new, effective_from=last.effective_from)]
    return [*earlier[:-1], replace(last, effective_to=new.effective_from), new]


@dataclass(frozen=True, slots=True)
class Change:
    """A price that is another than before; None on a side where there was none."""

    now: ListedPrice | None
    before: ListedPrice | None


def differences(before: PriceTable, after: PriceTable, at: int) -> list[Change]:
    """Prices in force that are others than before, new, or gone."""
    old = {price.place: price for price in before.all_in_force(at)}
    new = {price.place: price for price in after.all_in_force(at)}
    return [
        Change(new.get(place), old.get(place))
        for place in sorted({*old, *new})
        if _amount(new.get(place)) != _amount(old.get(place))
    ]


def _amount(price: ListedPrice | None) -> tuple[str, str] | None:
    return None if price is None else (price.price_text, price.currency)
