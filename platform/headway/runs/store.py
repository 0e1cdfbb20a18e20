"""The ledger store: SQLite beside the user, PostgreSQL in a cluster; append, project, read.

Two processes may use it at once (WAL, one writer at a time, waits of up to 30 s). `synchronous=FULL`:
what was acknowledged survives a power cut. A transaction that fails leaves nothing.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event, func, inspect, select
from sqlalchemy.exc import DatabaseError, OperationalError

from headway.errors import DataError, ExternalError
from headway.runs import tables
from headway.runs.events import Event, EventKind, canonical_json
from headway.runs.projection import insert_new, project

SCHEMA_VERSION = "0002"
BUSY_MILLISECONDS = 30_000


def now_microseconds() -> int:
    """The present as the ledger keeps it."""
    return time.time_ns() // 1000


class Ledger:
    """One ledger, opened by URL; creates and migrates its tables on first use."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine: Engine = create_engine(url)
        if self.engine.dialect.name == "sqlite":
            _prepare_sqlite(self.engine)
        self._migrate()

    @classmethod
    def at(cls, path: Path) -> Ledger:
        """The embedded ledger in a file; its folder is made."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ExternalError("ledger.cannot_open", path=path, cause=error) from error
        return cls(f"sqlite:///{path}")

    def _migrate(self) -> None:
        try:
            with self.engine.connect() as connection:
                current = None
                if inspect(connection).has_table("alembic_version"):
                    current = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
        except DatabaseError as error:
            raise ExternalError("ledger.cannot_open", path=self.url, cause=error.orig) from error
        if current == SCHEMA_VERSION:
            return
        if current is not None and str(current) > SCHEMA_VERSION:
            raise DataError("ledger.too_new", found=current, known=SCHEMA_VERSION)
        from headway.runs.migrations.upgrade import upgrade

        upgrade(self)

    @contextmanager
    def read(self) -> Generator[Connection]:
        """A consistent view; nothing is written."""
        with self._guarded(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Generator[Connection]:
        """One transaction, alone in the ledger; commits at the end, rolls back on any error."""
        with (
            self._guarded(),
            self.engine.connect().execution_options(headway_write=True) as connection,
            connection.begin(),
        ):
            yield connection

    @contextmanager
    def _guarded(self) -> Generator[None]:
        """A database that is damaged, full or out of reach is an external error; a broken rule is not."""
        try:
            yield
        except DatabaseError as error:
            if isinstance(error, OperationalError) or type(error) is DatabaseError:
                raise ExternalError("ledger.cannot_open", path=self.url, cause=error.orig) from error
            raise

    def append(self, events: Iterable[Event]) -> int:
        """Record events and project them in one transaction; says how many were new."""
        with self.write() as connection:
            return append_events(connection, events)

    def add_usage(self, rows: Sequence[Mapping[str, object]]) -> int:
        """Record usage rows, each once; says how many were new."""
        with self.write() as connection:
            return sum(insert_new(connection, tables.usage, row) for row in rows)

    def close(self) -> None:
        """Let go of the database."""
        self.engine.dispose()


def append_events(connection: Connection, events: Iterable[Event]) -> int:
    """Record and project events inside the caller's transaction; says how many were new."""
    recorded = 0
    newest = connection.execute(select(func.max(tables.event.c.recorded_at))).scalar() or 0
    for item in events:
        # Strictly growing, even where the clock goes back: `rebuild` replays events in this order.
        newest = max(now_microseconds(), newest + 1)
        row = {
            "source": item.source,
            "epoch": item.epoch,
            "seq": item.seq,
            "run_id": item.run_id,
            "attempt": item.attempt,
            "kind": item.kind.value,
            "occurred_at": item.occurred_at,
            "recorded_at": newest,
            "body": canonical_json(item.body),
        }
        if insert_new(connection, tables.event, row):
            project(connection, item)
            recorded += 1
    return recorded


def _prepare_sqlite(engine: Engine) -> None:
    def on_connect(connection: sqlite3.Connection, _record: object) -> None:
        connection.isolation_level = None  # we say BEGIN ourselves: the driver would do it too late
        connection.execute(f"PRAGMA busy_timeout={BUSY_MILLISECONDS}")
        _use_wal(connection)
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")

    def on_begin(connection: Connection) -> None:
        writing = bool(connection.get_execution_options().get("headway_write"))
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    event.listen(engine, "connect", on_connect)
    event.listen(engine, "begin", on_begin)


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL; while another process does so for a new file, SQLite does not wait, so we do."""
    deadline = time.monotonic() + BUSY_MILLISECONDS / 1000
    while True:
        try:
            if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


class Recorder:
    """One source's numbered events: `epoch` is the moment it started, `seq` counts from 1."""

    def __init__(self, ledger: Ledger, source: str, clock: Callable[[], int] = now_microseconds) -> None:
        self.ledger = ledger
        self.source = source
        self.clock = clock
        self.epoch = clock()
        self._seq = 0

    def next_seq(self) -> int:
        """The next number of this source in this epoch."""
        self._seq += 1
        return self._seq

    def event(
        self,
        kind: EventKind,
        body: dict[str, object],
        run_id: str,
        attempt: int | None = None,
        at: int | None = None,
    ) -> Event:
        """The next event of this source; it happens now unless `at` says otherwise."""
        moment = self.clock() if at is None else at
        return Event(self.source, self.epoch, self.next_seq(), kind, moment, run_id, attempt, body)

    def append(
        self, kind: EventKind, body: dict[str, object], run_id: str, attempt: int | None = None
    ) -> None:
        """Record one event that happens now."""
        self.ledger.append([self.event(kind, body, run_id, attempt)])


def rebuild(ledger: Ledger) -> None:
    """Throw the projected rows away and make them again from the events, in the order recorded."""
    with ledger.write() as connection:
        leases = {(row.run_id, row.n): row for row in connection.execute(select(tables.attempt)).all()}
        for table in reversed(tables.PROJECTED):
            connection.execute(table.delete())
        rows = connection.execute(select(tables.event).order_by(tables.event.c.recorded_at)).all()
        for row in rows:
            kind = EventKind(row.kind)
            project(
                connection,
                Event(
                    row.source,
                    row.epoch,
                    row.seq,
                    kind,
                    row.occurred_at,
                    row.run_id,
                    row.attempt,
                    json.loads(row.body),
                ),
            )
        for (run_id, number), row in leases.items():
            table = tables.attempt
            connection.execute(
                table.update()
                .where((table.c.run_id == run_id) & (table.c.n == number))
                .values(
                    lease_epoch=row.lease_epoch,
                    lease_holder=row.lease_holder,
                    lease_expires_at=row.lease_expires_at,
                )
            )
