"""`headway breakeven`: from which use on an owned server costs less than renting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headway.cli.figures import Amount, Figure
from headway.cli.render import columns, emit, output_option
from headway.messages import text

if TYPE_CHECKING:
    from headway.controller.breakeven import BreakEvens, OwnedCase


@click.command("breakeven", help=text("cli.breakeven"))
@click.argument("site", required=False)
@click.option("--accelerator", metavar="KEY", help=text("cli.breakeven_accelerator"))
@click.option("--gpus", type=click.IntRange(1, 100_000), help=text("cli.breakeven_gpus"))
@click.option("--price", type=Amount(), metavar="MONEY", help=text("cli.breakeven_price"))
@click.option("--watts", type=Figure(1, 10_000_000), help=text("cli.breakeven_watts"))
@click.option("--tariff", type=Amount(), metavar="MONEY", help=text("cli.breakeven_tariff"))
@click.option("--pue", type=Figure(1, 5), help=text("cli.breakeven_pue"))
@click.option("--life", type=Figure(0.5, 20), help=text("cli.breakeven_life"))
@click.option("--residual", type=Figure(0, 0.99), help=text("cli.breakeven_residual"))
@click.option("--capital", type=Figure(0, 1), help=text("cli.breakeven_capital"))
@click.option("--maintenance", type=Figure(0, 1), help=text("cli.breakeven_maintenance"))
@click.option("--add-on", type=Figure(0, 5), help=text("cli.breakeven_add_on"))
@click.option("--yearly", type=Amount(), metavar="MONEY", help=text("cli.breakeven_yearly"))
@click.option("--demand", type=Amount(), metavar="MONEY", help=text("cli.breakeven_demand"))
@click.option("--use", type=Figure(0.01, 1), help=text("cli.breakeven_use"))
@output_option
def command(site: str | None, output: str, **said: Any) -> None:  # noqa: ANN401 - click's options
    """Break even of an owned site's server, or of one that is described here."""
    from headway.controller.breakeven import break_evens, case_of
    from headway.settings import Settings

    settings = Settings.load()
    found = break_evens(settings, case_of(settings, site, said))
    document = _document(found)
    emit(output, document, document["rented"], lambda: _table(found))


def _document(found: BreakEvens) -> dict[str, Any]:
    from headway.reports.breakeven import break_even_row, spread_rows

    case = found.case
    return {
        "schema_version": 1,
        "accelerator": case.accelerator,
        "gpus": case.gpus,
        "price": f"{case.price.amount:f}",
        "currency": case.price.currency,
        "use": f"{case.use:f}",
        "fixed_per_hour": f"{found.fixed_per_hour:.6f}",
        "energy_per_hour": f"{found.energy_per_hour:.6f}",
        "per_gpu_hour": f"{found.per_gpu_hour:.6f}",
        "ranges": spread_rows(found.spreads),
        "published_prices": found.published,
        "rented": [
            break_even_row(
                row.rented.name,
                row.rented.per_hour,
                row.rented.basis,
                {
                    "hours": row.hours,
                    "purchase_hours": row.purchase_hours,
                    "utilisation": row.utilisation,
                    "owned_total": row.owned_total,
                    "rented_total": row.rented_total,
                },
                row.uncertain,
                row.swings,
            )
            for row in found.rows
        ],
    }


def _table(found: BreakEvens) -> str:
    from headway.units import format_amount

    case = found.case
    names = ("rented", "price", "hours", "use", "owned", "rented_total", "saves")
    rows = [[text(f"breakeven.head_{name}") for name in names]]
    for row in found.rows:
        never = text("breakeven.never")
        saved = [row.uncertain.p10, row.uncertain.p50, row.uncertain.p90]
        rows.append(
            [
                row.rented.name,
                format_amount(row.rented.per_hour),
                never if row.hours is None else f"{row.hours:,.0f}",
                never if row.utilisation is None else f"{row.utilisation:.0%}",
                format_amount(row.owned_total),
                format_amount(row.rented_total),
                " / ".join("-" if share is None else f"{share:+.0%}" for share in saved),
            ]
        )
    title = text("breakeven.title", **_said(case, found))
    first = found.rows[0].swings
    matters = ", ".join(one.name for one in first[:3])
    notes = [text("breakeven.matters", names=matters), text("breakeven.ranges", ranges=_ranges(found))]
    if found.published:
        notes.append(text("breakeven.published", ranges=found.published))
    return "\n".join([title, "", columns(rows, right=(1, 2, 3, 4, 5, 6)), "", *notes])


def _ranges(found: BreakEvens) -> str:
    """Each range as shares of the figure itself."""
    parts = [
        f"{name} {spread.low / spread.typical:.0%}-{spread.high / spread.typical:.0%}"
        for name, spread in found.spreads.items()
        if spread.typical
    ]
    return ", ".join(parts)


def _said(case: OwnedCase, found: BreakEvens) -> dict[str, object]:
    from headway.units import format_amount

    return {
        "gpus": case.gpus,
        "accelerator": case.accelerator,
        "price": case.price,
        "fixed": format_amount(found.fixed_per_hour),
        "energy": format_amount(found.energy_per_hour),
        "per_gpu": format_amount(found.per_gpu_hour),
        "use": f"{case.use:.0%}",
        "currency": case.price.currency,
    }
