"""`headway advise`: add hardware or optimise software, with numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.cli.figures import Amount, Figure
from headway.cli.render import columns, emit, output_option
from headway.messages import text

if TYPE_CHECKING:
    from decimal import Decimal

    from headway.controller.advising import Advised, Asked


MOST_HOURS = 1_000_000


@click.command("advise", help=text("cli.advise"))
@click.argument("target", metavar="JOB|RUN")
@click.option("-s", "--set", "overrides", multiple=True, metavar="KEY=VALUE", help=text("cli.set"))
@click.option("--at", metavar="OFFERING", help=text("cli.advise_at"))
@click.option("--nodes", type=click.IntRange(1), help=text("cli.advise_nodes"))
@click.option("--runs", type=click.IntRange(0, 1_000_000_000), help=text("cli.advise_runs"))
@click.option("--hour", type=Amount(), metavar="MONEY", help=text("cli.advise_hour"))
@click.option("--day", type=Amount(), metavar="MONEY", help=text("cli.advise_day"))
@click.option("--data-wait", type=Figure(0, 0.99), metavar="SHARE", help=text("cli.data_wait"))
@click.option("--hours", "hours", multiple=True, metavar="CHANGE=N", help=text("cli.advise_hours"))
@output_option
def command(target: str, overrides: tuple[str, ...], output: str, **said: Any) -> None:  # noqa: ANN401
    """Advise on a job file, or on a run that was."""
    from headway.controller.advising import Asked
    from headway.reports.advice import advice_document, advice_lines, option_rows

    asked = Asked(
        at=said["at"],
        nodes=said["nodes"],
        runs=said["runs"],
        hour=said["hour"],
        day=said["day"],
        data_wait=said["data_wait"],
        hours=dict(_hours(item) for item in said["hours"]),
    )
    found = _advised(target, overrides, asked)
    of = (found.name, found.advice, found.terms, found.currency, found.basis, found.assumed)
    document = advice_document(*of)
    head = [
        text(f"advise.head_{name}")
        for name in ("what", "where", "how", "time", "cost", "kwh", "hours", "total")
    ]

    def table() -> str:
        first, shares, *rest = advice_lines(*of)
        rows = [head, *option_rows(found.advice, found.currency)]
        unknown = [] if found.data_known else [text("advise.data_unknown")]
        if found.other_currencies:
            codes = ", ".join(found.other_currencies)
            unknown.append(text("advise.other_currencies", codes=codes, currency=found.currency))
        return "\n".join([first, shares, "", columns(rows, right=(3, 4, 5, 6, 7)), "", *rest, *unknown])

    emit(output, document, document["options"], table)


def _advised(target: str, overrides: tuple[str, ...], asked: Asked) -> Advised:
    from headway.cli.session import session
    from headway.controller.advising import advise_job, advise_run
    from headway.controller.samples import resolve_job
    from headway.controller.tracing import folder_of
    from headway.settings import Settings
    from headway.spec.files import load_job

    if target.endswith((".yaml", ".yml")) or Path(target).is_file():
        path = resolve_job(Path(target))
        loaded = load_job(path, overrides)
        return advise_job(Settings.load(), loaded, asked, folder_of(loaded.spec, path))
    with session() as where:
        return advise_run(where.settings, where.ledger, target, asked)


def _hours(item: str) -> tuple[str, Decimal]:
    from headway.errors import UserError
    from headway.planner.advise import HOURS
    from headway.units import parse_number

    name, equals, value = item.partition("=")
    if not equals or name not in HOURS:
        raise UserError("advise.bad_hours", given=item, known=", ".join(HOURS))
    try:
        number = parse_number(value)
    except UserError as problem:
        raise UserError("advise.bad_figure", given=item, problem=str(problem)) from None
    if not 0 <= number <= MOST_HOURS:
        raise UserError("advise.hours_range", given=item, most=f"{MOST_HOURS:,}")
    return name, number
