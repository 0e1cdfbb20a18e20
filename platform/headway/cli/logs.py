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
@click.option("-r", "--rank", type=click.IntRange(0, 999_999), help=text("cli.rank"))
@click.option("--supervisor", is_flag=True, help=text("cli.supervisor"))
@click.option("--address", help=text("cli.logs_address"))
def command(
    run_id: str,
    follow: bool,
    attempt: int | None,
    rank: int | None,
    supervisor: bool,
    address: str | None,
) -> None:
    """Print a run's log."""
    if supervisor and (rank is not None or attempt is not None or address is not None):
        raise click.UsageError(text("logs.supervisor_alone"))
    if address is not None:
        _from_gateway(address, run_id, follow, attempt, rank)
    else:
        stream = "driver" if rank is None else f"rank-{rank}"
        _from_here(run_id, follow, attempt, None if supervisor else stream)


def _from_gateway(address: str, run_id: str, follow: bool, attempt: int | None, rank: int | None) -> None:
    from headway.cli.submit import api_of
    from headway.errors import NotFoundError

    api, size = api_of(address), 0
    if attempt is None:  # as on the machine itself: the last
        tries = api.call("GET", f"/v1/runs/{_quoted(run_id)}")["attempts"]
        attempt = tries[-1]["n"] if tries and not follow else None

    def write(data: bytes) -> None:
        nonlocal size
        size += len(data)
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()

    api.follow(run_id, write, rank=rank, attempt=attempt, to_the_end=follow)
    if not size:
        raise NotFoundError("logs.none" if rank is None else "logs.no_rank", run=run_id, rank=rank)


def _quoted(run_id: str) -> str:
    from urllib.parse import quote

    return quote(run_id, safe="")


def _from_here(run_id: str, follow: bool, attempt: int | None, stream: str | None) -> None:
    """Print a stream's file; None is the supervisor's."""
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
        shown, position = Path(), 0
        while True:
            with where.ledger.read() as connection:
                run = queries.get_run(connection, run.id)
                numbers = [row.n for row in queries.attempts(connection, run.id)] or [1]
            place = folder if stream is None else folder / f"a{attempt or numbers[-1]}"
            path = place / f"{stream or 'supervisor'}.log"
            if path != shown:
                _copy(shown, position)  # what the attempt before said last
                shown, position = path, 0
            position = _copy(path, position)
            if not follow or (run.state.is_terminal and position >= _size(path)):
                break
            time.sleep(POLL_SECONDS)
        if not path.exists():
            _say_missing(run.id, stream, path.parent)


def _say_missing(run_id: str, stream: str | None, folder: Path) -> None:
    from headway.errors import NotFoundError

    if stream in {None, "driver"}:
        raise NotFoundError("logs.none", run=run_id)
    assert stream is not None
    ranks = sorted(int(path.stem.removeprefix("rank-")) for path in folder.glob("rank-*.log"))
    if not ranks:
        raise NotFoundError("logs.no_ranks", run=run_id)
    raise NotFoundError("logs.no_rank_of", run=run_id, rank=stream.removeprefix("rank-"), last=ranks[-1])


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _copy(path: Path, position: int) -> int:
    if not path.is_file():
        return position
    with path.open("rb") as file:
        file.seek(position)
        while chunk := file.read(CHUNK_BYTES):
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        return file.tell()
