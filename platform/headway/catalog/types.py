"""PURE. Types of the catalog."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from decimal import Decimal

SITE_ID = "here"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The bytes that prices were read from, and what is known of them."""

    body: bytes
    source: str
    licence: str
    fetched_at: int

    @property
    def sha256(self) -> str:
        """Hash of the bytes: prices name it, and `receipt --verify` hashes them again."""
        return hashlib.sha256(self.body).hexdigest()


@dataclass(frozen=True, slots=True)
class HereFigures:
    """What this machine is assumed to cost; ratios are fractions, money in `currency`.

    `grams_co2e_per_kwh` is None where no source tells the grid of `location`.
    """

    currency: str
    effective_from: int
    server_price: Decimal
    server_cores: int
    add_on_ratio: Decimal
    residual_ratio: Decimal
    cost_of_capital: Decimal
    life_years: Decimal
    maintenance_ratio: Decimal
    utilisation: Decimal
    core_hour_price: Decimal | None
    tariff_per_kwh: Decimal
    core_idle_watts: Decimal
    core_busy_watts: Decimal
    pue: Decimal
    location: str
    cores_limit: int | None
    grams_co2e_per_kwh: Decimal | None
    server_source: str
    power_source: str
    tariff_source: str
    carbon_source: str
    carbon_alternatives: str
    snapshot: Snapshot
