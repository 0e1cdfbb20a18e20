"""`headway ls`: the runs, newest first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from headway.cli.render import columns, emit, output_option, say
from headway.messages import text


@click.command("ls", help=text("cli.ls"))
@click.option("-n", "--limit", type=click.IntRange(1), default=20, show_default=True, help=text("cli.limit"))
@click.option("--state", "states", multiple=True, help=text("cli.state"))
@output_option
def command(limit: int, states: tuple[str, ...], output: str) -> None:
    """List runs."""
    from headway.cli.session import session
    from headway.errors import UserError
    from headway.reports.document import SCHEMA_VERSION, iso_time
    from headway.runs import bills, queries
    from headway.runs.states import RunState
    from headway.units import Money

    known = {state.value for state in RunState}
    wanted = tuple(state.upper() for state in states)
    unknown = [state for state in wanted if state not in known]
    if unknown:
        raise UserError("ls.bad_state", state=unknown[0], known=", ".join(sorted(known)))
    with session() as where, where.ledger.read() as connection:
        chosen = tuple(RunState(state) for state in wanted)
        runs = queries.list_runs(connection, states=chosen, limit=limit, with_hidden=False)
        total = queries.count_runs(connection, with_hidden=False)
        ever = total or queries.count_runs(connection)
        sums = bills.totals_of(connection, [run.id for run in runs])
    rows: list[dict[str, Any]] = []
    for run in runs:
        amounts = [Money.from_nano(nano, currency) for currency, nano in sorted(sums.get(run.id, {}).items())]
        rows.append(
            {
                "run_id": run.id,
                "state": run.state.value,
                "failure_class": run.failure_class,
                "team": run.team_id,
                "name": run.name,
                "created": iso_time(run.created),
                "ended": iso_time(run.ended),
                "cost": f"{amounts[0].amount:f}" if len(amounts) == 1 else None,
                "currency": amounts[0].currency if len(amounts) == 1 else None,
            }
        )
    emit(output, {"schema_version": SCHEMA_VERSION, "runs": rows}, rows, lambda: _table(rows))
    unknown_folders = _unknown_folders(where.settings.home, ever)
    if unknown_folders:
        say(text("ls.unknown_folders", count=unknown_folders, path=where.settings.home / "runs"))
    if output == "table" and total > len(rows) and not states:
        say(text("ls.more", shown=len(rows), total=total))


def _unknown_folders(home: Path, ever: int) -> int:
    """Run folders beside an empty ledger: it was deleted or replaced, and somebody should know."""
    folder = home / "runs"
    if ever or not folder.is_dir():
        return 0
    return sum(1 for entry in folder.iterdir() if entry.is_dir())


def _table(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return text("ls.none")
    from decimal import Decimal

    from headway.units import Money

    head = [text(f"ls.{name}") for name in ("run", "state", "team", "created", "cost")]
    cells = [
        [
            row["run_id"],
            row["state"] + (f"({row['failure_class']})" if row["failure_class"] else ""),
            row["team"],
            row["created"][:16].replace("T", " "),
            "-" if row["cost"] is None else str(Money(Decimal(row["cost"]), row["currency"])),
        ]
        for row in rows
    ]
    return columns([head, *cells], right=(4,))
