"""PURE. What a planner works with: offerings, work, limits; and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from headway.costing.tiers import Tier
from headway.profile.types import ModelProfile


@dataclass(frozen=True, slots=True)
class Range:
    """A prediction with its interval, and how it is known."""

    expected: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Efficiency:
    """The share of a device's peak that training reaches, with its spread and where that comes from."""

    expected: float
    low: float
    high: float
    basis: str


@dataclass(frozen=True, slots=True)
class Egress:
    """What a GB costs that leaves a site, by tiers of a month."""

    tiers: tuple[Tier, ...]
    currency: str


@dataclass(frozen=True, slots=True)
class Offering:
    """A machine type at a site in a capacity, at a price at a time.

    `price_per_hour` is for one node without energy where the site meters energy apart (`tariff_per_kwh`),
    all-in otherwise; None is unpriced, and `price_basis` then says what would price it.
    `interruptions_per_hour` is per node. A `processor` has no accelerators: its devices are cores.
    `latency_seconds` is that to the data; `interconnects` are the links between devices that it has; `egress`
    is what leaves the site at a price; None is unknown. `queue_seconds` is the wait for machines, as stated.
    """

    key: str
    site: str
    region: str | None
    capacity: str
    instance: str
    accelerator: str
    accelerator_name: str
    devices: int
    memory_bytes: int
    peak_flops: dict[str, float]
    device_link_bytes_per_second: float
    node_link_bytes_per_second: float
    max_nodes: int
    price_per_hour: Decimal | None
    currency: str
    price_basis: str
    price_source: str
    tariff_per_kwh: Decimal | None
    node_watts: float
    pue: float
    grams_per_kwh: float | None
    interruptions_per_hour: float
    start_seconds: float
    efficiency: Efficiency
    sensitivities: tuple[str, ...]
    launchable: bool
    processor: bool = False
    latency_seconds: float | None = None
    interconnects: tuple[str, ...] = ()
    egress: Egress | None = None
    queue_seconds: float = 0.0

    @property
    def hardware(self) -> tuple[object, ...]:
        """All that a layout and its speed depend on, without place and price."""
        return (
            self.accelerator, self.processor, self.devices, self.memory_bytes, tuple(self.peak_flops.items()),
            self.device_link_bytes_per_second, self.node_link_bytes_per_second, self.efficiency,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Work:
    """How much is trained: samples of `seq_len` tokens in global batches.

    `lean` is the profile with all exact layer techniques, where the job allows them. `data_site` is where
    `data_bytes` lie (None: how many is not known), and `data_egress` what it costs to take them from there
    (None: not known).
    """

    profile: ModelProfile
    samples: int
    global_batch: int
    lean: ModelProfile | None = None
    data_bytes: int | None = None
    data_site: str | None = None
    data_egress: Egress | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """What a plan must not exceed; None is no limit. `processors_only` leaves accelerators out.

    `regions` are patterns such as `eu-*`, of which one must fit; `interconnect` `any` is no limit. A machine
    at `data_site` is at the data, whatever latency its site states.
    """

    min_devices: int
    max_devices: int | None
    deadline_seconds: float | None
    budget: Decimal | None
    budget_currency: str | None
    sites: tuple[str, ...]
    sensitivity: str
    precision: str
    processors_only: bool = False
    regions: tuple[str, ...] = ()
    interconnect: str = "any"
    latency_seconds: float | None = None
    data_site: str | None = None


class Verdict(StrEnum):
    """What became of an offering."""

    CHOSEN = "chosen"
    ALTERNATIVE = "alternative"
    DOMINATED = "dominated"
    TOO_SMALL = "too-small"
    TOO_SLOW = "too-slow"
    OVER_BUDGET = "over-budget"
    FORBIDDEN = "forbidden"
    UNPRICED = "unpriced"
    UNSUITED = "unsuited"


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the model is laid out: `ddp`, `zero1`, `fsdp` or `hsdp`; micro-batch per device.

    `recompute` is of all blocks or of none; `lean` is with all exact layer techniques.
    """

    sharding: str
    recompute: bool
    micro_batch: int
    lean: bool = False


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a run on some nodes would take; money in the offering's currency.

    `memory_bytes` is per device at the recipe's peak. `cost` is None where the offering is unpriced,
    `grams_co2e` where no source tells the grid. `moving_cost` is the part of `cost`, and `moving_seconds`
    that of `seconds`, for data that move to the site and weights that go back to the data; None: nothing
    moves. `waiting_seconds` is that part of `seconds` in which no machine is rented: data move while the run
    is queued. `unknown_egress` names a site whose price of leaving is not known and therefore not in `cost`.
    """

    nodes: int
    recipe: Recipe
    memory_bytes: int
    seconds: Range
    cost: Decimal | None
    cost_low: Decimal | None
    cost_high: Decimal | None
    kwh: float
    grams_co2e: float | None
    interruptions: float
    checkpoint_every_seconds: float | None
    moving_cost: Decimal | None = None
    moving_seconds: float = 0.0
    waiting_seconds: float = 0.0
    unknown_egress: str | None = None


@dataclass(frozen=True, slots=True)
class Rival:
    """An offering's best plan and what became of it; `message` and `values` say why, in words."""

    offering: Offering
    verdict: Verdict
    prediction: Prediction | None
    message: str
    values: dict[str, object]


@dataclass(frozen=True, slots=True)
class PlanResult:
    """All offerings, the chosen one first, then alternatives by cost, then the losers by reason."""

    rivals: tuple[Rival, ...]

    @property
    def chosen(self) -> Rival | None:
        """The plan to run, or None where nothing meets the limits."""
        return next((rival for rival in self.rivals if rival.verdict is Verdict.CHOSEN), None)

    @property
    def would_do(self) -> bool:
        """Whether a larger deadline or budget would let an offering in."""
        return any(rival.verdict in {Verdict.TOO_SLOW, Verdict.OVER_BUDGET} for rival in self.rivals)
