"""Adding an owned server to the user's sites file, and what a GPU-hour of it costs."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

from headway.catalog.tables import accelerators
from headway.costing.owned import OwnedServer, cost_per_delivered_hour, fixed_cost_per_hour
from headway.errors import ConfigError, UserError
from headway.settings import Settings
from headway.spec.files import load_sites
from headway.units import Money

LIFE_YEARS = Decimal(5)
RESIDUAL = Decimal("0.1")
COST_OF_CAPITAL = Decimal("0.08")
PUE = Decimal("1.4")


def gpu_hour_prices(
    server: Money, gpus: int, watts: float, per_kwh: Money, shares: Sequence[str]
) -> list[tuple[str, Decimal]]:
    """What one GPU-hour costs at some utilisations: amortised price over use, plus energy.

    Raises:
        ConfigError: price and tariff are in different currencies.
    """
    if server.currency != per_kwh.currency:
        raise ConfigError("sites.two_currencies", price=server.currency, tariff=per_kwh.currency)
    fixed = fixed_cost_per_hour(
        OwnedServer(server.amount, Decimal(0), RESIDUAL, COST_OF_CAPITAL, LIFE_YEARS, Decimal(0))
    )
    energy = Decimal(repr(watts)) / 1000 * PUE * per_kwh.amount
    return [(share, (cost_per_delivered_hour(fixed, Decimal(share)) + energy) / gpus) for share in shares]


def add_site(
    settings: Settings, name: str, server: Money, gpus: int, watts: float, per_kwh: Money, accelerator: str
) -> Path:
    """Write the site into the user's sites file, whole or not at all; gives the file.

    Raises:
        UserError: the accelerator is not known.
        ConfigError: the amounts are in two currencies.
        SpecProblems: the file as it would be is not right, such as a name that is there already.
    """
    if accelerator not in accelerators():
        raise UserError("sites.no_accelerator", accelerator=accelerator, site=name)
    if server.currency != per_kwh.currency:
        raise ConfigError("sites.two_currencies", price=server.currency, tariff=per_kwh.currency)
    path = settings.sites_path or settings.home / "sites.yaml"
    before = path.read_text(encoding="utf-8") if path.is_file() else "version: 1\nsites:\n"
    if "\nsites:" not in f"\n{before}":
        before = before.rstrip("\n") + "\nsites:\n"
    entry = (
        f"  - name: {name}\n    kind: owned\n    currency: {server.currency}\n"
        f"    server: {{price: {server.amount} {server.currency}, cores: 64, gpus: {gpus},"
        f" accelerator: {accelerator}}}\n"
        f"    life_years: {LIFE_YEARS}\n    residual: {RESIDUAL}\n    cost_of_capital: {COST_OF_CAPITAL}\n"
        f"    power_watts: {watts:g}\n    pue: {PUE}\n    tariff: {per_kwh.amount} {per_kwh.currency}\n"
        f"    pools:\n      - {{name: gpus, max_nodes: 1}}\n"
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.draft")
    draft.write_text(before.rstrip("\n") + "\n" + entry, encoding="utf-8")
    try:
        load_sites(draft)
    except BaseException:
        draft.unlink()
        raise
    draft.rename(path)
    return path
