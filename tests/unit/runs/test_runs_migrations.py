"""Ledgers of earlier versions: brought to today's schema without losing a row, a figure or a receipt.

`golden/runs/ledger-0001.sql` is what Headway wrote when its schema was 0001: a run of two attempts with its
usage, prices and cost lines, and one that waits. It was dumped by SQLite and is never made anew.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest

from headway.runs import queries
from headway.runs.events import EventKind as K
from headway.runs.states import RunState
from headway.runs.store import SCHEMA_VERSION, Ledger, Recorder, rebuild

GOLDEN = Path(__file__).parents[2] / "golden" / "runs"
OLD = (GOLDEN / "ledger-0001.sql").read_text(encoding="utf-8")


def rows(path):
    """Every table's rows, each as its columns' values."""
    with sqlite3.connect(path) as database:
        database.row_factory = sqlite3.Row
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: [dict(row) for row in database.execute(f'SELECT * FROM "{name}"')] for name in names}


@pytest.fixture
def old(home):
    """A ledger of schema 0001."""
    home.mkdir()
    with sqlite3.connect(home / "ledger.db") as database:
        database.executescript(OLD)
    assert rows(home / "ledger.db")["alembic_version"] == [{"version_num": "0001"}]
    return home / "ledger.db"


def test_no_row_and_no_value_is_lost(old):
    before = rows(old)
    assert len(before["event"]) > 30
    assert {"run", "attempt", "usage", "price", "cost_line", "progress", "checkpoint"} <= {
        name for name, found in before.items() if found
    }
    Ledger.at(old).close()
    after = rows(old)
    assert after.pop("alembic_version") == [{"version_num": SCHEMA_VERSION}]
    del before["alembic_version"]
    for name, found in before.items():
        assert [{key: row[key] for key in was} for row, was in zip(after[name], found, strict=True)] == found
    assert after["token"] == after["principal"] == []


def test_the_columns_are_those_of_a_new_ledger(old, home):
    def columns(path):
        with sqlite3.connect(path) as database:
            names = [
                name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            ]
            return {
                name: {row[1:4] for row in database.execute(f'PRAGMA table_info("{name}")')} for name in names
            }

    Ledger.at(old).close()
    Ledger.at(home / "new.db").close()
    assert columns(old) == columns(home / "new.db")


def test_what_was_recorded_can_be_read_rebuilt_and_gone_on_with(old):
    ledger = Ledger.at(old)
    with ledger.read() as connection:
        tiny, other = (queries.get_run(connection, name) for name in ("tiny", "other"))
        attempts = queries.attempts(connection, tiny.id)
    assert (tiny.state, other.state) == (RunState.SUCCEEDED, RunState.QUEUED)
    assert [(one.n, one.failure_class, one.exit_code) for one in attempts] == [
        (1, "infra", None),
        (2, None, None),
    ]
    Recorder(ledger, "test").append(K.RUN_STATE, {"to": "CANCELLED"}, other.id)
    Recorder(ledger, "test").append(K.HIDDEN, {}, other.id)
    rebuild(ledger)
    with ledger.read() as connection:
        assert queries.get_run(connection, tiny.id) == tiny
        assert queries.get_run(connection, other.id).hidden is not None
        assert [one.state for one in queries.attempts(connection, tiny.id)] == [one.state for one in attempts]
    ledger.close()


def test_the_receipt_is_the_one_that_it_was_and_proves_itself(old):
    before = rows(old)
    lines = before["cost_line"]
    kept = old.parent / "snapshots" / f"{before['price_snapshot'][0]['sha256']}.toml"
    kept.parent.mkdir()
    kept.write_bytes((GOLDEN / "snapshot-0001.toml").read_bytes())
    words = [sys.executable, "-m", "headway.cli.main", "receipt", "tiny"]
    subprocess.run([*words, "--verify"], check=True, capture_output=True, timeout=120)
    said = subprocess.run([*words, "-o", "json"], check=True, capture_output=True, timeout=120).stdout
    assert all(line["supersedes_id"] is None for line in lines)
    total = sum(line["amount_nano"] for line in lines)
    assert Decimal(json.loads(said)["totals"][0]["amount"]) * 10**9 == total


def test_several_that_open_it_at_once_migrate_it_once(old):
    code = (
        "import sys; from pathlib import Path; from headway.runs.store import Ledger;"
        " Ledger.at(Path(sys.argv[1]))"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code, str(old)]) for _ in range(3)]
    assert [process.wait(120) for process in processes] == [0, 0, 0]
    assert rows(old)["alembic_version"] == [{"version_num": SCHEMA_VERSION}]


def test_a_migration_that_fails_leaves_the_ledger_as_it_was(old, monkeypatch):
    from headway.runs import tables

    before = rows(old)

    def fail(*_words, **_more):
        raise RuntimeError("the power went")

    monkeypatch.setattr(type(tables.token), "create", fail)
    with pytest.raises(RuntimeError):
        Ledger.at(old)
    monkeypatch.undo()
    assert rows(old) == before
