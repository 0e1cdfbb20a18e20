"""`headway status`: which of gateway, controller and dashboard run here, and where they answer."""

from __future__ import annotations

import click

from headway.cli.render import columns, emit, output_option
from headway.messages import text


@click.command("status", help=text("cli.status"))
@output_option
def command(output: str) -> None:
    """Show the local services."""
    from headway.controller import services
    from headway.reports.document import SCHEMA_VERSION
    from headway.settings import Settings

    settings = Settings.load()
    rows: list[dict[str, str | None]] = []
    for name in services.NAMES:
        service = services.find(settings, name)
        state = "stopped" if service is None else "up" if service.is_answering else "silent"
        rows.append(
            {
                "name": name,
                "state": state,
                "url": service.url if service else None,
                "log": service.log if service else None,
            }
        )
    emit(
        output,
        {"schema_version": SCHEMA_VERSION, "services": rows},
        rows,
        lambda: columns(
            [[str(row["name"]), text(f"services.state_{row['state']}"), row["url"] or "-"] for row in rows]
        ),
    )
