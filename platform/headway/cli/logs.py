"""`headway logs`: what the run printed; `-f` follows it, and Ctrl-C then only stops looking."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

from headway.messages import text

POLL_SECONDS = 0.2
CHUNK_BYTES = 1 << 16


@click.command("logs", help=text("cli.logs"))
@click.argument("run_id", metavar="RUN")
@click.option("-f", "--follow", is_flag=True, help=text("cli.follow"))
@click.option("-a", "--attempt", type=click.IntRange(1), help=text("cli.attempt"))
@click.option("--supervisor", is_flag=True, help=text("cli.supervisor"))
def command(run_id: str, follow: bool, attempt: int | None, supervisor: bool) -> None:
    """Print a run's log."""
    from headway.cli.session import session
    from headway.errors import NotFoundError
    from headway.runs import queries

    with session() as where:
        with where.ledger.read() as connection:
            run = queries.get_run(connection, run_id)
            numbers = [row.n for row in queries.attempts(connection, run.id)]
        if attempt is not None and attempt not in numbers:
            raise NotFoundError("logs.no_attempt", run=run.id, attempt=attempt)
        folder = where.settings.run_folder(run.id)
        position = 0
        while True:
            with where.ledger.read() as connection:
                run = queries.get_run(connection, run.id)
                numbers = [row.n for row in queries.attempts(connection, run.id)] or [1]
            path = (
                folder / "supervisor.log"
                if supervisor
                else folder / f"a{attempt or numbers[-1]}" / "driver.log"
            )
            position = _copy(path, position)
            if not follow or (run.state.is_terminal and position >= _size(path)):
                break
            time.sleep(POLL_SECONDS)
        if not path.exists():
            raise NotFoundError("logs.none", run=run.id)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _copy(path: Path, position: int) -> int:
    if not path.exists():
        return position
    with path.open("rb") as file:
        file.seek(position)
        while chunk := file.read(CHUNK_BYTES):
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        return file.tell()
