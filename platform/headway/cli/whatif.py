"""`headway whatif`: a job's plan as it is, beside the plan with something changed."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.cli.render import columns, emit, output_option
from headway.messages import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.planner.types import Rival

MOST_FACTOR = 1000


@click.command("whatif", help=text("cli.whatif"))
@click.argument("job", type=click.Path(path_type=Path))
@click.option("-s", "--set", "overrides", multiple=True, metavar="KEY=VALUE", help=text("cli.set"))
@click.option("--price", "prices", multiple=True, metavar="OFFERING=FACTOR", help=text("cli.whatif_price"))
@output_option
def command(job: Path, overrides: tuple[str, ...], prices: tuple[str, ...], output: str) -> None:
    """Plan twice and compare."""
    from headway.controller.planning import plan_job
    from headway.controller.samples import resolve_job
    from headway.controller.tracing import folder_of
    from headway.errors import UserError
    from headway.reports.whatif import whatif_rows
    from headway.settings import Settings
    from headway.spec.files import load_job

    if not overrides and not prices:
        raise UserError("whatif.nothing")
    settings, path = Settings.load(), resolve_job(job)
    plain, changed = load_job(path), load_job(path, overrides)
    before = plan_job(settings, plain.spec, folder_of(plain.spec, path))
    factors = _factors(prices, before.result.rivals)
    after = plan_job(settings, changed.spec, folder_of(changed.spec, path), factors)
    rows = whatif_rows(before.result, after.result)
    document = {
        "schema_version": 1,
        "name": plain.spec.name,
        "changed": [*overrides, *(f"price of {item}" for item in prices)],
        "chosen_before": before.result.chosen.offering.key if before.result.chosen else None,
        "chosen_after": after.result.chosen.offering.key if after.result.chosen else None,
        "offerings": rows,
    }
    emit(output, document, rows, lambda: _table(document))


def _factors(prices: tuple[str, ...], rivals: Sequence[Rival]) -> dict[str, Decimal]:
    """The factors by offering; refuses a second one, and one for a price that is not known."""
    from headway.errors import UserError

    by_key = {rival.offering.key: rival.offering for rival in rivals}
    found: dict[str, Decimal] = {}
    for item in prices:
        key, factor = _factor(item, set(by_key))
        if key in found:
            raise UserError("whatif.twice", key=key)
        if by_key[key].price_per_hour is None:
            raise UserError("whatif.unpriced", key=key, basis=by_key[key].price_basis)
        found[key] = factor
    return found


def _factor(item: str, known: set[str]) -> tuple[str, Decimal]:
    from headway.errors import UserError
    from headway.units import parse_number

    name, equals, value = item.partition("=")
    if not equals or name not in known:
        raise UserError("whatif.bad_price", given=item, known=", ".join(sorted(known)))
    factor = parse_number(value)
    if not 0 < factor <= MOST_FACTOR:
        raise UserError("whatif.bad_factor", value=value, most=MOST_FACTOR)
    return name, factor


def _table(document: dict[str, Any]) -> str:
    head = ["", *(text(f"whatif.{name}") for name in ("before", "after", "time", "cost", "difference"))]
    rows = [head, *(_cells(row) for row in document["offerings"])]
    none = text("whatif.none")
    chosen = text(
        "whatif.chosen",
        before=document["chosen_before"] or none,
        after=document["chosen_after"] or none,
    )
    title = text("whatif.title", name=document["name"], changed=", ".join(document["changed"]))
    return "\n".join([title, "", columns(rows, right=(3, 4, 5)), "", chosen])


def _amount(value: str) -> str:
    from headway.units import format_amount

    return format_amount(Decimal(value))


def _cells(row: dict[str, Any]) -> list[str]:
    from headway.units import format_amount, format_seconds

    def verdict(when: str) -> str:
        found = row[f"verdict_{when}"]
        return "-" if found is None else text(f"verdict.{found}")

    def both(name: str, shown: Any) -> str:  # noqa: ANN401 - seconds or money
        values = [row[f"{name}_{when}"] for when in ("before", "after")]
        return " -> ".join("-" if value is None else shown(value) for value in values)

    difference = row["cost_difference"]
    return [
        row["offering"],
        verdict("before"),
        verdict("after"),
        both("seconds", format_seconds),
        both("cost", _amount),
        "-" if difference is None else f"{format_amount(Decimal(difference))} {row['currency_after']}",
    ]
