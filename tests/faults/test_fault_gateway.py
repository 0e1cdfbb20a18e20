"""kill -9 of the gateway at five points of a run's life: no run is lost, doubled or without an owner."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from driving import no_process_left, processes_of
from gateways import LINES, Following, Served

from headway.runs import tokens
from headway.runs.events import EventKind
from headway.runs.store import Ledger, Recorder, now_microseconds
from headway.runs.tokens import Principal, Role

pytestmark = pytest.mark.real

KEY = "only-once"


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Gateway and controller of their own."""
    served = Served(tmp_path / "home")
    served.up()
    yield served
    served.ok("down")


def ends_once(served: Served, run_id: str, key: str = KEY) -> None:
    """A key's one run ends well, in one attempt, with a receipt that holds, and nothing of it is left."""
    shown = served.until_ended(run_id)
    assert shown["state"] == "SUCCEEDED"
    assert [attempt["attempt"] for attempt in shown["attempts"]] == [1]
    assert served.rows("SELECT id FROM run WHERE request_key = ?", key) == [(run_id,)]
    assert len(served.rows("SELECT 1 FROM event WHERE kind = 'run.submitted'")) == 1
    assert len(served.rows("SELECT 1 FROM allocation WHERE run_id = ?", run_id)) == 1
    assert served.receipt(run_id)["settled"]
    no_process_left(run_id)


@pytest.mark.every_point
def test_killed_before_it_has_recorded_a_submission(served: Served) -> None:
    with served.locked_ledger():
        client = served.send_only(KEY, "echo done")
        served.until_received()
        served.kill_gateway()
        assert client.recv(1) == b"", "nothing was promised"
    client.close()
    assert served.rows("SELECT id FROM run") == []
    served.up()
    ends_once(served, served.submit(KEY, "echo done"))


def test_killed_when_it_has_recorded_and_not_answered(served: Served) -> None:
    client = served.send_only(KEY, "echo done")
    [(run_id,)] = served.until_rows(1, "SELECT id FROM run")
    served.kill_gateway()
    client.close()
    served.up()
    assert served.submit(KEY, "echo done") == run_id, "the same request again is the same run"
    assert served.ask("POST", "/api/jobs/", {"entrypoint": "echo other", "submission_id": KEY})[0] == 409
    ends_once(served, run_id)


@pytest.mark.every_point
def test_killed_while_a_log_is_followed(served: Served) -> None:
    run_id = served.submit(KEY, LINES)
    following = Following(served.address, run_id)
    for part in (500, 2500):
        following.until(part)
        served.kill_gateway()
        served.up()
    following.join(240)
    assert not following.is_alive()
    ends_once(served, run_id)
    assert bytes(following.found) == (served.home / "runs" / run_id / "a1" / "driver.log").read_bytes()
    assert following.found.splitlines()[-1].decode() == "line 400 äöü"


@pytest.mark.every_point
def test_killed_while_a_run_goes_on_and_down_while_it_ends(served: Served, hold: Path) -> None:
    run_id = served.submit(KEY, f"echo begun; while [ -e {hold} ]; do sleep 0.1; done; echo done; exit 3")
    served.until(run_id, lambda shown: shown["state"] == "RUNNING")
    served.kill_gateway()
    assert processes_of(run_id), "its owner is the supervisor, whoever answers or does not"
    hold.unlink()
    shown = served.until_ended(run_id)
    assert (shown["state"], shown["failure_class"], len(shown["attempts"])) == ("FAILED", "user", 1)
    no_process_left(run_id)
    served.up()
    status, said = served.ask("GET", f"/api/jobs/{KEY}")
    assert (status, said["status"], said["driver_exit_code"]) == (200, "FAILED", 3)
    assert served.ask("GET", f"/api/jobs/{KEY}/logs") == (200, {"logs": "begun\ndone\n"})
    assert served.ask("GET", f"/v1/runs/{run_id}/receipt")[1]["totals"][0]["amount"] != "0"
    served.receipt(run_id)


SCRIPT = """
import json, os, time
from pathlib import Path
path = Path(os.environ["HEADWAY_SPOOL"], "rank-0-1.jsonl")
for step in range(1, 201):
    line = {"epoch": 1, "seq": step, "at": time.time_ns() // 1000, "kind": "progress",
            "body": {"step": step, "samples": step, "tokens": 0, "loss": "0.5"}}
    with path.open("a") as file:
        file.write(json.dumps(line) + "\\n")
    print("step", step, "äöü", flush=True)
    with path.parent.with_name("rank-1.log").open("a") as file:
        print("rank 1 step", step, "äöü", file=file)
    time.sleep(0.02)
"""


@pytest.mark.every_point
def test_killed_while_what_a_run_tells_is_on_its_way(served: Served, tmp_path: Path) -> None:
    """A head in a cluster, which has no ledger: what it could not post lies on its disk until it can."""
    served.ok("down")
    (tmp_path / "script.py").write_text(SCRIPT)
    run_id, head = _head(served, tmp_path)
    served.until_rows(20, "SELECT step FROM progress WHERE run_id = ?", run_id)
    with served.locked_ledger():
        served.until_received()
        time.sleep(1.5)  # it tells once a second: some of it waits for the ledger now
        served.kill_gateway()
    time.sleep(2)  # nobody listens: what is said meanwhile stays with the head
    assert len(served.rows("SELECT step FROM progress WHERE run_id = ?", run_id)) < 200
    assert head.poll() is None
    served.up()
    assert head.wait(240) == 0
    steps = served.rows("SELECT step FROM progress WHERE run_id = ? ORDER BY at", run_id)
    assert steps == [(step,) for step in range(1, 201)], "each once, in order"
    folder = served.home / "runs" / run_id / "a1"
    for stream, start in (("driver", ""), ("rank-1", "rank 1 ")):
        said = "".join(f"{start}step {step} äöü\n" for step in range(1, 201)).encode()
        assert (folder / f"{stream}.log").read_bytes() == said
    outcomes = served.rows("SELECT body FROM event WHERE kind = 'note' AND body LIKE '%outcome%'")
    assert len(outcomes) == 1
    assert '"SUCCEEDED"' in outcomes[0][0]
    no_process_left(run_id)


def _head(served: Served, folder: Path) -> tuple[str, subprocess.Popen[bytes]]:
    """A run of a cluster, as its controller opens it, and the process that a RayJob starts for it."""
    ledger = Ledger.at(served.home / "ledger.db")
    recorder = Recorder(ledger, "test")
    run_id = "spooled-0123456789"
    resolved = {
        "entrypoint": f"{sys.executable} {folder / 'script.py'}", "workers": 1, "cpus_per_worker": 1,
        "method": "full", "env": {}, "secrets": {}, "retries": {}, "workdir": "", "storage": None,
    }  # fmt: skip
    recorder.append(
        EventKind.SUBMITTED,
        {"name": "spooled", "team": "t", "spec": {"job": {}, "resolved": resolved}},
        run_id,
    )
    lease = {"lease_epoch": 1, "lease_holder": "elsewhere/1/1", "lease_expires_at": 2**60}
    recorder.append(EventKind.ATTEMPT_OPENED, {**lease, "backend": "kubernetes"}, run_id, 1)
    with ledger.write() as connection:
        token = tokens.issue(connection, Principal(run_id, Role.RUN, None, run_id), now_microseconds())
    ledger.close()
    storage = folder / "storage"
    storage.mkdir()
    served.ok("up", "--no-dashboard", "--port", served.port)
    config = f'{{"metadata": {{"job_submission_id": "{run_id}-a1"}}}}'
    return run_id, subprocess.Popen(
        [sys.executable, "-m", "headway.backends.kubernetes.head"],
        env={
            **os.environ, "RAY_JOB_CONFIG_JSON_ENV_VAR": config, "HEADWAY_GATEWAY": served.address,
            "HEADWAY_TOKEN": token, "HEADWAY_STORAGE": str(storage), "HEADWAY_HOME": str(served.home),
        },
    )  # fmt: skip
