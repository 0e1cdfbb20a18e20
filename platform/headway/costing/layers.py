"""PURE. A price book's layers over list prices: discounts and private rates in order, credits at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase

from headway.costing.commitments import effective_rate


@dataclass(frozen=True, slots=True)
class DiscountLayer:
    """A share off the price of what the patterns name; times in UTC µs, None without end."""

    name: str
    share: Decimal
    instances: tuple[str, ...]
    regions: tuple[str, ...]
    capacities: tuple[str, ...]
    start: int | None
    stop: int | None


@dataclass(frozen=True, slots=True)
class PrivateRate:
    """A rate per node-hour that replaces whatever stood there before."""

    name: str
    instance: str
    region: str
    capacity: str
    hourly: Decimal
    upfront: Decimal
    years: int | None
    currency: str
    start: int | None
    stop: int | None

    def holds_at(self, at: int) -> bool:
        """Whether it is in force at a time."""
        return _holds(self.start, self.stop, at)

    @property
    def rate(self) -> Decimal:
        """The hourly rate with the upfront part spread over the term."""
        if self.years is None:
            return self.hourly
        return effective_rate(self.hourly, self.upfront, Decimal(self.years))


@dataclass(frozen=True, slots=True)
class Credit:
    """An amount off the total of what is charged while it holds."""

    name: str
    amount: Decimal
    currency: str
    start: int | None
    stop: int | None


@dataclass(frozen=True, slots=True)
class Priced:
    """A price after all layers, and what each of them did; None where nothing priced it."""

    price: Decimal | None
    currency: str
    steps: tuple[str, ...]


Layer = DiscountLayer | PrivateRate


def _holds(start: int | None, stop: int | None, at: int) -> bool:
    return (start is None or start <= at) and (stop is None or at < stop)


def apply_layers(
    listed: Decimal | None,
    currency: str,
    layers: Iterable[Layer],
    *,
    instance: str,
    region: str,
    capacity: str,
    at: int,
) -> Priced:
    """The price of a node-hour after the layers that speak of it, in their order.

    A private rate replaces the list price with its currency too: it is what is really paid.
    """
    price, steps = listed, []
    for layer in layers:
        if not _holds(layer.start, layer.stop, at):
            continue
        if isinstance(layer, PrivateRate):
            if (layer.instance, layer.region, layer.capacity) != (instance, region, capacity):
                continue
            price, currency = layer.rate, layer.currency
            steps.append(f"{layer.name}: {price:f} {currency}")
        elif price is not None and _speaks(layer, instance, region, capacity):
            price = price * (1 - layer.share)
            steps.append(f"{layer.name}: -{layer.share * 100:f} %")
    return Priced(price, currency, tuple(steps))


def _speaks(layer: DiscountLayer, instance: str, region: str, capacity: str) -> bool:
    return (
        capacity in layer.capacities
        and any(fnmatchcase(instance, pattern) for pattern in layer.instances)
        and any(fnmatchcase(region, pattern) for pattern in layer.regions)
    )


@dataclass(frozen=True, slots=True)
class Drawn:
    """What credits paid of each charge, in the order of the charges, and what is left of those that hold."""

    paid: tuple[Decimal, ...]
    left: Decimal


def draw_credits(
    charges: Sequence[tuple[int, Decimal]], currency: str, given: Sequence[Credit], at: int
) -> Drawn:
    """Let credits pay charges (UTC µs, amount) from the earliest on; none is spent twice.

    `left` is what the credits that hold at `at` have left by then, all charges given being earlier.
    """
    pots = [(credit, [credit.amount]) for credit in given if credit.currency == currency]
    paid = [Decimal(0)] * len(charges)
    for place in sorted(range(len(charges)), key=lambda one: charges[one][0]):
        moment, owed = charges[place]
        for credit, pot in pots:
            if _holds(credit.start, credit.stop, moment):
                part = min(pot[0], owed - paid[place])
                pot[0] -= part
                paid[place] += part
    left = sum((pot[0] for credit, pot in pots if _holds(credit.start, credit.stop, at)), Decimal(0))
    return Drawn(tuple(paid), left)
