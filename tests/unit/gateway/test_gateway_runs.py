"""The run API and the ingest endpoint."""

from __future__ import annotations

import http.client
import json

import pytest
from sqlalchemy import func, select

from conftest import zipped
from headway.runs import tables
from headway.runs.tokens import Role

JOB = {"version": 1, "name": "tiny", "entrypoint": "python train.py", "team": "nlp"}


def submit(running, **more):
    running.ask("PUT", "/api/packages/gcs/code.zip", zipped(train_py="print(1)"))
    return running.ask("POST", "/v1/runs", {"job": JOB, "package": "code.zip", **more})


def event(run, seq, **more):
    own = {"source": f"{run}-a1:rank-0", "epoch": 1, "seq": seq, "run_id": run, "attempt": 1}
    return {**own, "kind": "progress", "occurred_at": 1000 + seq, "body": {"step": seq}, **more}


def progress(running):
    with running.ledger.read() as connection:
        return connection.execute(select(func.count()).select_from(tables.progress)).scalar_one()


def test_a_job_is_recorded_once_for_its_key(running):
    status, first = submit(running, request_key="k", prepared={"entrypoint": "python train.py --fast"})
    assert status == 201
    assert submit(running, request_key="k", prepared={"entrypoint": "python train.py --fast"}) == (200, first)
    assert submit(running, request_key="k")[0] == 409
    run = running.run("k")
    assert run.spec["resolved"]["entrypoint"] == "python train.py --fast"
    assert run.spec["resolved"]["package"]
    status, shown = running.ask("GET", f"/v1/runs/{first['id']}")
    assert (shown["state"], shown["request_key"], shown["attempts"]) == ("QUEUED", "k", [])


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ({}, "must be a JSON object"),
        ({"job": {}}, "version"),
        ({"job": {**JOB, "nmae": 1}}, "nmae"),
        ({"job": JOB, "package": "none.zip"}, "was not uploaded"),
        ({"job": JOB, "more": 1}, "not known here: more"),
        ({"job": JOB, "request_key": 7}, "submission_id must be a string"),
    ],
)
def test_a_bad_job_is_refused_with_its_problems(running, body, part):
    status, said = running.ask("POST", "/v1/runs", body)
    assert status == 400
    assert part in said["error"]["message"]
    assert running.ask("GET", "/v1/runs")[1] == []


def test_resubmit_makes_a_new_run_of_the_same(running):
    first = submit(running)[1]["id"]
    status, second = running.ask("POST", f"/v1/runs/{first}/resubmit")
    assert (status, second["parent"]) == (201, first)
    before, after = running.run(first), running.run(second["id"])
    assert after.parent_run_id == first
    assert after.spec == before.spec
    assert after.id != first


def test_stop_modes(running):
    run = submit(running)[1]["id"]
    assert running.ask("POST", f"/v1/runs/{run}/stop", {"mode": "gently"})[0] == 400
    assert running.ask("POST", f"/v1/runs/{run}/stop", {"mode": "now"}) == (200, {"stopped": True})
    assert running.ask("POST", f"/v1/runs/{run}/stop") == (200, {"stopped": True})


def test_events_go_on_after_the_last_that_was_seen(running):
    run = submit(running)[1]["id"]
    running.state(run, "CANCELLED")

    def read(last=None):
        connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=20)
        headers = {} if last is None else {"Last-Event-ID": last}
        connection.request("GET", f"/v1/runs/{run}/events", headers=headers)
        said = connection.getresponse().read().decode()
        connection.close()
        return [dict(line.split(": ", 1) for line in one.splitlines()) for one in said.split("\n\n") if one]

    found = read()
    assert [one["event"] for one in found] == ["run.submitted", "run.state"]
    assert json.loads(found[1]["data"])["body"]["to"] == "CANCELLED"
    assert read(found[0]["id"]) == found[1:]
    assert read(found[1]["id"]) == []


def test_ingest_takes_each_event_once(running):
    run = submit(running)[1]["id"]
    batch = {"events": [event(run, 1), event(run, 2)]}
    assert running.ask("POST", "/v1/ingest", batch) == (202, {"new": 2, "taken": 2})
    assert running.ask("POST", "/v1/ingest", {"events": [event(run, 2), event(run, 3)]})[1]["new"] == 1
    assert progress(running) == 3


@pytest.mark.parametrize(
    "change", [{"seq": -1}, {"seq": "1"}, {"kind": "run.state"}, {"attempt": 0}, {"extra": 1}, {"source": ""}]
)
def test_a_bad_batch_is_refused_whole(running, change):
    run = submit(running)[1]["id"]
    status, said = running.ask("POST", "/v1/ingest", {"events": [event(run, 1), event(run, 2) | change]})
    assert status == 400
    assert "events.1" in said["error"]["message"]
    assert progress(running) == 0


def test_a_runs_token_cannot_speak_for_another(running):
    run, other = submit(running)[1]["id"], submit(running)[1]["id"]
    token = running.token("nlp", Role.RUN, run)
    assert running.ask("POST", "/v1/ingest", {"events": [event(run, 1)]}, token)[0] == 202
    assert running.ask("POST", "/v1/ingest", {"events": [event(other, 1)]}, token)[0] == 403
    forged = event(run, 2, source=f"{other}-a1:rank-0")
    assert running.ask("POST", "/v1/ingest", {"events": [forged]}, token)[0] == 403
    usage = {"source": f"{run}-a1", "epoch": 1, "seq": 1, "allocation_id": "a", "start": 0, "stop": 1}
    usage |= {"metric": "core_held", "quantity_int": 1, "unit": "x", "method": "m", "quality": "q"}
    assert running.ask("POST", "/v1/ingest", {"usage": [usage]}, token)[0] == 403
    agent = running.token(None, Role.AGENT)
    assert running.ask("POST", "/v1/ingest", {"usage": [usage]}, agent)[1] == {"new": 1, "taken": 1}


def test_metrics_name_routes_not_paths(running):
    running.submit("one")
    running.ask("GET", "/api/jobs/one")
    said = running.ask("GET", "/metrics")[1]
    assert 'headway_runs{state="QUEUED"} 1.0' in said
    assert 'route="/api/jobs/{job_or_submission_id}"' in said
    assert "one" not in said.replace('"none"', "")
    assert running.ask("GET", "/readyz") == (200, {"status": "ready"})
