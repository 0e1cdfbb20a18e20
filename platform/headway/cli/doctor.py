"""`headway doctor`: what this machine can run and measure."""

from __future__ import annotations

import click

from headway.cli.render import columns, emit, output_option
from headway.messages import text

NEEDED = ("python", "disk", "home", "ray", "pytorch")


@click.command("doctor", help=text("cli.doctor"))
@output_option
def command(output: str) -> int:
    """Examine the machine; exit code 1 when something that training needs is missing."""
    from headway.meter.machine import examine
    from headway.reports.document import SCHEMA_VERSION
    from headway.settings import Settings

    findings = examine(Settings.load().home)
    rows = [{"name": item.name, "ok": item.ok, "detail": item.detail} for item in findings]
    sign = {True: text("doctor.yes"), False: text("doctor.no"), None: text("doctor.unknown")}
    emit(
        output,
        {"schema_version": SCHEMA_VERSION, "findings": rows},
        rows,
        lambda: columns([[sign[item.ok], text(f"doctor.{item.name}"), item.detail] for item in findings]),
    )
    return int(any(item.ok is False for item in findings if item.name in NEEDED))
