"""`headway techniques`: what a recipe can be made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

from headway.cli.render import columns, emit, output_option
from headway.messages import text


@click.command("techniques", help=text("cli.techniques"))
@output_option
def command(output: str) -> None:
    """List the registry."""
    from headway.memory.registry import TECHNIQUES
    from headway.reports.document import SCHEMA_VERSION

    rows = [
        {
            "name": item.name,
            "kind": item.kind,
            "does": item.does,
            "saves": item.saves,
            "costs": item.costs,
            "exact": item.exact,
            "needs": item.needs,
            "source": item.source,
        }
        for item in TECHNIQUES.values()
    ]
    document = {"schema_version": SCHEMA_VERSION, "techniques": rows}
    emit(output, document, rows, lambda: _table(rows))


def _table(rows: Sequence[Mapping[str, object]]) -> str:
    head = [text(f"techniques.head_{name}") for name in ("name", "kind", "exact", "saves", "costs")]
    cells = [
        [
            str(row["name"]),
            str(row["kind"]),
            text("techniques.yes" if row["exact"] else "techniques.no"),
            str(row["saves"]),
            str(row["costs"]),
        ]
        for row in rows
    ]
    return columns([head, *cells])
