"""PURE. Prices of this machine from its figures: amortised per core-hour, and the tariff per kWh."""

from __future__ import annotations

from decimal import Decimal

from headway.catalog.types import SITE_ID, HereFigures
from headway.costing.lines import Rate, core_rate, energy_rate
from headway.costing.owned import OwnedServer, cost_per_delivered_hour, fixed_cost_per_hour
from headway.costing.prices import Price

_SIX_DIGITS = Decimal("0.000001")


def core_hour_price(figures: HereFigures) -> Decimal:
    """Price of one core-hour, to six decimals: as stated, else the server's delivered hour by cores."""
    if figures.core_hour_price is not None:
        return figures.core_hour_price
    server = OwnedServer(
        price=figures.server_price,
        add_on_ratio=figures.add_on_ratio,
        residual_ratio=figures.residual_ratio,
        cost_of_capital=figures.cost_of_capital,
        life_years=figures.life_years,
        maintenance_ratio=figures.maintenance_ratio,
    )
    per_hour = cost_per_delivered_hour(fixed_cost_per_hour(server), figures.utilisation)
    return (per_hour / figures.server_cores).quantize(_SIX_DIGITS)


def here_prices(figures: HereFigures) -> list[Price]:
    """The two prices of this machine, both open-ended."""

    def make(key: str, unit: str, amount: Decimal, sku: str) -> Price:
        return Price(
            snapshot_sha=figures.snapshot.sha256,
            offering_key=f"{SITE_ID}/{key}",
            unit=unit,
            price_text=f"{amount:f}",
            currency=figures.currency,
            effective_from=figures.effective_from,
            effective_to=None,
            sku=sku,
        )

    return [
        make("core", "core-hour", core_hour_price(figures), figures.server_source),
        make("energy", "kWh", figures.tariff_per_kwh, figures.tariff_source),
    ]


def here_rates(figures: HereFigures) -> list[Rate]:
    """How this machine's usage is priced."""
    return [core_rate(SITE_ID), energy_rate(SITE_ID, figures.pue)]
