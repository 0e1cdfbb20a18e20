"""What this machine costs under the user's settings."""

from __future__ import annotations

import difflib
from decimal import Decimal
from typing import TYPE_CHECKING

from headway.catalog.here import here_figures
from headway.catalog.tables import grid_factors
from headway.catalog.types import HereFigures
from headway.errors import ConfigError
from headway.settings import Settings

if TYPE_CHECKING:
    from headway.spec.sites import Here


def figures_of(settings: Settings) -> HereFigures:
    """The package's assumptions, with the `here:` table of the sites file in their place where it has one."""
    path = settings.sites_path
    if path is None:
        return here_figures()
    from headway.spec.files import load_sites

    here = load_sites(path).spec.here
    stated_at = path.stat().st_mtime_ns // 1000
    return here_figures({} if here is None else overrides(here), origin=str(path), stated_at=stated_at)


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
            raise ConfigError("config.no_location", location=here.location, near=", ".join(near) or "-")
        given["location"] = here.location
    return given
