"""`headway compare`: a run as it was, and the same run on every offering."""

from __future__ import annotations

from typing import Any

import click

from headway.cli.render import columns, emit, output_option
from headway.messages import text


@click.command("compare", help=text("cli.compare"))
@click.argument("run_id", metavar="RUN|JOB")
@click.option("--accelerators", is_flag=True, help=text("cli.compare_accelerators"))
@click.option("--count", type=click.IntRange(1, 4096), default=8, show_default=True, help=text("cli.count"))
@output_option
def command(run_id: str, accelerators: bool, count: int, output: str) -> None:
    """Compare a run with itself elsewhere, or a job on each kind of accelerator."""
    if accelerators:
        _devices(run_id, count, output)
        return
    if run_id.endswith((".yaml", ".yml")):
        from headway.errors import UserError

        raise UserError("compare.job_file", file=run_id)
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


def _devices(job: str, count: int, output: str) -> None:
    from pathlib import Path

    from headway.controller.devices import device_rows
    from headway.controller.samples import resolve_job
    from headway.controller.tracing import folder_of
    from headway.settings import Settings
    from headway.spec.files import load_job

    path = resolve_job(Path(job))
    spec = load_job(path).spec
    rows = device_rows(Settings.load(), spec, count, folder_of(spec, path))
    document = {"schema_version": 1, "name": spec.name, "count": count, "accelerators": rows}
    emit(output, document, rows, lambda: _device_table(document))


def _device_table(document: dict[str, Any]) -> str:
    from decimal import Decimal

    from headway.units import format_amount, format_seconds

    head = [
        "",
        *(text(f"compare.{name}") for name in ("kind", "time", "cost", "watts", "kwh", "known", "cannot")),
    ]
    cells = [
        [
            f"{document['count']} × {row['accelerator']}",
            row["kind"],
            "-" if row["seconds"] is None else format_seconds(row["seconds"]),
            "-" if row["cost"] is None else f"{format_amount(Decimal(row['cost']))} {row['currency']}",
            f"{row['watts']:,.0f}" if row["watts"] else "-",
            "-" if row["kwh"] is None else f"{row['kwh']:.3g}",
            "-" if row["seconds"] is None else "; ".join(filter(None, [row["efficiency"], row["price_of"]])),
            "; ".join([*row["cannot"], *row["notes"]]),
        ]
        for row in document["accelerators"]
    ]
    title = text("compare.devices", name=document["name"], count=document["count"])
    return "\n".join([title, columns([head, *cells], right=(2, 3, 4, 5))])
