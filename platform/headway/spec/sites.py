"""A sites file: where runs may go, owned or rented, and what `here` costs."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Literal

from pydantic import Field

from headway.spec.job import Sensitivity
from headway.spec.parts import Found, Part
from headway.spec.quantities import (
    Bytes,
    Number,
    Price,
    Seconds,
    Version,
    Whole,
    byte_size,
    duration,
    entries,
    money,
    within,
)
from headway.spec.tariff import Stretch, Tariff, stretches, tariff_currency
from headway.spec.texts import Name, Person, matching
from headway.spec.workload import Distinct

# `here` is this machine and always there; `any` is what a job says when it does not mind.
RESERVED = frozenset({"here", "any"})

Capacity = Literal["on-demand", "spot", "reserved", "savings-plan", "block"]
Sensitivities = Annotated[tuple[Sensitivity, ...], Field(min_length=1, max_length=4), Distinct]
QueueWait = Annotated[Seconds, duration("sites.pools.queue_wait")]
Currency = Annotated[str, matching(r"[A-Z]{3}", "spec.not_currency")]


class AwsPool(Part):
    """Like instances that are rented together; a run waits `queue_wait` for them."""

    name: Name
    instance: Annotated[str, matching(r"[a-z][a-z0-9-]*\.[a-z0-9-]+", "spec.not_instance")]
    capacity: Capacity = "on-demand"
    max_nodes: Annotated[Whole, within("sites.pools.max_nodes")] = 1
    discount: Annotated[Number, within("sites.pools.discount")] = 0.0
    queue_wait: QueueWait | None = None


class OwnedPool(Part):
    """Like servers of one's own that are used together; a run waits `queue_wait` for them."""

    name: Name
    max_nodes: Annotated[Whole, within("sites.pools.max_nodes")] = 1
    queue_wait: QueueWait | None = None


class AwsSite(Part):
    """A region of AWS; the egress price is per GB."""

    kind: Literal["aws"]
    name: Name
    region: Annotated[str, matching(r"[a-z]{2}(?:-[a-z]+)+-\d{1,2}", "spec.not_region")]
    pools: Annotated[tuple[AwsPool, ...], entries("sites.pools")]
    sensitivities: Sensitivities = ("public", "internal")
    latency_to_data: Annotated[Seconds, duration("sites.latency_to_data")] | None = None
    egress_price: Annotated[Price, money("sites.egress_price")] | None = None

    def conflicts(self) -> Iterator[Found]:
        """Pools are told apart by name."""
        yield from _twice(("pools", index, pool.name) for index, pool in enumerate(self.pools))


class Server(Part):
    """One server as bought."""

    price: Annotated[Price, money("sites.server.price")]
    cores: Annotated[Whole, within("sites.server.cores")]
    gpus: Annotated[Whole, within("sites.server.gpus")] = 0
    accelerator: Name | None = None
    memory: Annotated[Bytes, byte_size("sites.server.memory")] | None = None

    def conflicts(self) -> Iterator[Found]:
        """GPUs have a type, and a type has GPUs."""
        if self.gpus and self.accelerator is None:
            yield Found(("gpus",), "spec.gpus_without_type", {})
        if self.accelerator is not None and not self.gpus:
            yield Found(("accelerator",), "spec.type_without_gpus", {})


class OwnedSite(Part):
    """A data centre or server room of one's own.

    `residual` is the share of the price that is left after `life_years`; `cost_of_capital` is a share per
    year; `power_watts` is one server's draw at full load; the tariff is per kWh; `colo` (rent) and `staff`
    are per server and month; `utilisation` is the share of its hours that a server is really used (assumed
    where it is not said).
    """

    kind: Literal["owned"]
    name: Name
    location: Person | None = None
    currency: Currency
    server: Server
    life_years: Annotated[Number, within("sites.life_years")] = 5.0
    residual: Annotated[Number, within("sites.residual")] = 0.0
    cost_of_capital: Annotated[Number, within("sites.cost_of_capital")] = 0.0
    utilisation: Annotated[Number, within("sites.utilisation")] | None = None
    power_watts: Annotated[Number, within("sites.power_watts")]
    pue: Annotated[Number, within("sites.pue")] = 1.5
    tariff: Tariff
    colo: Annotated[Price, money("sites.colo")] | None = None
    staff: Annotated[Price, money("sites.staff")] | None = None
    pools: Annotated[tuple[OwnedPool, ...], entries("sites.pools")]
    sensitivities: Sensitivities = ("public", "internal", "confidential")
    latency_to_data: Annotated[Seconds, duration("sites.latency_to_data")] | None = None
    egress_price: Annotated[Price, money("sites.egress_price")] | None = None

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        """The tariff over one day."""
        return stretches(self.tariff)

    def conflicts(self) -> Iterator[Found]:
        """Pools are told apart by name, and all amounts are in the site's currency."""
        yield from _twice(("pools", index, pool.name) for index, pool in enumerate(self.pools))
        currencies: list[tuple[tuple[str, ...], str]] = [
            (("server", "price"), self.server.price.currency),
            (("tariff",), tariff_currency(self.tariff)),
        ]
        for name in ("colo", "staff", "egress_price"):
            amount = getattr(self, name)
            if amount is not None:
                currencies.append(((name,), amount.currency))
        for at, currency in currencies:
            if currency != self.currency:
                yield Found(at, "spec.other_currency", {"given": currency, "wanted": self.currency})


Site = Annotated[AwsSite | OwnedSite, Field(discriminator="kind")]


class Here(Part):
    """Figures for this machine that replace the assumed ones; the core price is per core and hour."""

    core_price: Annotated[Price, money("here.core_price")] | None = None
    tariff: Tariff | None = None
    pue: Annotated[Number, within("sites.pue")] | None = None
    utilisation: Annotated[Number, within("here.utilisation")] | None = None
    cores: Annotated[Whole, within("here.cores")] | None = None
    location: Person | None = None
    egress_price: Annotated[Price, money("sites.egress_price")] | None = None

    def conflicts(self) -> Iterator[Found]:
        """Both prices are in one currency."""
        if self.core_price is not None and self.tariff is not None:
            given, wanted = tariff_currency(self.tariff), self.core_price.currency
            if given != wanted:
                yield Found(("tariff",), "spec.other_currency", {"given": given, "wanted": wanted})


class SitesSpec(Part):
    """All sites of an organisation, beside `here`."""

    version: Version
    sites: Annotated[tuple[Site, ...], entries("sites")] = ()
    here: Here | None = None

    def conflicts(self) -> Iterator[Found]:
        """Sites are told apart by name, and two names are taken."""
        for index, site in enumerate(self.sites):
            if site.name in RESERVED:
                yield Found(("sites", index, "name"), "spec.reserved_name", {"name": site.name})
        yield from _twice(("sites", index, site.name) for index, site in enumerate(self.sites))
        if not self.sites and self.here is None:
            yield Found((), "spec.no_sites", {})


def _twice(names: Iterable[tuple[str, int, str]]) -> Iterator[Found]:
    seen: set[str] = set()
    for key, index, name in names:
        if name in seen:
            yield Found((key, index, "name"), "spec.name_twice", {"name": name})
        seen.add(name)
