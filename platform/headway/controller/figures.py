"""What this machine costs under the user's settings."""

from __future__ import annotations

import difflib
import time
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from headway.catalog.here import here_figures
from headway.catalog.refreshed import current
from headway.catalog.tables import grid_factors, instance_types, pue_of
from headway.catalog.types import HereFigures
from headway.controller.pricing import bytes_of, table_of
from headway.errors import ConfigError
from headway.meter import imds
from headway.settings import Settings

_NINE_DIGITS = Decimal("0.000000001")

if TYPE_CHECKING:
    from headway.spec.sites import Here


def figures_of(settings: Settings) -> HereFigures:
    """The package's assumptions, with the `here:` table of the sites file in their place where it has one."""
    path = settings.sites_path
    if path is None:
        return _rented(here_figures(), settings)
    from headway.spec.files import load_sites

    here = load_sites(path).spec.here
    stated_at = path.stat().st_mtime_ns // 1000
    return here_figures({} if here is None else overrides(here), origin=str(path), stated_at=stated_at)


def _rented(assumed: HereFigures, settings: Settings) -> HereFigures:
    """On EC2 the instance's price by its cores, energy included; the assumptions anywhere else.

    A spot instance is priced by its zone's spot price where that was fetched (`headway prices refresh`), else
    at the on-demand list price, which is what it costs at most, and says so: the metadata service does not
    tell the spot price.
    """
    found = imds.instance()
    kind = instance_types().get(found.instance_type) if found is not None else None
    if found is None or kind is None:
        return assumed
    now = time.time_ns() // 1000
    fetched = current(settings.home)
    table = table_of(fetched)
    spot = [
        price
        for price in table.in_force(found.region, found.instance_type, "spot", now)
        if found.lifecycle == "spot" and price.zone == found.zone_id
    ]
    listed = spot or table.in_force(found.region, found.instance_type, "on-demand", now)
    if not listed:
        return assumed
    price = listed[-1]
    grid = grid_factors().get(found.region.lower(), ())
    limit = "" if spot or found.lifecycle == "on-demand" else f", at most: the instance is {found.lifecycle}"
    named = f"spot price in {price.zone}" if spot else "on-demand list price"
    return replace(
        assumed,
        currency=price.currency,
        effective_from=price.effective_from,
        core_hour_price=(Decimal(price.price_text) / kind.vcpus).quantize(_NINE_DIGITS),
        tariff_per_kwh=Decimal(0),
        pue=Decimal(repr(pue_of("aws")[0])),
        location=found.region,
        grams_co2e_per_kwh=grid[0].grams_per_kwh if grid else None,
        server_source=(
            f"{found.instance_type} in {found.region}, {named} {price.price_text}"
            f" {price.currency} an hour by {kind.vcpus} vCPUs{limit}; {price.source}"
        ),
        tariff_source="energy is in the instance's price",
        carbon_source=f"{grid[0].source}, {grid[0].as_of}" if grid else "",
        snapshot=bytes_of(fetched),
    )


def overrides(here: Here) -> dict[str, str]:
    """The `here:` table as the catalogue takes it; a tariff by hours becomes its average over the day."""
    from headway.spec.tariff import stretches, tariff_currency

    given: dict[str, str] = {}
    if here.core_price is not None:
        given["core_price"] = f"{here.core_price.amount:f}"
        given["currency"] = here.core_price.currency
    if here.tariff is not None:
        parts = stretches(here.tariff)
        minutes = sum(part.end - part.start for part in parts)
        total = sum(((part.end - part.start) * part.price.amount for part in parts), Decimal(0))
        given["tariff"] = f"{(total / minutes).normalize():f}"
        given["currency"] = tariff_currency(here.tariff)
    if given.get("currency", "USD") != "USD" and not {"core_price", "tariff"} <= given.keys():
        raise ConfigError("config.one_currency", currency=given["currency"])
    for name, value in (("pue", here.pue), ("utilisation", here.utilisation), ("cores", here.cores)):
        if value is not None:
            given[name] = f"{value}"
    if here.location is not None:
        known = grid_factors()
        if here.location.lower() not in known:
            near = difflib.get_close_matches(here.location.lower(), known, n=4)
            if near:
                raise ConfigError("config.no_location_near", location=here.location, near=", ".join(near))
            raise ConfigError("config.no_location", location=here.location)
        given["location"] = here.location
    return given
