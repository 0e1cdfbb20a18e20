"""`headway receipt`: what a run really cost, line by line; `--verify` proves it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from headway.cli.render import columns, emit, output_option
from headway.messages import find, text

if TYPE_CHECKING:
    from headway.reports.receipt import Receipt, ReceiptRow, Source


@click.command("receipt", help=text("cli.receipt"))
@click.argument("run_id", metavar="RUN")
@click.option("--verify", is_flag=True, help=text("cli.verify"))
@output_option
def command(run_id: str, verify: bool, output: str) -> None:
    """Print a run's receipt, or prove it."""
    from headway.cli.session import session
    from headway.controller.figures import figures_of
    from headway.controller.receipts import receipt_of
    from headway.errors import StateError

    with session() as where:
        with where.ledger.read() as connection:
            receipt = receipt_of(connection, run_id, figures_of(where.settings))
        if verify:
            if not receipt.settled:
                raise StateError("verify.not_settled", run=receipt.run.id, state=receipt.run.state.value)
            _verify(where, receipt, output)
            return
    from headway.reports.document import receipt_document

    document = receipt_document(receipt)
    emit(output, document, document["lines"], lambda: receipt_text(receipt))


def _verify(where: Any, receipt: Receipt, output: str) -> None:  # noqa: ANN401 - a Session; naming it would import the controller
    from headway.controller.verification import verify_receipt
    from headway.errors import LedgerImbalanceError

    checks = verify_receipt(where.settings, where.ledger, receipt)
    rows = [{"ok": check.ok, "check": text(check.message, **check.values)} for check in checks]
    good = all(check.ok for check in checks)
    document = {"schema_version": 1, "run_id": receipt.run.id, "ok": good, "checks": rows}
    emit(
        output,
        document,
        rows,
        lambda: "\n".join(
            f"{text('verify.ok' if row['ok'] else 'verify.bad')}  {row['check']}" for row in rows
        ),
    )
    if not good:
        raise LedgerImbalanceError("verify.failed", run=receipt.run.id)


def receipt_text(receipt: Receipt) -> str:
    """The receipt as a person reads it."""
    run = receipt.run
    blocks = [_head(receipt), _lines(receipt)]
    if receipt.rows:
        blocks.append(_waste_line(receipt))
    blocks.append(_unit_line(receipt))
    blocks.extend(_source_line(source) for source in receipt.sources)
    if receipt.pue != 1 and receipt.joules is not None:
        blocks.append(text("receipt.pue", pue=receipt.pue, joules=f"{receipt.joules:.1f}"))
    if receipt.carbon is not None:
        carbon = receipt.carbon
        blocks.append(
            text(
                "receipt.carbon_source",
                location=carbon.location,
                grams=f"{carbon.grams_per_kwh:f}",
                source=carbon.source,
            )
        )
        if carbon.alternatives:
            blocks.append(text("receipt.carbon_others", others=carbon.alternatives))
        if carbon.embodied_grams is not None:
            grams = f"{float(carbon.embodied_grams):.3g}"
            blocks.append(text("receipt.embodied", grams=grams, source=carbon.embodied_source))
    if receipt.settled and receipt.rows:
        blocks.append(text("receipt.how_to_verify", run=run.id))
    return "\n".join(
        f"  {line}" if number else line
        for number, line in enumerate("\n".join(filter(None, blocks)).split("\n"))
    )


def _head(receipt: Receipt) -> str:
    run = receipt.run
    state = run.state.value + (f"({run.failure_class})" if run.failure_class else "")
    parts = [
        text("receipt.title", run=run.id),
        text("receipt.team", team=run.team_id),
        text("receipt.state", state=state, attempts=len(receipt.attempts)),
        f"{_minute(run.created)} – {_minute(run.ended)[11:] or '…'} UTC",
    ]
    for name, first, last in receipt.metrics:
        parts.append(f"{find(f'metric.{name}') or name} {first:.3f} → {last:.3f}")
    if not receipt.settled:
        parts.append(text("receipt.so_far"))
    return "   ".join(parts)


def _minute(microseconds: int | None) -> str:
    from headway.reports.document import iso_time

    return (iso_time(microseconds) or "")[:16].replace("T", " ")


def _lines(receipt: Receipt) -> str:
    if not receipt.rows:
        return text("receipt.nothing")
    sources = {source.number: source for source in receipt.sources}
    head = ["", "", "", text("receipt.quantity"), text("receipt.unit_price"), "", text("receipt.amount")]
    cells: list[list[str]] = [head]
    shown = 0
    for row in receipt.rows:
        label = text("receipt.attempt", attempt=row.attempt) if row.attempt != shown else ""
        shown = row.attempt
        cells.append([label, *_row(row, sources[row.source])])
    cells.extend(
        [text("receipt.total"), "", "", "", "", "", f"{total.amount:.9f} {total.currency}"]
        for total in receipt.totals
    )
    return columns(cells, right=(3, 6))


def _row(row: ReceiptRow, source: Source) -> list[str]:
    from headway.units import format_joules

    category = text(f"receipt.{row.category}")
    if row.unit == "node-hour":
        nodes = row.base_quantity / row.seconds if row.seconds else row.base_quantity
        detail = text("receipt.nodes", pool=source.offering_key, nodes=f"{float(nodes):.3g}")
        quantity = text("receipt.node_seconds", seconds=f"{row.base_quantity:.1f}")
    elif row.category == "compute":
        cores = row.base_quantity / row.seconds if row.seconds else row.base_quantity
        detail = text("receipt.cores", cores=f"{float(cores):.3g}")
        quantity = text("receipt.core_seconds", seconds=f"{row.base_quantity:.1f}")
    else:
        watts = row.base_quantity / row.seconds if row.seconds else row.base_quantity
        method = find(f"method.{row.method}") or row.method
        detail = text("receipt.watts", method=method, watts=f"{float(watts):.1f}")
        quantity = format_joules(float(row.base_quantity))
    price = f"{source.price_text} /{find(f'unit.{source.unit}') or source.unit}"
    return [
        category,
        detail,
        quantity,
        price,
        f"[{source.number}]",
        f"{row.amount.amount:.9f} {row.amount.currency}",
    ]


def _waste_line(receipt: Receipt) -> str:
    parts = [
        f"{text(f'waste.{part.waste.value}')} {part.share:.1%}"
        for part in receipt.waste
        if part.share is not None and (part.share or part.waste.value in {"useful", "replay"})
    ]
    lost = [
        text("receipt.lost", attempt=attempt, reached=reached, back=back)
        for attempt, reached, back in receipt.lost
    ]
    return text("receipt.of_which", parts=" · ".join(parts)) + (f"  ({'; '.join(lost)})" if lost else "")


def _unit_line(receipt: Receipt) -> str:
    from headway.units import format_joules

    parts = [text(cost.unit, amount=cost.amount) for cost in receipt.unit_costs]
    if receipt.joules_per_sample is not None:
        parts.append(
            text("receipt.joules_per_sample", joules=format_joules(float(receipt.joules_per_sample)))
        )
    if receipt.carbon is not None:
        parts.append(text("receipt.carbon", grams=f"{float(receipt.carbon.grams):.3g}"))
    return " · ".join(parts)


def _source_line(source: Source) -> str:
    from headway.reports.document import iso_time

    return text(
        "receipt.source",
        number=source.number,
        sku=source.sku,
        snapshot=source.snapshot_source,
        date=(iso_time(source.fetched_at) or "?")[:10],
        sha=source.snapshot_sha[:12],
    )
