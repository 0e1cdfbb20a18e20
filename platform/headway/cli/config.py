"""`headway config`: every setting, its value, and where that value comes from."""

from __future__ import annotations

import click

from headway.cli.render import columns, emit, output_option
from headway.messages import text


@click.command("config", help=text("cli.config"))
@output_option
def command(output: str) -> None:
    """Show the settings."""
    from headway.reports.document import SCHEMA_VERSION
    from headway.settings import Settings

    settings = Settings.load()
    rows = [
        {
            "name": item.name,
            "value": text("config.secret") if item.name == "token" and item.value else item.value,
            "origin": item.origin,
        }
        for item in settings.values
    ]
    head = [text(f"config.{name}") for name in ("name", "value", "origin")]
    emit(
        output,
        {"schema_version": SCHEMA_VERSION, "settings": rows},
        rows,
        lambda: columns([head, *([row["name"], row["value"] or "-", row["origin"]] for row in rows)]),
    )
