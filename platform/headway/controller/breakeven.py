"""Owned against rented: a server that is stated, or an owned site, beside each rented machine of its kind."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from headway.catalog.tables import accelerators, server_prices
from headway.controller.pricing import market_of, sites_of
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
    """One rented machine against the owned server."""

    rented: Rented
    hours: Decimal | None
    months: Decimal | None
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
    price_source: str


def break_evens(settings: Settings, case: OwnedCase) -> BreakEvens:
    """Compare a server with every rented machine whose devices are of its kind, by the same number of them.

    Raises:
        UserError: no price of such a machine is known in the server's currency.
    """
    fixed, energy = _per_hour(case)
    rented = _rented(settings, case)
    if not rented:
        raise UserError("breakeven.nothing", accelerator=case.accelerator, currency=case.price.currency)
    spreads, source = _spreads(case)
    rows = [_compare(case, one, fixed, energy, spreads) for one in rented]
    return BreakEvens(
        case, fixed, energy, (fixed / case.use + energy) / case.gpus, tuple(rows), spreads, source
    )


def _per_hour(case: OwnedCase) -> tuple[Decimal, Decimal]:
    server = OwnedServer(
        case.price.amount, case.add_on, case.residual, case.cost_of_capital, case.life_years,
        case.maintenance, case.yearly,
    )  # fmt: skip
    energy = energy_per_hour(case.kilowatts, case.pue, case.per_kwh, case.demand_per_kilowatt_month)
    return fixed_cost_per_hour(server), energy


def _rented(settings: Settings, case: OwnedCase) -> list[Rented]:
    market, now = market_of(settings), time.time_ns() // 1000
    found: dict[str, Rented] = {}
    for price in (*market.table.all_in_force(now), *market.table.observed):
        kind = market.machines.get((price.provider, price.instance))
        if kind is None or kind.accelerator != case.accelerator or not kind.accelerator_count:
            continue
        if price.currency != case.price.currency:
            continue
        per_hour = Decimal(price.price_text) * case.gpus / kind.accelerator_count
        name = f"{price.provider}/{price.region}/{price.instance}/{price.capacity}"
        basis = "list price" if price.dated else "assumed: undated observation"
        if name not in found or per_hour < found[name].per_hour:
            found[name] = Rented(name, per_hour, basis)
    return sorted(found.values(), key=lambda one: (-one.per_hour, one.name))


def _spreads(case: OwnedCase) -> tuple[dict[str, Spread], str]:
    """Ranges of the uncertain figures: the server's price as published, the others assumed."""
    price = float(case.price.amount)
    known = [row for row in server_prices() if row.accelerator == case.accelerator and row.low is not None]
    low, high, source = price * 0.8, price * 1.3, "assumed: 80 % to 130 % of the price"
    if known and case.price.currency == "USD":
        each = [(row.low or 0.0, row.high or 0.0, row.count) for row in known]
        scaled = [(a / n * case.gpus, b / n * case.gpus) for a, b, n in each]
        low, high = min(price, *(a for a, _b in scaled)), max(price, *(b for _a, b in scaled))
        source = "; ".join(row.key for row in known)
    use = float(case.use)
    return {
        "server price": Spread(low, price, high),
        "rented price": Spread(0.6, 1.0, 1.15),
        "tariff": Spread(float(case.per_kwh) * 0.7, float(case.per_kwh), float(case.per_kwh) * 1.6),
        "power": Spread(float(case.kilowatts) * 0.75, float(case.kilowatts), float(case.kilowatts) * 1.25),
        "life": Spread(3.0, float(case.life_years), max(6.0, float(case.life_years))),
        "use": Spread(max(0.05, use - 0.3), use, min(1.0, use + 0.2)),
    }, source


def _compare(
    case: OwnedCase, rented: Rented, fixed: Decimal, energy: Decimal, spreads: Mapping[str, Spread]
) -> BreakEven:
    hours = hours_to_break_even(case.price.amount * (1 + case.add_on), energy, rented.per_hour)
    life_hours = case.life_years * HOURS_PER_YEAR

    def saved_share(values: Mapping[str, float]) -> float:
        """What owning saves of renting over the life, as a share: the figure that ranges are put through."""
        capital = values["server price"] * (1 + float(case.add_on))
        fixed_hour = float(fixed) * capital / float(case.price.amount * (1 + case.add_on))
        fixed_hour *= float(case.life_years) / values["life"]
        per_use = fixed_hour / values["use"] + values["power"] * float(case.pue) * values["tariff"]
        return 1 - per_use / (float(rented.per_hour) * values["rented price"])

    return BreakEven(
        rented,
        hours,
        None if hours is None else hours / HOURS_PER_MONTH,
        break_even_utilisation(fixed, energy, rented.per_hour),
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
