"""The commands, as a person and as a script sees them."""

import csv
import io
import json
import re
import sqlite3
import subprocess
import sys

import pytest
import yaml

from headway.cli import main as module
from headway.cli.render import to_csv
from headway.runs.store import Ledger

READING = [["ls"], ["show", "tiny"], ["receipt", "tiny"], ["receipt", "tiny", "--verify"], ["config"]]


def test_help_lists_every_command_with_a_line(headway):
    code, out, _err = headway("--help")
    assert code == 0
    for name in module.COMMANDS:
        assert re.search(rf"^  {name} +\S", out, re.MULTILINE), name


@pytest.mark.parametrize("name", module.COMMANDS)
def test_every_command_explains_itself(headway, name):
    code, out, _err = headway(name, "--help")
    assert code == 0
    assert "Usage: headway " + name in out
    assert "cli." not in out


def test_the_version(headway):
    from headway import __version__

    assert headway("--version")[:2] == (0, f"headway {__version__}\n")


@pytest.mark.parametrize(("typed", "meant"), [("recipt", "receipt"), ("lss", "ls"), ("stopp", "stop")])
def test_an_unknown_command_suggests_the_nearest(headway, typed, meant):
    code, out, err = headway(typed)
    assert (code, out) == (2, "")
    assert f"Did you mean {meant}?" in err


def test_a_command_that_resembles_none_points_to_help(headway):
    code, _out, err = headway("xyzzy")
    assert code == 2
    assert "--help" in err


@pytest.mark.parametrize("words", [["show"], ["receipt"], ["logs"], ["stop"], ["resume"]])
def test_an_unknown_run_is_exit_code_3(headway, words):
    code, out, err = headway(*words, "nope")
    assert (code, out) == (3, "")
    assert "nope" in err
    assert "headway ls" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "text", ["version: 1\nname: x\n", "version: 1\nname: x\nentrypoint: true\nnonsense: 1\n", "[", ""]
)
def test_a_bad_job_file_is_exit_code_2_and_writes_nothing(headway, home, tmp_path, text):
    path = tmp_path / "job.yaml"
    path.write_text(text)
    code, out, err = headway("run", str(path))
    assert (code, out) == (2, "")
    assert "job.yaml" in err
    assert not home.exists()


def test_a_job_file_that_is_not_there_is_exit_code_3(headway, home, tmp_path):
    code, _out, err = headway("run", str(tmp_path / "none.yaml"))
    assert code == 3
    assert "none.yaml" in err
    assert not home.exists()


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_json_and_yaml_are_one_document_with_its_version(headway, finished_run, words):
    code, out, _err = headway(*words, "-o", "json")
    assert code == 0
    document = json.loads(out)
    assert document["schema_version"] == 1
    code, out, _err = headway(*words, "-o", "yaml")
    assert code == 0
    assert yaml.safe_load(out) == document


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_csv_has_a_header_and_rows(headway, finished_run, words):
    code, out, _err = headway(*words, "-o", "csv")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    assert rows
    assert all(None not in row and None not in row.values() for row in rows)


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_tables_show_no_ids_of_messages(headway, finished_run, words):
    code, out, _err = headway(*words)
    assert code == 0
    assert out
    assert not re.search(r"\b(receipt|ls|show|verify|config|state|live)\.[a-z_]+\b", out)
    assert "{" not in out


def test_doctor_answers_in_json(headway, monkeypatch):
    from headway.meter import machine

    finding = machine.Finding("python", True, "3.11")
    monkeypatch.setattr(machine, "examine", lambda home: [finding, machine.Finding("imds", None, "?")])
    code, out, _err = headway("doctor", "-o", "json")
    assert code == 0
    assert json.loads(out)["findings"][1] == {"name": "imds", "ok": None, "detail": "?"}
    monkeypatch.setattr(machine, "examine", lambda home: [machine.Finding("ray", False, "no")])
    assert headway("doctor")[0] == 1


def test_ls_tells_state_and_cost(headway, finished_run, new_history):
    new_history(finished_run.ledger, "waiting-0123456789").submit(at=10, name="waiting")
    # Its supervisor never came: the books are closed by the first command that looks.
    code, out, _err = headway("ls", "-o", "json")
    runs = {run["run_id"]: run for run in json.loads(out)["runs"]}
    assert code == 0
    assert list(runs) == ["waiting-0123456789", finished_run.run_id]
    assert runs[finished_run.run_id]["state"] == "SUCCEEDED"
    assert float(runs[finished_run.run_id]["cost"]) > 0
    assert runs["waiting-0123456789"]["cost"] is None
    code, out, err = headway("ls", "-n", "1")
    assert len(out.splitlines()) == 2
    assert "1 of 2" in err
    code, out, _err = headway("ls", "--state", "succeeded", "-o", "json")
    assert [run["run_id"] for run in json.loads(out)["runs"]] == [finished_run.run_id]
    code, _out, err = headway("ls", "--state", "sleeping")
    assert code == 2
    assert "SUCCEEDED" in err


def test_without_runs_ls_says_how_to_start_one(headway):
    code, out, _err = headway("ls")
    assert code == 0
    assert "headway run" in out


def test_show_tells_each_attempt(headway, finished_run):
    _code, out, _err = headway("show", "tiny", "-o", "json")
    document = json.loads(out)
    assert [attempt["state"] for attempt in document["attempts"]] == ["FAILED", "SUCCEEDED"]
    assert [attempt["last_checkpoint_step"] for attempt in document["attempts"]] == [50, 100]
    assert (document["step"], document["steps"], document["loss"]) == (100, 100, 0.25)


def test_a_diverged_run_is_still_valid_json(headway, finished_run):
    finished_run.progress(300, 101, loss="nan")
    from headway.runs.events import EventKind

    finished_run.add(EventKind.METRIC, 300, name="held_out_loss", value="inf", step=101)
    for words in (["show", "tiny"], ["receipt", "tiny"]):
        code, out, _err = headway(*words, "-o", "json")
        assert code == 0

        def refuse(name):
            raise AssertionError(name)

        json.loads(out, parse_constant=refuse)


def test_a_prefix_names_a_run_and_two_are_ambiguous(headway, finished_run, new_history):
    new_history(finished_run.ledger, "tiny-zzzzzzzzzz").submit()
    assert headway("show", "tiny-0")[0] == 0
    code, _out, err = headway("show", "tiny")
    assert code == 3
    assert "tiny-zzzzzzzzzz" in err


def test_logs_are_those_of_the_last_attempt(headway, finished_run, home):
    code, _out, _err = headway("logs", "tiny")
    assert code == 3
    for number in (1, 2):
        folder = home / "runs" / finished_run.run_id / f"a{number}"
        folder.mkdir(parents=True)
        (folder / "driver.log").write_bytes(f"attempt {number}\n".encode() + b"\xff\n")
    assert headway("logs", "tiny", "-f")[:2][0] == 0
    for words, expected in ((["logs", "tiny"], "attempt 2"), (["logs", "tiny", "-a", "1"], "attempt 1")):
        code, out, _err = headway(*words)
        assert (code, out.splitlines()[0]) == (0, expected)
    assert headway("logs", "tiny", "-a", "3")[0] == 3


def test_what_has_ended_need_not_be_stopped_and_cannot_be_resumed(headway, finished_run):
    for words, expected in ((["stop", "tiny"], 0), (["resume", "tiny", "-d"], 2)):
        code, _out, err = headway(*words)
        assert code == expected
        assert "SUCCEEDED" in err


def test_an_honest_receipt_verifies(headway, finished_run):
    code, out, _err = headway("receipt", "tiny", "--verify")
    assert code == 0
    assert all(line.startswith("ok ") for line in out.splitlines())


def edit(home, statement):
    with sqlite3.connect(home / "ledger.db") as connection:
        assert connection.execute(statement).rowcount > 0
    connection.close()


FIRST = "(SELECT min(id) FROM cost_line)"


@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE cost_line SET amount_nano = amount_nano + 1000 WHERE id = {FIRST}",
        f"UPDATE cost_line SET amount_nano = amount_nano + 1 WHERE id = {FIRST}",
        f"UPDATE cost_line SET quantity_text = '0' || quantity_text WHERE id = {FIRST}",
        "UPDATE cost_line SET waste = 'useful' WHERE waste = 'replay'",
        "UPDATE price SET price_text = '0.0001' WHERE unit = 'kWh'",
        "UPDATE price SET sku = 'me' WHERE unit = 'kWh'",
        "DELETE FROM price WHERE unit = 'kWh'",
    ],
)  # fmt: skip
def test_a_ledger_that_was_changed_does_not_verify(headway, finished_run, home, statement):
    edit(home, statement)
    code, out, err = headway("receipt", "tiny", "--verify")
    assert code == 1
    assert "BAD" in out
    assert "E-DAT-02" in err
    assert "Traceback" not in err
    assert json.loads(headway("receipt", "tiny", "--verify", "-o", "json")[1])["ok"] is False


@pytest.mark.parametrize("how", ["changed", "gone"])
def test_a_snapshot_that_was_changed_does_not_verify(headway, finished_run, home, how):
    (path,) = (home / "snapshots").iterdir()
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes().replace(b"0.146", b"0.147"))
    assert headway("receipt", "tiny", "--verify")[0] == 1


def test_config_tells_where_each_value_comes_from(headway, home, monkeypatch):
    home.mkdir()
    (home / "config.yaml").write_text("durable_seconds: 3  # often enough\nstorage: '/data'\n")
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    monkeypatch.setenv("HEADWAY_STORAGE", "/other")
    code, out, _err = headway("config", "-o", "json")
    found = {row["name"]: (row["value"], row["origin"]) for row in json.loads(out)["settings"]}
    assert code == 0
    assert found["durable_seconds"] == ("3", str(home / "config.yaml"))
    assert found["storage"] == ("/other", "environment HEADWAY_STORAGE")
    assert found["ray_address"] == ("127.0.0.1:1", "environment RAY_ADDRESS")
    assert found["start_timeout_seconds"] == ("180", "default")
    assert found["home"] == (str(home), "environment HEADWAY_HOME")


@pytest.mark.parametrize(
    "text",
    [
        "durable_second: 3",
        "durable_seconds: often",
        "durable_seconds: -1",
        "durable_seconds: nan",
        "home: /x",
        "just words",
    ],
)
def test_a_wrong_setting_is_exit_code_2(headway, home, text):
    home.mkdir()
    (home / "config.yaml").write_text(text + "\n")
    code, _out, err = headway("config")
    assert code == 2
    assert "config.yaml" in err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_its_completion(headway, shell):
    if shell == "bash" and subprocess.run(["bash", "--version"], capture_output=True, check=False).returncode:
        pytest.skip("no bash")
    code, out, _err = headway("completion", shell)
    assert code == 0
    assert "_HEADWAY_COMPLETE" in out
    assert headway("completion", "tcsh")[0] == 2


def test_a_ledger_that_is_none_is_exit_code_7(headway, home):
    home.mkdir()
    (home / "ledger.db").write_bytes(b"garbage" * 1000)
    code, _out, err = headway("ls")
    assert code == 7
    assert "ledger.db" in err
    assert "Traceback" not in err


def test_a_newer_ledger_is_left_alone(headway, home):
    Ledger.at(home / "ledger.db").close()
    edit(home, "UPDATE alembic_version SET version_num = '9999'")
    code, _out, err = headway("ls")
    assert code == 1
    assert "9999" in err


def test_debug_shows_the_traceback_and_keeps_the_exit_code(home, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["headway", "--debug", "show", "nope"])
    monkeypatch.delenv("HEADWAY_DEBUG", raising=False)
    monkeypatch.setenv("HEADWAY_DEBUG", "")
    with pytest.raises(SystemExit) as ended:
        module.main()
    assert ended.value.code == 3
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("cell", ["=1+1", "+cmd", "-x", "@SUM(A1)", "\tx", "\r=1"])
def test_a_cell_that_a_spreadsheet_would_run_is_text(cell):
    (row,) = csv.DictReader(io.StringIO(to_csv([{"a": cell}])))
    assert row["a"] == "'" + cell.replace("\r", "\n")


@pytest.mark.parametrize("cell", ["a\rb", "a\r\nb", "a\nb", 'a"b', "a,b"])
def test_no_cell_ends_its_row(cell):
    (row,) = csv.DictReader(io.StringIO(to_csv([{"a": cell, "b": 1}])))
    assert row == {"a": re.sub("\r\n?", "\n", cell), "b": "1"}


@pytest.mark.parametrize(
    ("cell", "text"), [("-1.5", "-1.5"), ("+3", "+3"), (None, ""), (3, "3"), ("plain", "plain")]
)
def test_other_cells_stay_as_they_are(cell, text):
    (row,) = csv.DictReader(io.StringIO(to_csv([{"a": cell, "b": 1}])))
    assert row["a"] == text


def test_no_rows_are_no_csv():
    assert to_csv([]) == ""
