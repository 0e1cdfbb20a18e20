"""The price of a rented node-hour: list price or observation, then the user's price book over it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from headway.controller.pricing import Market
from headway.costing.layers import PrivateRate, apply_layers
from headway.planner.search import CONTRACTS


@dataclass(frozen=True, slots=True)
class Place:
    """What a price is of: a machine type of a provider in a region, in a capacity."""

    provider: str
    region: str
    instance: str
    capacity: str


@dataclass(frozen=True, slots=True)
class Quote:
    """A price per node-hour after the price book, how it is known, and where it stands."""

    price: Decimal | None
    currency: str
    basis: str
    source: str


def places(market: Market, now: int) -> Iterator[Place]:
    """Everything that has a price now, each once: in the table, or in the price book alone."""
    priced = (*market.table.all_in_force(now), *market.table.observed)
    found = {Place(one.provider, one.region, one.instance, one.capacity): None for one in priced}
    for layer in market.book.layers:
        if isinstance(layer, PrivateRate) and layer.holds_at(now):
            found[Place("aws", layer.region, layer.instance, layer.capacity)] = None
    yield from found


def quote(market: Market, place: Place, now: int) -> Quote:
    """The price in force and its basis; where there is none, why.

    Of several zones or terms in force it is the cheapest, of undated observations the middle one.
    """
    table, capacity = market.table, place.capacity
    rows = table.in_force(place.region, place.instance, capacity, now, place.provider)
    mine = place.provider == "aws"
    observed = [] if rows or not mine else table.observations(place.region, place.instance, capacity)
    row = rows[0] if rows else (observed[(len(observed) - 1) // 2] if observed else None)
    basis = f"no {capacity} price in the snapshot; headway prices refresh fetches it"
    if capacity in CONTRACTS:
        basis = f"no {capacity} rate is known; your own price book states it, or headway prices refresh"
    if row is not None and observed:
        basis = "assumed: undated spot observation, middle of zones"
    elif row is not None:
        where = f" in {row.zone}" if row.zone else ""
        offered = " on offer" if capacity in CONTRACTS else ""
        basis = f"{'list price' if capacity == 'on-demand' else capacity}{offered}{where}"
        basis = f"{basis}, {row.terms}" if row.terms else basis
        basis = basis if mine else f"imported {basis}"
    listed, currency = (None, "USD") if row is None else (Decimal(row.price_text), row.currency)
    source = "" if row is None else f"{row.source}; snapshot {table.sha256[:12]}"
    if not mine:  # the price book is of AWS: names of instances elsewhere mean something else
        return Quote(listed, currency, basis, source)
    priced = apply_layers(
        listed, currency, market.book.layers,
        instance=place.instance, region=place.region, capacity=capacity, at=now,
    )  # fmt: skip
    if priced.steps:
        basis = "; ".join([basis, *priced.steps] if row is not None else priced.steps)
    if priced.steps and market.book.path is not None:
        source = "; ".join(part for part in (source, f"price book {market.book.path.name}") if part)
    return Quote(priced.price, priced.currency, basis, source)
