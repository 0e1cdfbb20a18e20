"""The site that is always there: this machine, owned, priced per core with stated, assumed figures."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import cast

from headway.catalog.tables import grid_factors
from headway.catalog.types import HereFigures, Snapshot


def here_figures(
    overrides: Mapping[str, str] | None = None, *, origin: str = "", stated_at: int = 0
) -> HereFigures:
    """The figures in the package, with what the user's sites file says in their place.

    Args:
        overrides: `core_price` (per core-hour), `tariff` (per kWh), `pue`, `utilisation`, `location`,
            `cores`, `currency`; values as text.
        origin: the file the overrides come from, named as their source.
        stated_at: when that file was written, in UTC microseconds.
    """
    given = dict(overrides or {})
    body = files("headway.catalog").joinpath("data", "here.toml").read_bytes()
    if given:
        stated = "".join(f"# {key} = {value}  ({origin})\n" for key, value in sorted(given.items()))
        body += f"\n# Replaced by {origin}:\n{stated}".encode()
    return _figures(body, tuple(sorted(given.items())), origin, stated_at)


@cache
def _figures(
    body: bytes, given_items: tuple[tuple[str, str], ...], origin: str, stated_at: int
) -> HereFigures:
    table = cast("dict[str, dict[str, object]]", tomllib.loads(body.decode()))
    server, power, tariff, carbon = table["server"], table["power"], table["tariff"], table["carbon"]
    given = dict(given_items)

    def number(section: dict[str, object], key: str, override: str = "") -> Decimal:
        return Decimal(given.get(override, str(section[key])))

    def source(section: dict[str, object], override: str) -> str:
        if override in given:
            return f"stated in {origin}"
        if section is server and "utilisation" in given:
            return f"{section['source']}; but used {given['utilisation']} of the time, stated in {origin}"
        return str(section["source"])

    grid = _grid(given["location"]) if "location" in given else None
    start = datetime.fromisoformat(str(table["effective_from"]))
    as_of = datetime.fromisoformat(f"{table['as_of']}T00:00:00+00:00")
    return HereFigures(
        currency=given.get("currency", str(table["currency"])),
        effective_from=int(start.timestamp() * 1_000_000),
        server_price=number(server, "price"),
        server_cores=int(str(server["cores"])),
        add_on_ratio=number(server, "add_on_ratio"),
        residual_ratio=number(server, "residual_ratio"),
        cost_of_capital=number(server, "cost_of_capital"),
        life_years=number(server, "life_years"),
        maintenance_ratio=number(server, "maintenance_ratio"),
        utilisation=number(server, "utilisation", "utilisation"),
        core_hour_price=Decimal(given["core_price"]) if "core_price" in given else None,
        tariff_per_kwh=number(tariff, "per_kwh", "tariff"),
        core_idle_watts=number(power, "core_idle_watts"),
        core_busy_watts=number(power, "core_busy_watts"),
        pue=number(power, "pue", "pue"),
        location=given.get("location", str(carbon["location"])),
        cores_limit=int(given["cores"]) if "cores" in given else None,
        grams_co2e_per_kwh=number(carbon, "grams_per_kwh") if grid is None else grid.grams_per_kwh,
        server_source=source(server, "core_price"),
        power_source=str(power["source"]),
        tariff_source=source(tariff, "tariff"),
        carbon_source=str(carbon["source"]) if grid is None else grid.source,
        carbon_alternatives=str(carbon["alternatives"]) if grid is None else grid.alternatives,
        snapshot=Snapshot(
            body=body,
            source="headway package, catalog/data/here.toml" + (f", with {origin}" if given else ""),
            licence=str(table["licence"]),
            fetched_at=max(int(as_of.timestamp() * 1_000_000), stated_at if given else 0),
        ),
    )


@dataclass(frozen=True, slots=True)
class _Grid:
    grams_per_kwh: Decimal | None
    source: str
    alternatives: str


def _grid(location: str) -> _Grid:
    """The first source's figure for a place, the others as alternatives; none is borrowed from elsewhere."""
    factors = grid_factors().get(location.lower(), ())
    if not factors:
        return _Grid(None, "", "")
    others = ", ".join(f"{factor.source} {factor.grams_per_kwh}" for factor in factors[1:])
    return _Grid(factors[0].grams_per_kwh, f"{factors[0].source}, {factors[0].as_of}", others)
