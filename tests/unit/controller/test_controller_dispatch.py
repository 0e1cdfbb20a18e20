"""The controller starts what the gateway recorded: in order, a few at a time, each once."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from headway.controller import dispatch
from headway.controller.dispatch import LocalDispatch
from headway.controller.loop import Controller, lead
from headway.controller.owner import is_owned, take
from headway.controller.packing import code_files, pack
from headway.controller.reaper import reap
from headway.controller.webhook import Webhook
from headway.errors import ExternalError, UserError
from headway.runs import queries
from headway.runs.events import EventKind as K
from headway.runs.store import Recorder
from headway.settings import Settings

SECOND = 1_000_000


@pytest.fixture
def recorder(ledger):
    return Recorder(ledger, "test")


@pytest.fixture
def submit(recorder):
    def one(name, **resolved):
        full = {"dispatch": "controller", "entrypoint": "true", "workers": 1, "cpus_per_worker": 1,
                "secrets": {}, **resolved}  # fmt: skip
        body = {"name": name, "spec": {"job": {}, "resolved": full}}
        recorder.append(K.SUBMITTED, body, f"{name}-0123456789")
        return f"{name}-0123456789"

    return one


@pytest.fixture
def local(ledger, recorder, monkeypatch):
    begun = []
    monkeypatch.setattr(dispatch, "start_supervisor", lambda _settings, run: begun.append(run))
    one = LocalDispatch(Settings.load(), ledger, recorder)
    one.begun = begun
    return one


def state(ledger, run):
    with ledger.read() as connection:
        return queries.get_run(connection, run)


def test_a_few_wait_in_processes_the_others_in_the_ledger(local, submit):
    runs = [submit(f"r{number}") for number in range(6)]
    for _again in range(3):
        local.step()
    assert local.begun == runs[:2]


def test_a_run_that_has_an_owner_is_not_started_again(local, submit):
    run = submit("owned")
    held = take(local.settings.run_folder(run))
    assert held is not None
    assert is_owned(local.settings.run_folder(run))
    local.step()
    assert local.begun == []
    held.close()
    local.step()
    assert local.begun == [run]


def test_runs_of_the_command_line_are_left_alone(local, submit):
    submit("cli", dispatch=None)
    local.step()
    assert local.begun == []


def test_a_waiting_run_is_nobodys_loss(local, submit, ledger, monkeypatch):
    run = submit("patient")
    monkeypatch.setattr("headway.controller.reaper.now_microseconds", lambda: 2**60)
    assert reap(local.settings, ledger) == []
    assert state(ledger, run).state.value == "QUEUED"


def test_a_stop_of_a_run_that_waits_ends_it(local, submit, recorder, ledger):
    runs = [submit(f"r{number}") for number in range(30)]
    recorder.append(K.STOP_REQUESTED, {"mode": "checkpoint"}, runs[-1], 1)
    local.step()
    assert state(ledger, runs[-1]).state.value == "CANCELLED"
    assert state(ledger, runs[0]).state.value == "QUEUED"


@pytest.mark.parametrize(
    ("resolved", "part"),
    [
        ({"workers": 100_000}, "cores"),
        ({"gpus_per_worker": 1}, "GPU"),
        ({"budget": "1", "budget_currency": "EUR"}, "EUR"),
        ({"secrets": {"TOKEN": "NO_SUCH_VARIABLE"}}, "NO_SUCH_VARIABLE"),
        ({"storage": "s3://bucket/x"}, "s3://bucket/x"),
        ({"package": "0" * 64}, "0000"),
    ],
)
def test_what_can_never_run_here_fails_with_the_reason(local, submit, ledger, resolved, part):
    run = submit("never", **resolved)
    local.step()
    row = state(ledger, run)
    assert (row.state.value, row.failure_class) == ("FAILED", "user")
    assert part in row.reason
    assert local.begun == []


def test_one_controller_leads(home):
    settings = Settings.load()
    leading = lead(settings, lambda: False)
    with pytest.raises(ExternalError, match="another controller"):
        lead(settings, lambda: False)
    leading.close()
    lead(settings, lambda: False).close()


def test_a_step_that_fails_is_tried_later_and_holds_nothing_up():
    now, calls = [0.0], []

    class Bad:
        def step(self):
            calls.append("bad")
            raise ExternalError("controller.another")

    class Good:
        def step(self):
            calls.append("good")

    loop = Controller([Bad(), Good()], lambda: now[0])
    for _tick in range(100):
        loop.once()
        now[0] += 0.25
    assert calls.count("good") == 100
    assert 3 <= calls.count("bad") <= 8


@pytest.fixture
def listener():
    heard = []

    class Ear(BaseHTTPRequestHandler):
        def do_POST(self):
            heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200 if len(heard) > 1 else 500)
            self.end_headers()

        def log_message(self, *_words):
            pass

    server = HTTPServer(("127.0.0.1", 0), Ear)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hook", heard
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_webhook_hears_of_each_end_once_tried_again_until_it_takes_it(
    listener, ledger, recorder, submit, monkeypatch
):
    url, heard = listener
    run = submit("hook")
    recorder.append(K.RUN_STATE, {"to": "FAILED", "failure_class": "user", "reason": "exit code 3"}, run)
    hook = Webhook(url, ledger, recorder)
    assert hook.step() == 0
    monkeypatch.setattr(
        "headway.controller.webhook.now_microseconds", lambda: state(ledger, run).ended + 2 * SECOND
    )
    hook._tries[run] = (1, 0)
    assert hook.step() == 1
    assert Webhook(url, ledger, recorder).step() == 0, "another controller told it again"
    assert [one["run"] for one in heard] == [run, run]
    assert heard[1] == {**heard[1], "state": "FAILED", "failure_class": "user", "reason": "exit code 3"}


def test_a_package_holds_what_git_keeps_and_is_the_same_twice(tmp_path):
    import subprocess

    (tmp_path / "été").mkdir()
    (tmp_path / "été" / "train me.py").write_text("x")
    (tmp_path / "data.bin").write_text("large")
    (tmp_path / ".gitignore").write_text("*.bin\n")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "lib.py").write_text("x")
    names = {path.relative_to(tmp_path).as_posix() for path in code_files(tmp_path)}
    assert names == {"été/train me.py", "data.bin", ".gitignore"}
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("*.bin\n.venv\n")
    names = {path.relative_to(tmp_path).as_posix() for path in code_files(tmp_path)}
    assert names == {"été/train me.py", ".gitignore"}
    (first, one), (second, two) = pack(tmp_path), pack(tmp_path)
    assert one == two
    first.close()
    second.close()


def test_data_in_the_folder_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("headway.controller.packing.LARGEST_BYTES", 10)
    (tmp_path / "data").write_text("x" * 11)
    with pytest.raises(UserError, match="holds"):
        pack(tmp_path)
