"""`headway prices`: the prices that plans use, and where each comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from headway.cli.render import columns, emit, output_option, say
from headway.messages import text

if TYPE_CHECKING:
    from headway.catalog.types import ListedPrice


@click.group("prices", help=text("cli.prices"))
def command() -> None:
    """Prices of the catalogue."""


@command.command("list", help=text("cli.prices_list"))
@click.option("--region", help=text("cli.region"))
@click.option("--at", "at_day", metavar="YYYY-MM-DD", help=text("cli.at"))
@click.option("--accelerated", is_flag=True, help=text("cli.accelerated"))
@output_option
def list_prices(region: str | None, at_day: str | None, accelerated: bool, output: str) -> None:
    """List the prices in force on a day (default: today)."""
    import time

    from headway.catalog.tables import instance_types, on_demand_prices, spot_observations

    at = time.time_ns() // 1000 if at_day is None else _day(at_day)
    found = [
        price
        for price in (*on_demand_prices(), *spot_observations())
        if (region is None or price.region == region)
        and (price.effective_from <= at or not price.dated)
        and (price.effective_to is None or at < price.effective_to)
    ]
    if accelerated:
        types = instance_types()
        found = [price for price in found if (kind := types.get(price.instance)) and kind.accelerator]
    if region is not None and not found:
        _unpriced(region)
    _emit(found, output)


@command.command("show", help=text("cli.prices_show"))
@click.argument("instance")
@click.option("--region", help=text("cli.region"))
@output_option
def show(instance: str, region: str | None, output: str) -> None:
    """Show every price of an instance type, also past ones."""
    from headway.catalog.tables import instance_types, on_demand_prices, spot_observations
    from headway.errors import NotFoundError

    every = [price for price in (*on_demand_prices(), *spot_observations()) if price.instance == instance]
    found = [price for price in every if region is None or price.region == region]
    if not every and instance not in instance_types():
        import difflib

        near = difflib.get_close_matches(instance, instance_types(), n=3)
        if near:
            raise NotFoundError("prices.no_instance_near", instance=instance, near=", ".join(near))
        raise NotFoundError("prices.no_instance", instance=instance)
    if not found:
        _unpriced(region or instance)
    _emit(found, output)


def _day(value: str) -> int:
    from headway.catalog.tables import microseconds
    from headway.errors import UserError

    try:
        return microseconds(value)
    except ValueError:
        raise UserError("prices.bad_day", value=value) from None


def _unpriced(what: str) -> None:
    from headway.errors import NotFoundError

    raise NotFoundError("prices.unpriced", what=what)


def _emit(found: list[ListedPrice], output: str) -> None:
    from headway.catalog.snapshot import snapshot_info
    from headway.reports.catalogue import day, price_rows
    from headway.reports.document import SCHEMA_VERSION

    info = snapshot_info()
    rows = price_rows(found)
    snapshot = {
        "sha256": info.sha256,
        "as_of": day(info.as_of),
        "source": info.source,
        "licence": info.licence,
    }
    head = [text(f"prices.{name}") for name in ("instance", "region", "capacity", "price", "from", "to")]
    cells = [
        [
            row["instance"],
            row["region"],
            row["capacity"],
            f"{row['price_per_hour']} {row['currency']}",
            row["from"] or text("prices.undated"),
            row["to"] or "",
        ]
        for row in rows
    ]
    document = {"schema_version": SCHEMA_VERSION, "snapshot": snapshot, "prices": rows}
    emit(output, document, rows, lambda: columns([head, *cells], right=(3,)))
    if output == "table":
        say(text("prices.snapshot", date=snapshot["as_of"], sha=info.sha256[:12], source=info.source))
