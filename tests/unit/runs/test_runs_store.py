"""The ledger takes each event once, projects it in the same transaction, and leaves nothing of a failure."""

import json
import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError

from headway.errors import DataError, ExternalError, NotFoundError, StateError
from headway.runs import queries, tables
from headway.runs.events import Event, EventKind, canonical_json
from headway.runs.store import SCHEMA_VERSION, Ledger, Recorder, append_events, rebuild

GOLDEN = Path(__file__).parents[2] / "golden" / "runs" / "schema.sql"


def dump(ledger):
    """Every projected row of every table."""
    with ledger.read() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(select(table)).all()), key=repr)
            for table in tables.PROJECTED
        }


def count(ledger, table):
    with ledger.read() as connection:
        return connection.execute(select(func.count()).select_from(table)).scalar_one()


def test_an_event_is_taken_once(history):
    history.submit()
    event = history.recorder.event(EventKind.RUN_STATE, {"to": "ADMITTED"}, history.run_id)
    assert history.ledger.append([event]) == 1
    before = dump(history.ledger)
    assert history.ledger.append([event, event]) == 0
    assert dump(history.ledger) == before
    assert count(history.ledger, tables.event) == 2


@pytest.mark.parametrize("change", [{"source": "other"}, {"epoch": 2}, {"seq": 2}])
def test_source_epoch_and_number_each_make_another_event(ledger, change):
    same = {"source": "a", "epoch": 1, "seq": 1}
    for identity in (same, {**same, **change}):
        ledger.append([Event(kind=EventKind.NOTE, occurred_at=1, **identity)])
    assert count(ledger, tables.event) == 2


def test_usage_is_taken_once(half_run):
    with half_run.ledger.read() as connection:
        rows = connection.execute(select(tables.usage)).all()
    named = [{column.key: row._mapping[column] for column in tables.usage.columns} for row in rows]
    assert named
    assert half_run.ledger.add_usage(named) == 0


def test_an_illegal_state_leaves_nothing_of_its_transaction(history):
    history.submit()
    before, events = dump(history.ledger), count(history.ledger, tables.event)
    recorder = history.recorder
    with pytest.raises(StateError):
        history.ledger.append(
            [
                recorder.event(EventKind.RUN_STATE, {"to": "ADMITTED"}, history.run_id),
                recorder.event(EventKind.NOTE, {"what": "x"}, history.run_id),
                recorder.event(EventKind.RUN_STATE, {"to": "RUNNING"}, history.run_id),
            ]
        )
    assert dump(history.ledger) == before
    assert count(history.ledger, tables.event) == events


def test_an_ended_attempt_never_changes(half_run):
    with pytest.raises(StateError):
        half_run.add(EventKind.ATTEMPT_STATE, 300, to="RUNNING")


def test_a_state_of_an_unknown_run_is_refused(history):
    with pytest.raises(NotFoundError):
        history.state(0, "ADMITTED")
    assert count(history.ledger, tables.event) == 0


def test_a_request_key_names_one_run(history, new_history):
    history.submit(request_key="k")
    with pytest.raises(IntegrityError):
        new_history(history.ledger, "other-0123456789").submit(request_key="k")
    assert count(history.ledger, tables.run) == 1
    assert count(history.ledger, tables.event) == 1


def test_without_a_request_key_the_id_is_it(history):
    history.submit()
    with history.ledger.read() as connection:
        assert connection.execute(select(tables.run.c.request_key)).scalar_one() == history.run_id


def test_rows_made_again_from_events_are_the_live_rows(finished_run):
    before = dump(finished_run.ledger)
    assert all(before[name] for name in ("run", "attempt", "allocation", "phase", "progress", "log"))
    rebuild(finished_run.ledger)
    assert dump(finished_run.ledger) == before


def test_rows_are_made_again_in_the_order_recorded_even_if_the_clock_went_back(history, monkeypatch):
    ticks = iter(range(10**9, 0, -1000))
    monkeypatch.setattr("headway.runs.store.now_microseconds", lambda: next(ticks))
    history.submit()
    other = Recorder(history.ledger, "another", clock=lambda: 1)
    for state in ("ADMITTED", "PROVISIONING", "STARTING"):
        history.state(1, state)
    history.ledger.append([other.event(EventKind.RUN_STATE, {"to": "RUNNING"}, history.run_id, at=5)])
    before = dump(history.ledger)
    rebuild(history.ledger)
    assert dump(history.ledger) == before


def test_a_lease_that_was_taken_over_survives_a_rebuild(half_run, new_history):
    history = new_history(half_run.ledger, "other-0123456789")
    history.submit()
    history.open(1, 0)
    from headway.runs.lease import take_over

    with history.ledger.write() as connection:
        assert take_over(connection, history.run_id, 1, 1)
    rebuild(history.ledger)
    with history.ledger.read() as connection:
        assert queries.attempts(connection, history.run_id)[0].lease_epoch == 2


def test_the_pragmas_are_in_force_on_every_connection(ledger):
    with ledger.read() as one, ledger.read() as two:
        for connection in (one, two):

            def ask(name, connection=connection):
                return connection.exec_driver_sql(f"PRAGMA {name}").scalar()

            assert ask("journal_mode") == "wal"
            assert ask("synchronous") == 2
            assert ask("busy_timeout") == 30_000
            assert ask("foreign_keys") == 1


def test_a_write_begins_at_once_and_a_read_does_not_block_it(ledger):
    with ledger.read() as reader:
        reader.execute(select(tables.run)).all()
        ledger.append([Event("s", 1, 1, EventKind.NOTE, 1)])
        assert reader.execute(select(func.count()).select_from(tables.event)).scalar_one() == 0
    assert count(ledger, tables.event) == 1


def test_an_error_in_a_write_rolls_back(ledger):
    def fail():
        with ledger.write() as connection:
            append_events(connection, [Event("s", 1, 1, EventKind.NOTE, 1)])
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert count(ledger, tables.event) == 0


def test_a_ledger_newer_than_this_version_is_refused(ledger, home):
    with sqlite3.connect(home / "ledger.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(DataError) as caught:
        Ledger.at(home / "ledger.db")
    assert caught.value.values == {"found": "9999", "known": SCHEMA_VERSION}


@pytest.mark.parametrize(
    "content", [b"not a database, but long enough to be read as one" * 100, b"\0" * 9000]
)
def test_a_file_that_is_no_ledger_is_an_external_error(tmp_path, content):
    path = tmp_path / "ledger.db"
    path.write_bytes(content)
    with pytest.raises(ExternalError) as caught:
        Ledger.at(path)
    assert caught.value.exit_code == 7
    assert "ledger.db" in str(caught.value)
    assert path.read_bytes() == content


def test_a_ledger_that_cannot_be_opened_is_an_external_error(tmp_path):
    (tmp_path / "ledger.db").mkdir()
    with pytest.raises(ExternalError):
        Ledger.at(tmp_path / "ledger.db")


def test_a_home_that_is_a_file_is_an_external_error(tmp_path):
    (tmp_path / "home").write_text("x")
    with pytest.raises(ExternalError):
        Ledger.at(tmp_path / "home" / "ledger.db")


def damage(path):
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))


def test_damage_found_while_opening_is_an_external_error(finished_run, home):
    finished_run.ledger.close()
    damage(home / "ledger.db")
    with pytest.raises(ExternalError):
        Ledger.at(home / "ledger.db")


def test_damage_found_while_reading_or_writing_is_an_external_error(finished_run, home):
    ledger = finished_run.ledger
    ledger.close()
    damage(home / "ledger.db")

    def read():
        with ledger.read() as connection:
            queries.list_runs(connection)

    with pytest.raises(ExternalError) as caught:
        read()
    assert caught.value.exit_code == 7
    with pytest.raises(ExternalError):
        finished_run.state(300, "QUEUED")


def test_a_ledger_that_stays_locked_is_an_external_error(home, monkeypatch):
    monkeypatch.setattr("headway.runs.store.BUSY_MILLISECONDS", 50)
    ledger = Ledger.at(home / "ledger.db")
    holder = sqlite3.connect(home / "ledger.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    event = Event("s", 1, 1, EventKind.NOTE, 1)
    try:
        with pytest.raises(ExternalError, match="locked"):
            ledger.append([event])
    finally:
        holder.close()
    assert ledger.append([event]) == 1
    ledger.close()


def test_the_schema_is_the_committed_one(ledger):
    with ledger.read() as connection:
        found = connection.exec_driver_sql(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND tbl_name <> 'alembic_version'"
            " ORDER BY tbl_name, type DESC, name"
        ).scalars()
        text = "".join(f"{statement.strip()};\n" for statement in found)
    text = "\n".join(line.rstrip() for line in text.split("\n"))
    assert text == GOLDEN.read_text(encoding="utf-8"), (
        "the schema changed: write a migration, then the golden"
    )


def test_the_ledger_knows_its_version(ledger):
    with ledger.read() as connection:
        assert connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalars().all() == [
            SCHEMA_VERSION
        ]


@pytest.mark.parametrize("table", tables.metadata.sorted_tables, ids=lambda table: table.name)
def test_every_table_carries_its_organisation(ledger, table):
    column = table.c.org_id
    assert not column.nullable
    with ledger.read() as connection:
        columns = connection.exec_driver_sql(f"PRAGMA table_info({table.name})").all()
    default = {row[1]: row[4] for row in columns}["org_id"]
    assert default == "'default'"


def test_no_column_of_the_ledger_is_a_float():
    for table in tables.metadata.sorted_tables:
        for column in table.columns:
            assert column.type.python_type in {int, str}, f"{table.name}.{column.name}"


def test_canonical_json_is_one_text_per_value():
    assert (
        canonical_json({"b": 1, "a": "é"})
        == canonical_json(json.loads('{"a":"é", "b":1}'))
        == '{"a":"é","b":1}'
    )
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(float("nan"))


def test_a_run_is_found_by_a_prefix_that_only_it_has(finished_run, new_history):
    with finished_run.ledger.read() as connection:
        assert queries.get_run(connection, "tiny").id == finished_run.run_id
        for wrong in ("", "t%", "tin_", "nope"):
            with pytest.raises(NotFoundError):
                queries.get_run(connection, wrong)
    new_history(finished_run.ledger, "tiny-zzzzzzzzzz").submit()
    with finished_run.ledger.read() as connection, pytest.raises(NotFoundError, match="tiny-zzzzzzzzzz"):
        queries.get_run(connection, "tiny-")
