"""`headway sites`: where runs can go and at what price; `add owned` prices a server of your own."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from headway.cli.figures import Amount, Figure
from headway.cli.render import columns, emit, output_option, say
from headway.messages import text

if TYPE_CHECKING:
    from headway.units import Money

UTILISATIONS = ("0.3", "0.6", "0.9")


@click.group("sites", help=text("cli.sites"), invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Sites."""
    if context.invoked_subcommand is None:
        context.invoke(list_sites)


@command.command("list", help=text("cli.sites_list"))
@output_option
def list_sites(output: str = "table") -> None:
    """List every offering of every site."""
    import time

    from headway.controller.figures import figures_of
    from headway.controller.offerings import offerings_of
    from headway.controller.pricing import market_of, sites_of
    from headway.reports.document import SCHEMA_VERSION
    from headway.settings import Settings

    settings = Settings.load()
    offerings = offerings_of(
        sites_of(settings), figures_of(settings), time.time_ns() // 1000, market_of(settings)
    )
    rows = [
        {
            "offering": item.key,
            "site": item.site,
            "capacity": item.capacity,
            "instance": item.instance,
            "max_nodes": item.max_nodes,
            "price_per_node_hour": None if item.price_per_hour is None else f"{item.price_per_hour:.6f}",
            "currency": item.currency,
            "basis": item.price_basis,
            "launchable": item.launchable,
        }
        for item in offerings
    ]
    names = ("offering", "capacity", "machine", "price", "basis")
    head = [text(f"sites.{name}") for name in names]
    cells = [
        [
            str(row["offering"]),
            str(row["capacity"]),
            f"{row['max_nodes']} × {row['instance']}",
            f"{row['price_per_node_hour']} {row['currency']}"
            if row["price_per_node_hour"]
            else text("sites.unpriced"),
            str(row["basis"]),
        ]
        for row in rows
    ]
    document = {"schema_version": SCHEMA_VERSION, "offerings": rows}
    emit(output, document, rows, lambda: columns([head, *cells], right=(3,)))
    if output == "table" and settings.sites_path is None:
        say(text("plan.sample_sites"))


@command.command("show", help=text("cli.sites_show"))
@click.argument("site")
@output_option
def show(site: str, output: str) -> None:
    """Show the figures behind `here`."""
    from headway.controller.figures import figures_of
    from headway.costing.here import core_hour_price
    from headway.errors import NotFoundError
    from headway.reports.document import SCHEMA_VERSION
    from headway.settings import Settings

    if site != "here":
        raise NotFoundError("sites.only_here", site=site)
    figures = figures_of(Settings.load())
    rows: list[dict[str, Any]] = [
        {"name": name, "value": str(value), "source": source}
        for name, value, source in (
            ("core_hour_price", f"{core_hour_price(figures):f} {figures.currency}", figures.server_source),
            ("server_price", f"{figures.server_price:f} {figures.currency}", figures.server_source),
            ("server_cores", figures.server_cores, figures.server_source),
            ("life_years", figures.life_years, figures.server_source),
            ("utilisation", figures.utilisation, figures.server_source),
            ("tariff_per_kwh", f"{figures.tariff_per_kwh:f} {figures.currency}", figures.tariff_source),
            ("core_idle_watts", figures.core_idle_watts, figures.power_source),
            ("core_busy_watts", figures.core_busy_watts, figures.power_source),
            ("pue", figures.pue, figures.power_source),
            ("grams_co2e_per_kwh", figures.grams_co2e_per_kwh, figures.carbon_source),
        )
    ]
    document = {"schema_version": SCHEMA_VERSION, "site": site, "figures": rows}
    emit(
        output, document, rows, lambda: columns([[row["name"], row["value"], row["source"]] for row in rows])
    )


@command.group("add", help=text("cli.sites_add"))
def add() -> None:
    """Add a site."""


@add.command("owned", help=text("cli.sites_add_owned"))
@click.argument("name")
@click.option("--price", prompt=text("sites.ask_price"), type=Amount(), help=text("sites.ask_price"))
@click.option(
    "--gpus", prompt=text("sites.ask_gpus"), type=click.IntRange(1, 64), help=text("sites.ask_gpus")
)
@click.option(
    "--watts", prompt=text("sites.ask_watts"), type=Figure(1, 200_000), help=text("sites.ask_watts")
)
@click.option("--tariff", prompt=text("sites.ask_tariff"), type=Amount(), help=text("sites.ask_tariff"))
@click.option("--accelerator", default="h100-sxm", show_default=True, help=text("sites.ask_accelerator"))
@click.option("--use", prompt=text("sites.ask_use"), type=Figure(0.01, 1), help=text("sites.ask_use"))
def add_owned(
    name: str, price: Money, gpus: int, watts: float, tariff: Money, accelerator: str, use: float
) -> None:
    """Ask five figures, print what a GPU-hour then costs, and add the site to your sites file."""
    from headway.controller.owned_site import NewSite, add_site, gpu_hour_prices
    from headway.settings import Settings
    from headway.units import format_amount

    site = NewSite(name, price, gpus, watts, tariff, accelerator, use)
    shares = sorted({*UTILISATIONS, f"{Decimal(repr(use)).normalize():f}"}, key=Decimal)
    prices = gpu_hour_prices(site, shares)
    path = add_site(Settings.load(), site)
    for share, amount in prices:
        shown = f"{float(share) * 100:.4g}%"
        say(text("sites.gpu_hour", share=shown, amount=f"{format_amount(amount)} {price.currency}"))
    say(text("sites.added", name=name, path=path))
