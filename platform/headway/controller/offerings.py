"""From sites and the catalogue to the offerings that a plan chooses from.

Prices are those in force now. A region without a price is unpriced, whatever another region costs; spot
prices are undated observations and say that they are assumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from statistics import median, quantiles

import psutil

from headway.catalog.tables import accelerators, grid_factors, published_efficiencies, pue_of, service_prices
from headway.catalog.types import SITE_ID, Accelerator, HereFigures, InstanceType
from headway.controller.cores import machine_cores
from headway.controller.pricing import Market, packaged_market
from headway.controller.quotes import Place, Quote, places, quote
from headway.costing.here import core_hour_price
from headway.costing.market import service_tiers
from headway.costing.owned import OwnedServer, cost_per_delivered_hour, fixed_cost_per_hour
from headway.costing.tiers import Tier
from headway.errors import DataError, UserError
from headway.planner.efficiency import corrected
from headway.planner.types import Efficiency, Egress, Offering
from headway.spec.files import LoadedSites
from headway.spec.sites import AwsPool, AwsSite, OwnedPool, OwnedSite
from headway.spec.tariff import stretches
from headway.units import Money

ENOUGH_ROWS = 5
# Whole-node draw over the sum of board limits: 7.75 kW of 8 x 700 W (HGX H100, typical training).
NODE_OVER_BOARDS = 1.38
SPOT_INTERRUPTIONS_PER_HOUR = 1 / 24
CLOUD_START_SECONDS = 300.0
OWNED_START_SECONDS = 60.0
IMPORTED, IMPORTED_NODES = "import:", 8
EXPECTED_USE = Decimal("0.7")
_CPU_KEY = "cpu-core-generic"
_ASSUMED_GPU = Efficiency(0.35, 0.20, 0.50, "assumed: no published row for this device")
_ASSUMED_CPU = Efficiency(0.50, 0.20, 0.90, "assumed, for processor cores")


def efficiency_of(device: Accelerator) -> Efficiency:
    """The share of peak that published runs reached on a device; assumed where none is known."""
    if device.kind == "CPU":
        return _ASSUMED_CPU
    rows = published_efficiencies().get(device.key, ())
    if len(rows) < ENOUGH_ROWS:
        return _ASSUMED_GPU
    tenths = quantiles(rows, n=10)
    return Efficiency(median(rows), tenths[0], tenths[-1], f"{len(rows)} published rows for {device.key}")


def offerings_of(
    loaded: LoadedSites,
    figures: HereFigures,
    now: int,
    market: Market | None = None,
    own: Sequence[float] = (),
) -> list[Offering]:
    """Every pool of every site as an offering, what was imported, and this machine.

    `own` are shares of this machine's peak that its own runs reached.
    """
    known = market or packaged_market()
    found: list[Offering] = []
    for site in loaded.spec.sites:
        if isinstance(site, AwsSite):
            found.extend(_aws(site, pool, now, known) for pool in site.pools)
        else:
            found.extend(_owned(site, pool) for pool in site.pools)
    return [*found, *_imported(known, now), _here(figures, own)]


def egress_of(site: AwsSite | OwnedSite) -> Egress | None:
    """What a GB that leaves a site costs: as stated, else AWS's list; None is unknown."""
    if site.egress_price is not None:
        return stated_egress(site.egress_price)
    if isinstance(site, OwnedSite):
        return None
    try:
        tiers = service_tiers(service_prices(), "data-transfer", "out to internet", site.region)
    except DataError:
        return None
    return Egress(tuple(tiers), _currency_of(site.region))


def stated_egress(price: Money) -> Egress:
    """One price for every GB."""
    return Egress((Tier(Decimal(0), None, price.amount),), price.currency)


def _currency_of(region: str) -> str:
    return next(price.currency for price in service_prices() if price.region == region)


def _links(device: Accelerator, *, efa: bool, network: bool) -> tuple[str, ...]:
    """The kinds of link between devices, as a job file names them."""
    found = ["nvlink"] if "nvlink" in device.intra_node_link.lower() else []
    return (*found, *(["efa"] if efa else []), *(["ethernet"] if network else []))


def _grams(region: str) -> float | None:
    factors = grid_factors().get(region.lower(), ())
    return float(factors[0].grams_per_kwh) if factors else None


def _aws(site: AwsSite, pool: AwsPool, now: int, market: Market) -> Offering:
    kind = market.machines.get(("aws", pool.instance))
    if kind is None:
        raise UserError("sites.no_instance", instance=pool.instance, site=site.name)
    found = quote(market, Place("aws", site.region, pool.instance, pool.capacity), now)
    if found.price is not None and pool.discount:
        share = Decimal(repr(pool.discount))
        basis = f"{found.basis}; discount of the pool: {pool.discount:.1%}"
        found = replace(found, price=found.price * (1 - share), basis=basis)
    plain = _rented(
        kind,
        found,
        key=f"{site.name}/{pool.name}",
        site=site.name,
        region=site.region,
        capacity=pool.capacity,
        max_nodes=pool.max_nodes,
        site_of=site,
    )
    return replace(plain, queue_seconds=_seconds(pool.queue_wait) or 0.0)


def _imported(market: Market, now: int) -> Iterator[Offering]:
    """What was imported of other clouds: comparison only, nothing is launched there."""
    for place in places(market, now):
        kind = market.machines.get((place.provider, place.instance))
        if place.provider == "aws" or kind is None:
            continue
        site = f"{IMPORTED}{place.provider}"  # no site of the user's can have such a name
        spoken = "" if place.capacity == "on-demand" else f"/{place.capacity}"
        yield _rented(
            kind,
            quote(market, place, now),
            key=f"{site}/{place.region}/{place.instance}{spoken}",
            site=site,
            region=place.region,
            capacity=place.capacity,
            max_nodes=IMPORTED_NODES,
        )


def _rented(
    kind: InstanceType,
    quote: Quote,
    *,
    key: str,
    site: str,
    region: str,
    capacity: str,
    max_nodes: int,
    site_of: AwsSite | None = None,
) -> Offering:
    device_key = kind.accelerator or _CPU_KEY
    device = accelerators()[device_key]
    devices = max(1, int(kind.accelerator_count)) if kind.accelerator else max(1, kind.vcpus // 2)
    pue, _source = pue_of("aws")
    return Offering(
        key=key,
        site=site,
        region=region,
        capacity=capacity,
        instance=kind.name,
        accelerator=device_key,
        accelerator_name=device.name,
        devices=devices,
        memory_bytes=_memory(device, kind.memory_bytes, devices),
        peak_flops=device.peak_flops,
        device_link_bytes_per_second=_link(device),
        node_link_bytes_per_second=kind.network_bytes_per_second or 1e9,
        max_nodes=max_nodes,
        price_per_hour=quote.price,
        currency=quote.currency,
        price_basis=quote.basis,
        price_source=quote.source,
        tariff_per_kwh=None,
        node_watts=_watts(device, devices),
        pue=pue,
        grams_per_kwh=_grams(region),
        interruptions_per_hour=SPOT_INTERRUPTIONS_PER_HOUR if capacity == "spot" else 0.0,
        start_seconds=CLOUD_START_SECONDS,
        efficiency=efficiency_of(device),
        sensitivities=("public", "internal") if site_of is None else site_of.sensitivities,
        launchable=False,
        processor=device.kind == "CPU",
        latency_seconds=None if site_of is None else _seconds(site_of.latency_to_data),
        interconnects=_links(device, efa=kind.efa, network=kind.network_bytes_per_second is not None),
        egress=None if site_of is None else egress_of(site_of),
    )


def device_offering(device: Accelerator, count: int, per_device: Quote) -> Offering:
    """So many of one device as if they stood in one machine: for comparing devices, not for renting."""
    kind = InstanceType(
        name=device.name,
        vcpus=count,
        memory_bytes=count * 2**33,
        accelerator=device.key,
        accelerator_count=Decimal(count),
        network_bytes_per_second=None,
        efa=False,
        arch="",
        source=device.source,
        quirk="",
    )
    price = None if per_device.price is None else per_device.price * count
    return _rented(
        kind,
        replace(per_device, price=price),
        key=device.key,
        site="any",
        region="",
        capacity="on-demand",
        max_nodes=1,
    )


def _seconds(value: Decimal | None) -> float | None:
    return None if value is None else float(value)


def _percent(share: Decimal) -> str:
    return f"{(share * 100).normalize():f}%"


def _memory(device: Accelerator, host_bytes: int, devices: int) -> int:
    return device.usable_memory_bytes or device.memory_bytes or host_bytes // devices


def _link(device: Accelerator) -> float:
    return device.intra_node_bytes_per_second or device.host_bytes_per_second or 10e9


def _watts(device: Accelerator, devices: int) -> float:
    return (device.tdp_watts or 0.0) * devices * NODE_OVER_BOARDS


def _owned(site: OwnedSite, pool: OwnedPool) -> Offering:
    server = site.server
    key = server.accelerator or _CPU_KEY
    device = accelerators().get(key)
    if device is None:
        raise UserError("sites.no_accelerator", accelerator=key, site=site.name)
    devices = server.gpus or server.cores
    monthly = sum((part.amount for part in (site.colo, site.staff) if part is not None), Decimal(0))
    fixed = fixed_cost_per_hour(
        OwnedServer(
            price=server.price.amount,
            add_on_ratio=Decimal(0),
            residual_ratio=Decimal(repr(site.residual)),
            cost_of_capital=Decimal(repr(site.cost_of_capital)),
            life_years=Decimal(repr(site.life_years)),
            maintenance_ratio=Decimal(0),
            yearly_staff_and_space=monthly * 12,
        )
    )
    use, known = EXPECTED_USE, "assumed"
    if site.utilisation is not None:
        use, known = Decimal(repr(site.utilisation)), "as stated"
    parts = stretches(site.tariff)
    tariff = sum(((part.end - part.start) * part.price.amount for part in parts), Decimal(0)) / 1440
    return Offering(
        key=f"{site.name}/{pool.name}",
        site=site.name,
        region=None,
        capacity="owned",
        instance=f"{devices} x {device.name}",
        accelerator=key,
        accelerator_name=device.name,
        devices=devices,
        memory_bytes=_memory(device, int(server.memory or 0), devices),
        peak_flops=device.peak_flops,
        device_link_bytes_per_second=_link(device),
        node_link_bytes_per_second=1.25e9,
        max_nodes=pool.max_nodes,
        price_per_hour=cost_per_delivered_hour(fixed, use),
        currency=site.currency,
        price_basis=f"owned: amortised, used {_percent(use)} of the time ({known}), energy apart",
        price_source=f"site {site.name}",
        tariff_per_kwh=tariff,
        node_watts=site.power_watts,
        pue=site.pue,
        grams_per_kwh=_grams(site.location or ""),
        interruptions_per_hour=0.0,
        start_seconds=OWNED_START_SECONDS,
        efficiency=efficiency_of(device),
        sensitivities=site.sensitivities,
        launchable=False,
        processor=device.kind == "CPU",
        latency_seconds=_seconds(site.latency_to_data),
        interconnects=_links(device, efa=False, network=True),
        egress=egress_of(site),
        queue_seconds=_seconds(pool.queue_wait) or 0.0,
    )


def _here(figures: HereFigures, own: Sequence[float]) -> Offering:
    cores = machine_cores(figures)
    device = accelerators()[_CPU_KEY]
    factor = figures.grams_co2e_per_kwh
    return Offering(
        key=SITE_ID,
        site=SITE_ID,
        region=None,
        capacity="owned",
        instance=f"{cores} cores",
        accelerator=_CPU_KEY,
        accelerator_name=device.name,
        devices=cores,
        memory_bytes=psutil.virtual_memory().total // cores,
        peak_flops=device.peak_flops,
        device_link_bytes_per_second=5e9,
        node_link_bytes_per_second=1.25e9,
        max_nodes=1,
        price_per_hour=core_hour_price(figures) * cores,
        currency=figures.currency,
        price_basis="owned: this machine, energy apart",
        price_source=figures.server_source,
        tariff_per_kwh=figures.tariff_per_kwh,
        node_watts=float(figures.core_busy_watts) * cores,
        pue=float(figures.pue),
        grams_per_kwh=None if factor is None else float(factor),
        interruptions_per_hour=0.0,
        start_seconds=30.0,
        efficiency=corrected(_ASSUMED_CPU, own),
        sensitivities=("public", "internal", "confidential", "restricted"),
        launchable=True,
        processor=True,
    )
