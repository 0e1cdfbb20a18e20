"""Several processes at one ledger, and one that is killed in the middle."""

import multiprocessing
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from sqlalchemy import func, select

from headway.runs import tables
from headway.runs.events import Event, EventKind
from headway.runs.store import Ledger

EVENTS = 40
KILLED = """
import sys
from pathlib import Path
from headway.runs.events import Event, EventKind
from headway.runs.store import Ledger
ledger = Ledger.at(Path(sys.argv[1]))
n = 0
while True:
    n += 1
    ledger.append(
        [Event("s", int(sys.argv[2]), 3 * n + i, EventKind.NOTE, n, body={"x": "y" * 3000}) for i in range(3)]
    )
    print(n, flush=True)
"""


def write_many(path, source, gate):
    gate.wait(60)
    ledger = Ledger.at(Path(path))
    for number in range(EVENTS):
        ledger.append([Event(source, 1, number, EventKind.NOTE, number, body={"by": source})])
    ledger.close()


def test_processes_that_open_and_write_at_once_lose_nothing(tmp_path):
    path = tmp_path / "new" / "ledger.db"
    spawn = multiprocessing.get_context("spawn")
    gate = spawn.Barrier(3)
    writers = [spawn.Process(target=write_many, args=(str(path), f"w{i}", gate)) for i in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    ledger = Ledger.at(path)
    with ledger.read() as connection:
        counts = connection.execute(
            select(tables.event.c.source, func.count()).group_by(tables.event.c.source)
        ).all()
        versions = connection.exec_driver_sql("SELECT count(*) FROM alembic_version").scalar()
        order = connection.execute(select(tables.event.c.recorded_at)).scalars().all()
    ledger.close()
    assert {tuple(row) for row in counts} == {(f"w{i}", EVENTS) for i in range(3)}
    assert versions == 1
    assert len(set(order)) == len(order)


@pytest.mark.parametrize("turn", range(3))
def test_a_process_killed_among_transactions_leaves_an_intact_ledger(tmp_path, turn):
    path = tmp_path / "ledger.db"
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path), str(turn)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "1\n"
    time.sleep(random.Random(turn).uniform(0.05, 0.4))
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read()
    process.wait()
    process.stdout.close()
    said = [line for line in rest.split("\n")[:-1] if line]
    acknowledged = int(said[-1]) if said else 1
    ledger = Ledger.at(path)
    with ledger.read() as connection:
        assert connection.exec_driver_sql("PRAGMA integrity_check").scalars().all() == ["ok"]
        numbers = connection.execute(select(tables.event.c.seq).order_by(tables.event.c.seq)).scalars().all()
    ledger.append([Event("after", 1, 1, EventKind.NOTE, 1)])
    ledger.close()
    assert len(numbers) % 3 == 0, "a transaction is there whole or not at all"
    assert numbers == list(range(3, 3 + len(numbers)))
    assert acknowledged <= len(numbers) // 3 <= acknowledged + 1


def test_an_upgrade_that_was_rolled_back_is_made_again(tmp_path, monkeypatch):
    path = tmp_path / "ledger.db"
    from headway.runs.migrations import upgrade as module

    real = module._run

    def broken(connection, steps):
        real(connection, steps)
        raise RuntimeError

    monkeypatch.setattr(module, "_run", broken)
    with pytest.raises(RuntimeError):
        Ledger.at(path)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    connection.close()
    monkeypatch.setattr(module, "_run", real)
    Ledger.at(path).close()
