"""`headway export`: cost lines as FOCUS rows, for the tools of finance."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal, cast

import click

from headway.cli.render import emit, output_option
from headway.messages import text


@click.command("export", help=text("cli.export"))
@click.argument("runs", metavar="[RUN]...", nargs=-1)
@click.option(
    "--focus", "version", type=click.Choice(["1.3", "1.2"]), default="1.3", show_default=True,
    help=text("cli.export_focus"),
)  # fmt: skip
@output_option
def command(runs: tuple[str, ...], version: str, output: str) -> None:
    """Export the settled lines of some runs, or of all."""
    from headway.cli.session import session
    from headway.costing.focus import Labelled, focus_rows
    from headway.runs import bills, queries

    with session() as where, where.ledger.read() as connection:
        found = (
            [queries.get_run(connection, run_id) for run_id in runs]
            if runs
            else queries.list_runs(connection, states=(), limit=None)
        )
        lines = [line for run in found for line in bills.lines_of(connection, run.id)]
        prices = bills.prices_of(connection, {line.price_id for line in lines})
        labels = {run.id: Labelled(run.name, run.team_id, _project(run.spec), run.labels) for run in found}
    rows = cast(
        "list[dict[str, Any]]",
        _plain(focus_rows(lines, prices, labels, cast("Literal['1.3', '1.2']", version))),
    )
    document = {"schema_version": 1, "focus_version": version, "rows": rows}
    emit(
        output, document, rows, lambda: text("export.done", rows=len(rows), runs=len(found), version=version)
    )


def _project(spec: dict[str, object]) -> str:
    return str(cast("dict[str, object]", spec.get("job", {})).get("project") or "")


def _plain(value: object) -> object:
    """Decimals as the numbers that JSON has; ratios have twelve decimals, which a float keeps."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [_plain(item) for item in cast("list[object]", value)]
    return value
