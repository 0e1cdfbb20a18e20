"""submit, resubmit, tokens, up, down, status: what is refused, how it is said, and with which exit code."""

from __future__ import annotations

import json
import re
import socket
import sqlite3
import sys
import threading
import time

import pytest

from headway.cli import main as module
from headway.controller import services
from headway.runs.states import FailureClass
from headway.runs.tokens import Role

JOB = "version: 1\nname: own\nentrypoint: python train.py\n"


@pytest.fixture
def headway(home, monkeypatch, capfd):
    def call(*words):
        monkeypatch.setattr(sys, "argv", ["headway", *words])
        capfd.readouterr()
        with pytest.raises(SystemExit) as stop:
            module.main()
        out, err = capfd.readouterr()
        return stop.value.code, out, err

    return call


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a job and its script, and the command line in it."""
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "job.yaml").write_text(JOB)
    (folder / "train.py").write_text("print('trained')\n")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def nobody():
    """An address where nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{free.getsockname()[1]}"


def runs(home):
    with sqlite3.connect(f"file:{home / 'ledger.db'}?mode=ro", uri=True) as ledger:
        return ledger.execute("SELECT id, request_key, parent_run_id, owner_id FROM run").fetchall()


def test_submit_records_the_run_and_its_code_once(headway, running, folder, home):
    words = ["submit", "job.yaml", "-d", "--key", "k", "--address", running.url, "--", "--lr", "0.1"]
    code, out, _err = headway(*words)
    assert code == 0
    [(run_id, key, parent, owner)] = runs(home)
    assert (out, key, parent, owner) == (f"{run_id}\n", "k", None, "local")
    assert headway(*words)[:2] == (0, out), "the same request again is the same run"
    assert len(runs(home)) == 1
    spec = running.run("k").spec["resolved"]
    assert spec["entrypoint"] == "python train.py --lr 0.1"
    assert running.store.size(spec["package"]) > 0


def test_a_key_that_is_taken_by_another_request_is_refused(headway, running, folder, home):
    words = ["submit", "job.yaml", "-d", "--key", "k", "--address", running.url]
    assert headway(*words)[0] == 0
    code, out, err = headway(*words, "--", "--other")
    assert (code, out) == (2, "")
    assert "another job was submitted as k" in err
    assert "choose another id" in err
    assert len(runs(home)) == 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["nothing.yaml"], 3),
        (["job.yaml", "--set", "needs.workers=-1"], 2),
        (["job.yaml", "--set", "limts=1"], 2),
        (["job.yaml", "--set", "entrypoint=python missing.py"], 2),
        (["job.yaml", "--key", "a/b"], 2),
        (["job.yaml", "--address", "ftp://127.0.0.1"], 2),
        (["job.yaml", "--address", "http://127.0.0.1:99999"], 2),
        (["job.yaml", "--set", "env.KEY=AKIAIOSFODNN7EXAMPLE"], 2),
        ([], 2),
    ],
)
def test_submit_refuses_what_is_wrong_and_records_nothing(
    headway, running, folder, home, monkeypatch, words, expected
):
    monkeypatch.setenv("HEADWAY_ADDRESS", running.url)
    code, out, err = headway("submit", "-d", *words)
    assert (code, out) == (expected, ""), err
    assert "Traceback" not in err
    assert runs(home) == []


def test_without_a_gateway_every_command_of_it_is_exit_code_7_and_says_what_to_do(headway, folder, nobody):
    for words in (["submit", "job.yaml"], ["resubmit", "a-run"]):
        code, out, err = headway(*words, "--address", nobody)
        assert (code, out) == (7, "")
        assert nobody in err
        assert "headway up" in err


def test_what_is_no_gateway_is_said(headway, folder):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            for _ in range(2):
                client = server.accept()[0]
                client.recv(1 << 16)
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
                client.close()

        thread = threading.Thread(target=answer)
        thread.start()
        for words in (["resubmit", "a-run"], ["submit", "job.yaml"]):
            code, _out, err = headway(*words, "--address", f"http://127.0.0.1:{server.getsockname()[1]}")
            assert code == 7
            assert "no gateway of Headway" in err
        thread.join()


def test_a_token_that_is_missing_bad_revoked_or_of_another_team_is_exit_code_4(
    headway, running, folder, monkeypatch, home
):
    monkeypatch.setenv("HEADWAY_ADDRESS", running.url)
    mine, other = running.token("nlp"), running.token("vision", name="eve")
    for token in (None, "hw_nobody", "x y"):
        if token is not None:
            monkeypatch.setenv("HEADWAY_TOKEN", token)
        code, out, err = headway("submit", "job.yaml", "-d")
        assert (code, out) == (4, "")
        assert "token" in err
        assert token is None or token not in err, "what was given is not said again"
    monkeypatch.setenv("HEADWAY_TOKEN", mine)
    code, out, _err = headway("submit", "job.yaml", "-d")
    assert code == 0
    run_id = out.strip()
    assert runs(home)[0][3] == "user-nlp"
    assert headway("submit", "job.yaml", "-d", "--set", "team=vision")[0] == 2
    monkeypatch.setenv("HEADWAY_TOKEN", other)
    for words in (["resubmit", run_id, "-d"], ["logs", run_id, "--address", running.url]):
        code, _out, err = headway(*words)
        assert code == 4
        assert "another team's" in err
    monkeypatch.setenv("HEADWAY_TOKEN", running.token(None, Role.AGENT))
    assert headway("submit", "job.yaml", "-d")[0] == 4
    assert len(runs(home)) == 1


@pytest.mark.parametrize(
    ("states", "more", "expected", "said"),
    [
        (["ADMITTED", "PROVISIONING", "STARTING", "RUNNING", "SUCCEEDED"], {}, 0, "SUCCEEDED"),
        (["FAILED"], {"failure_class": FailureClass.USER.value, "reason": "it broke"}, 8, "it broke"),
        (["CANCELLED"], {"reason": "stopped while waiting"}, 9, "CANCELLED"),
    ],
)
def test_submit_ends_as_its_run_ends(headway, running, folder, states, more, expected, said):
    def end():
        deadline = time.monotonic() + 30
        while running.run("k") is None and time.monotonic() < deadline:
            time.sleep(0.02)
        running.log("k", b"what it prints\n")
        running.state("k", *states, **more)

    thread = threading.Thread(target=end)
    thread.start()
    code, out, err = headway("submit", "job.yaml", "--key", "k", "--address", running.url)
    thread.join()
    assert (code, out) == (expected, f"{running.run('k').id}\nwhat it prints\n")
    assert said in err


def test_resubmit_is_a_new_run_of_the_same_code(headway, running, folder, home):
    first = headway("submit", "job.yaml", "-d", "--address", running.url)[1].strip()
    code, out, _err = headway("resubmit", first, "-d", "--address", running.url)
    assert code == 0
    assert {row[0]: row[2] for row in runs(home)} == {first: None, out.strip(): first}
    old, new = running.run(first).spec["resolved"], running.run(out.strip()).spec["resolved"]
    assert (new["package"], new["entrypoint"]) == (old["package"], old["entrypoint"])


def test_what_cannot_be_resubmitted_is_said(headway, running, home):
    for run, expected in (
        ("nothing-0123456789", 3),
        ("a b", 3),
        ("%00", 3),
        ("../v1/runs", 2),
        ("x" * 201, 2),
    ):
        code, out, err = headway("resubmit", run, "-d", "--address", running.url)
        assert (code, out) == (expected, ""), err
    running.submit("bare")
    code, _out, err = headway("resubmit", "bare", "-d", "--address", running.url)
    assert code == 2
    assert "without its code" in err
    assert len(runs(home)) == 1


def test_a_token_is_shown_once_listed_without_itself_and_ends(headway, running):
    assert "no tokens" in headway("tokens", "list")[1]
    code, out, err = headway("tokens", "create", "alice", "--team", "nlp", "--days", "30")
    assert code == 0
    assert re.fullmatch(r"hw_\S{43}\n", out)
    assert out.strip() not in err
    token = out.strip()
    listed = headway("tokens", "list", "-o", "json")[1]
    assert token not in listed
    [row] = json.loads(listed)["tokens"]
    assert (row["principal"], row["role"], row["team"], row["revoked"]) == ("alice", "user", "nlp", None)
    assert row["expires"] > row["created"]
    assert "alice" in headway("tokens", "list")[1]
    assert running.ask("GET", "/v1/runs", token=token)[0] == 200
    assert headway("tokens", "revoke", row["id"])[0] == 0
    assert json.loads(headway("tokens", "list", "-o", "json")[1])["tokens"][0]["revoked"] is not None
    deadline = time.monotonic() + 20
    while running.ask("GET", "/v1/runs", token=token)[0] != 401:
        assert time.monotonic() < deadline, "a revoked token lives on"
        time.sleep(0.2)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["create"], 2),
        (["create", "alice"], 2),
        (["create", "", "--team", "nlp"], 2),
        (["create", "a\nb", "--team", "nlp"], 2),
        (["create", "x" * 81, "--team", "nlp"], 2),
        (["create", "alice", "--team", "nlp", "--days", "0"], 2),
        (["create", "alice", "--role", "king"], 2),
        (["create", "alice", "--role", "run"], 2),
        (["revoke", "nobody"], 3),
        (["revoke", "%"], 3),
        (["list", "-o", "xml"], 2),
    ],
)
def test_tokens_refuses_what_is_wrong_and_makes_none(headway, ledger, words, expected):
    code, out, err = headway("tokens", *words)
    assert (code, out) == (expected, ""), err
    assert json.loads(headway("tokens", "list", "-o", "json")[1])["tokens"] == []


def test_nothing_runs_at_first(headway):
    code, out, _err = headway("status")
    assert code == 0
    assert out.count("not running") == len(services.NAMES)
    told = json.loads(headway("status", "-o", "json")[1])["services"]
    assert [(one["name"], one["state"], one["url"]) for one in told] == [
        (name, "stopped", None) for name in services.NAMES
    ]
    code, _out, err = headway("down")
    assert code == 0
    assert "nothing runs here" in err


@pytest.mark.parametrize("words", [["--port", "0"], ["--port", "x"], ["--port", "70000"], ["extra"]])
def test_up_refuses_what_is_wrong(headway, words):
    assert headway("up", *words)[0] == 2
    assert "not running" in headway("status")[1]


def test_up_says_why_a_service_did_not_start(headway, home):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, _out, err = headway("up", "--no-dashboard", "--port", str(taken.getsockname()[1]))
    assert code == 7
    assert "cannot listen on" in err
    assert str(home / "services" / "gateway.log") in err
    assert "not running" in headway("status")[1]


def test_up_status_down(headway):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    code, _out, err = headway("up", "--no-dashboard", "--port", port)
    try:
        assert code == 0
        assert "ray job submit" in err
        first = headway("status", "-o", "json")[1]
        told = {one["name"]: one for one in json.loads(first)["services"]}
        assert {name: one["state"] for name, one in told.items()} == {
            "gateway": "up", "controller": "up", "dashboard": "stopped",
        }  # fmt: skip
        assert told["gateway"]["url"] == f"http://127.0.0.1:{port}"
        assert headway("up", "--no-dashboard", "--port", port)[0] == 0
        assert headway("status", "-o", "json")[1] == first, "what runs is left as it is"
    finally:
        code, _out, err = headway("down")
    assert code == 0
    assert "gateway" in err
    assert "running" not in headway("status")[1].replace("not running", "")


@pytest.mark.parametrize("rest", ["", "{", "{}", '{"name": 1}', '["a"]', "\x00"])
def test_a_record_of_a_service_that_is_broken_is_no_service(headway, home, rest):
    (home / "services").mkdir(parents=True)
    (home / "services" / "gateway.json").write_text(rest)
    assert "not running" in headway("status")[1]
    assert headway("down")[0] == 0
