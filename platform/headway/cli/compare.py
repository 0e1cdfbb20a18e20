"""`headway compare`: a run as it was, and the same run on every offering."""

from __future__ import annotations

from typing import Any

import click

from headway.cli.render import columns, emit, output_option
from headway.messages import text


@click.command("compare", help=text("cli.compare"))
@click.argument("run_id", metavar="RUN")
@output_option
def command(run_id: str, output: str) -> None:
    """Compare a run with itself elsewhere."""
    from headway.cli.session import session
    from headway.controller.comparison import compare_run
    from headway.reports.comparison import comparison_document

    with session() as where, where.ledger.read() as connection:
        found = compare_run(connection, where.settings, run_id)
    document = comparison_document(found.receipt, found.seconds, found.result, found.work.profile.basis)
    emit(output, document, document["elsewhere"], lambda: _table(document))


def _table(document: dict[str, Any]) -> str:
    from decimal import Decimal

    from headway.units import format_amount, format_seconds

    def line(label: str, row: dict[str, Any]) -> list[str]:
        cost = row["cost"]
        return [
            label,
            format_seconds(row["seconds"]) if row["seconds"] is not None else "-",
            f"{format_amount(Decimal(cost))} {row['currency']}" if cost is not None else "-",
            f"{row['kwh']:.3g}" if row["kwh"] is not None else "-",
            f"{row['grams_co2e']:.3g}" if row["grams_co2e"] is not None else "-",
        ]

    head = ["", *(text(f"compare.{name}") for name in ("time", "cost", "kwh", "grams")), ""]
    rows = [head, [*line(text("compare.actual"), document["actual"]), text("compare.measured")]]
    for row in document["elsewhere"]:
        machines = f"{row['nodes'] or 1} × {row['instance']}"
        label = f"{row['offering']}, {row['capacity']}, {machines}"
        reason = row["price_basis"] if row["cost"] is not None else row["why"]
        rows.append([*line(label, row), reason])
    title = text("compare.title", run=document["run_id"])
    return "\n".join(
        [title, columns(rows, right=(1, 2, 3, 4)), text("compare.basis", basis=document["basis"])]
    )
