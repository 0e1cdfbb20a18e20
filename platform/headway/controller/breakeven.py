"""Owned against rented: a server that is stated, or an owned site, beside each rented machine of its kind."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

from headway.catalog.tables import accelerators, server_prices
from headway.controller.pricing import market_of, sites_of
from headway.controller.quotes import places, quote
from headway.costing.breakeven import (
    HOURS_PER_MONTH,
    break_even_utilisation,
    energy_per_hour,
    hours_to_break_even,
    mean_tariff,
)
from headway.costing.owned import HOURS_PER_YEAR, OwnedServer, fixed_cost_per_hour
from headway.errors import NotFoundError, UserError
from headway.planner.uncertainty import Outcome, Spread, Swing, outcome, tornado
from headway.settings import Settings
from headway.spec.sites import OwnedSite
from headway.units import Money


@dataclass(frozen=True, slots=True)
class OwnedCase:
    """An owned server; money in one currency, `use` is the share of its hours that it would work."""

    accelerator: str
    gpus: int
    price: Money
    kilowatts: Decimal
    pue: Decimal
    per_kwh: Decimal
    life_years: Decimal
    residual: Decimal
    cost_of_capital: Decimal
    maintenance: Decimal
    yearly: Decimal
    add_on: Decimal
    demand_per_kilowatt_month: Decimal
    use: Decimal


@dataclass(frozen=True, slots=True)
class Rented:
    """The rented price of as many devices for an hour, and where it stands."""

    name: str
    per_hour: Decimal
    basis: str


@dataclass(frozen=True, slots=True)
class BreakEven:
    """One rented machine against the owned server.

    `hours` of use after which all that owning costs over its life is less than renting; None: not within its
    life. `purchase_hours` counts the purchase and energy alone, as vendors do.
    """

    rented: Rented
    hours: Decimal | None
    purchase_hours: Decimal | None
    utilisation: Decimal | None
    owned_total: Decimal
    rented_total: Decimal
    uncertain: Outcome
    swings: tuple[Swing, ...]


@dataclass(frozen=True, slots=True)
class BreakEvens:
    """The owned server's own figures, and all comparisons, dearest first."""

    case: OwnedCase
    fixed_per_hour: Decimal
    energy_per_hour: Decimal
    per_gpu_hour: Decimal
    rows: tuple[BreakEven, ...]
    spreads: Mapping[str, Spread]
    published: str


def break_evens(settings: Settings, case: OwnedCase) -> BreakEvens:
    """Compare a server with every rented machine whose devices are of its kind, by the same number of them.

    Raises:
        UserError: no price of such a machine is known in the server's currency.
    """
    fixed, energy = _per_hour(case)
    rented = _rented(settings, case)
    if not rented:
        raise UserError("breakeven.nothing", accelerator=case.accelerator, currency=case.price.currency)
    spreads = _spreads(case)

    @cache  # the same draws for each rented machine
    def fixed_at(price: float, life_years: float) -> float:
        server = _server(case, Decimal(repr(price)), Decimal(repr(life_years)))
        return float(fixed_cost_per_hour(server))

    rows = [_compare(case, one, (fixed, energy), spreads, fixed_at) for one in rented]
    each = (fixed / case.use + energy) / case.gpus
    return BreakEvens(case, fixed, energy, each, tuple(rows), spreads, _published(case))


def _per_hour(case: OwnedCase) -> tuple[Decimal, Decimal]:
    energy = energy_per_hour(case.kilowatts, case.pue, case.per_kwh, case.demand_per_kilowatt_month)
    return fixed_cost_per_hour(_server(case, case.price.amount, case.life_years)), energy


def _server(case: OwnedCase, price: Decimal, life_years: Decimal) -> OwnedServer:
    return OwnedServer(
        price, case.add_on, case.residual, case.cost_of_capital, life_years, case.maintenance, case.yearly
    )


def _rented(settings: Settings, case: OwnedCase) -> list[Rented]:
    market, now = market_of(settings), time.time_ns() // 1000
    found: list[Rented] = []
    for place in places(market, now):
        kind = market.machines.get((place.provider, place.instance))
        if kind is None or kind.accelerator != case.accelerator or not kind.accelerator_count:
            continue
        known = quote(market, place, now)
        if known.price is None or known.currency != case.price.currency:
            continue
        name = f"{place.provider}/{place.region}/{place.instance}/{place.capacity}"
        found.append(Rented(name, known.price * case.gpus / kind.accelerator_count, known.basis))
    return sorted(found, key=lambda one: (-one.per_hour, one.name))


def _spreads(case: OwnedCase) -> dict[str, Spread]:
    """Ranges of the figures that are not known for years ahead, assumed; the price is the one stated."""
    price, per_kwh, kilowatts = float(case.price.amount), float(case.per_kwh), float(case.kilowatts)
    use, life = float(case.use), float(case.life_years)
    return {
        "server price": Spread(price * 0.9, price, price * 1.1),
        "rented price": Spread(0.6, 1.0, 1.15),
        "tariff": Spread(per_kwh * 0.7, per_kwh, per_kwh * 1.6),
        "power": Spread(kilowatts * 0.75, kilowatts, kilowatts * 1.25),
        "life": Spread(min(3.0, life), life, max(6.0, life)),
        "use": Spread(max(min(0.05, use), use - 0.3), use, min(1.0, use + 0.2)),
    }


def _published(case: OwnedCase) -> str:
    """What such servers cost as published, beside the price that was stated; empty where nothing is."""
    if case.price.currency != "USD":
        return ""
    ranges = [
        f"{row.low / row.count * case.gpus:,.0f}-{row.high / row.count * case.gpus:,.0f} USD ({row.key})"
        for row in server_prices()
        if row.accelerator == case.accelerator and row.low is not None and row.high is not None
    ]
    return "; ".join(ranges)


def _compare(
    case: OwnedCase,
    rented: Rented,
    per_hour: tuple[Decimal, Decimal],
    spreads: Mapping[str, Spread],
    fixed_at: Callable[[float, float], float],
) -> BreakEven:
    fixed, energy = per_hour
    life_hours = case.life_years * HOURS_PER_YEAR
    share = break_even_utilisation(fixed, energy, rented.per_hour)
    monthly = float(case.demand_per_kilowatt_month / HOURS_PER_MONTH)

    def saved_share(values: Mapping[str, float]) -> float:
        """What owning saves of renting over the life, as a share: the figure that ranges are put through."""
        drawn = values["power"] * float(case.pue) * (values["tariff"] + monthly)
        per_use = fixed_at(values["server price"], values["life"]) / values["use"] + drawn
        return 1 - per_use / (float(rented.per_hour) * values["rented price"])

    return BreakEven(
        rented,
        None if share is None else share * life_hours,
        hours_to_break_even(case.price.amount * (1 + case.add_on), energy, rented.per_hour),
        share,
        (fixed + energy * case.use) * life_hours,
        rented.per_hour * case.use * life_hours,
        outcome(spreads, saved_share),
        tuple(tornado(spreads, saved_share)),
    )


_DEFAULTS = {
    "pue": "1.4", "life": "5", "residual": "0.1", "capital": "0.08", "maintenance": "0.03", "add_on": "0",
    "use": "0.7",
}  # fmt: skip


def case_of(settings: Settings, site: str | None, said: Mapping[str, Any]) -> OwnedCase:
    """The server of an owned site, or of the command line; what is said there counts before the site's.

    Raises:
        NotFoundError: there is no owned site of that name, or its server has no GPUs.
        UserError: a figure is missing that nobody can assume: accelerator, GPUs, price, watts, tariff.
    """
    given = {**_DEFAULTS, **(_of_site(settings, site) if site is not None else {})}
    given.update(
        {
            key: str_money(value) if isinstance(value, Money) else str(value)
            for key, value in said.items()
            if value is not None
        }
    )
    missing = [name for name in ("accelerator", "gpus", "price", "watts", "tariff") if name not in given]
    if missing:
        raise UserError("breakeven.missing", names=", ".join(f"--{name}" for name in missing))
    if given["accelerator"] not in accelerators():
        raise UserError("sites.not_accelerator", accelerator=given["accelerator"])
    price = Money.parse(given["price"])
    if not price.amount:
        raise UserError("breakeven.no_price")

    def amount(name: str) -> Decimal:
        if name not in given:
            return Decimal(0)
        found = Money.parse(given[name])
        if found.currency != price.currency:
            raise UserError("breakeven.currency", name=name, given=found.currency, wanted=price.currency)
        return found.amount

    return OwnedCase(
        accelerator=given["accelerator"],
        gpus=int(given["gpus"]),
        price=price,
        kilowatts=Decimal(given["watts"]) / 1000,
        pue=Decimal(given["pue"]),
        per_kwh=amount("tariff"),
        life_years=Decimal(given["life"]),
        residual=Decimal(given["residual"]),
        cost_of_capital=Decimal(given["capital"]),
        maintenance=Decimal(given["maintenance"]),
        yearly=amount("yearly"),
        add_on=Decimal(given["add_on"]),
        demand_per_kilowatt_month=amount("demand"),
        use=Decimal(given["use"]),
    )


def _of_site(settings: Settings, name: str) -> dict[str, str]:
    sites = [site for site in sites_of(settings).spec.sites if isinstance(site, OwnedSite)]
    site = next((one for one in sites if one.name == name), None)
    if site is None or site.server.accelerator is None:
        raise NotFoundError("breakeven.no_site", name=name, known=", ".join(one.name for one in sites) or "-")
    monthly = sum((part.amount for part in (site.colo, site.staff) if part is not None), Decimal(0))
    tariff = mean_tariff(
        [(Decimal(part.end - part.start) / 60, part.price.amount) for part in site.stretches]
    )
    found = {
        "accelerator": site.server.accelerator,
        "gpus": str(site.server.gpus),
        "price": str_money(site.server.price),
        "watts": repr(site.power_watts),
        "tariff": f"{tariff:f} {site.currency}",
        "pue": repr(site.pue),
        "life": repr(site.life_years),
        "residual": repr(site.residual),
        "capital": repr(site.cost_of_capital),
        "maintenance": "0",
        "yearly": f"{monthly * 12:f} {site.currency}",
    }
    return found if site.utilisation is None else {**found, "use": repr(site.utilisation)}


def str_money(money: Money) -> str:
    """Money as `Money.parse` reads it."""
    return f"{money.amount:f} {money.currency}"
