"""PURE. Types of the catalog."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

SITE_ID = "here"
PriceKind = Literal["on-demand", "reserved", "spot", "savings-plan", "block", "machines"]
PRICE_KINDS: tuple[PriceKind, ...] = ("on-demand", "reserved", "spot", "savings-plan", "block", "machines")


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


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One device as software sees it; None is unknown or not supported, never zero.

    `peak_flops` maps a precision to dense FLOP/s; link rates are one direction, per device. `assumed` names
    the fields that rest on general knowledge (`all`: the whole row).
    """

    key: str
    vendor: str
    name: str
    kind: str
    memory_bytes: int | None
    usable_memory_bytes: int | None
    memory_bytes_per_second: float | None
    peak_flops: dict[str, float]
    tdp_watts: float | None
    idle_watts: float | None
    intra_node_link: str
    intra_node_bytes_per_second: float | None
    host_link: str
    host_bytes_per_second: float | None
    year: int | None
    source: str
    assumed: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True)
class InstanceType:
    """The hardware of an EC2 instance type."""

    name: str
    vcpus: int
    memory_bytes: int
    accelerator: str | None
    accelerator_count: Decimal
    network_bytes_per_second: float | None
    efa: bool
    arch: str
    source: str
    quirk: str


@dataclass(frozen=True, slots=True)
class ListedPrice:
    """One observed price of an instance type in a region; times in UTC microseconds.

    `effective_to` None means that the newest table still shows it; `dated` False means that nobody knows
    when it held: good for an estimate that says so, never for a bill. `zone` is an availability zone's id
    (names differ from account to account), `terms` those of a contract, both empty where there are none.
    """

    instance: str
    region: str
    capacity: str
    currency: str
    price_text: str
    effective_from: int
    effective_to: int | None
    last_seen: int
    source: str
    dated: bool = True
    zone: str = ""
    terms: str = ""
    provider: str = "aws"

    @property
    def place(self) -> tuple[str, ...]:
        """What the price is of: provider, region, instance, capacity, zone (by its id) and terms."""
        return self.provider, self.region, self.instance, self.capacity, self.zone, self.terms

    def holds_at(self, at: int) -> bool:
        """Whether the price is in force at a time (start included, end excluded)."""
        return self.effective_from <= at and (self.effective_to is None or at < self.effective_to)


@dataclass(frozen=True, slots=True)
class ServicePrice:
    """A price of something beside machines: storage, transfer, control planes.

    `tier_from` and `tier_to` count a month's units over the whole account (None: from 0, without end).
    """

    service: str
    item: str
    region: str
    unit: str
    price: Decimal
    currency: str
    tier_from: Decimal | None
    tier_to: Decimal | None
    source: str
    as_of: str
    note: str


@dataclass(frozen=True, slots=True)
class ServerPrice:
    """What a server with accelerators costs, as ranges in USD, and what it draws (W); None is unknown."""

    key: str
    accelerator: str
    count: int
    low: float | None
    typical: float | None
    high: float | None
    watts: float | None
    source: str


@dataclass(frozen=True, slots=True)
class GridFactor:
    """Average grams of CO2e per kWh of a grid, by one source."""

    region: str
    location: str
    grams_per_kwh: Decimal
    source: str
    data_year: str
    as_of: str


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """The price data that ship with the package: hash, newest observation, and licence."""

    sha256: str
    as_of: int
    source: str
    licence: str


@dataclass(frozen=True, slots=True)
class ThroughputRow:
    """One published measurement; None is what its source does not say.

    Rates are per device: tokens per second, model FLOPs per second (nothing computed again); `mfu` is a
    fraction of the peak that the source took. `source` is the repository and path, without the commit.
    """

    row_id: str
    model: str
    parameters: float | None
    active_parameters: float | None
    accelerator: str
    count: int
    task: str
    parallelism: str
    seq_len: int | None
    global_batch: int | None
    micro_batch: int | None
    precision: str
    recompute: str
    tokens_per_second: float | None
    mfu: float | None
    model_flops_per_second: float | None
    source: str
    year: int
    note: str
