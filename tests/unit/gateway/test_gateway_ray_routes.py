"""Ray's routes: what is taken is in the ledger, what is wrong is refused and leaves nothing."""

from __future__ import annotations

import http.client
import socket
import time

import pytest
from sqlalchemy import func, select

from conftest import zipped
from headway.runs import queries, tables

KEYS = {
    "type", "job_id", "submission_id", "driver_info", "status", "entrypoint", "message", "error_type",
    "start_time", "end_time", "metadata", "runtime_env", "driver_agent_http_address", "driver_node_id",
    "driver_exit_code",
}  # fmt: skip


def count(running):
    with running.ledger.read() as connection:
        return connection.execute(select(func.count()).select_from(tables.run)).scalar_one()


def test_what_is_answered_is_recorded(running):
    key = running.submit("first", metadata={"note": "kept"})
    run = running.run("first")
    assert key == "first"
    assert run.state.value == "QUEUED"
    status, info = running.ask("GET", "/api/jobs/first")
    assert status == 200
    assert set(info) == KEYS
    assert info["status"] == "PENDING"
    assert info["metadata"]["note"] == "kept"
    assert info["metadata"]["headway_run"] == run.id
    assert running.ask("GET", f"/api/jobs/{run.id}")[1] == info
    assert running.ask("GET", "/api/jobs/")[1] == [info]


def test_without_an_id_the_run_gives_one(running):
    key = running.submit()
    assert running.run(key).id == key


def test_the_same_request_again_is_the_same_run_and_another_is_refused(running):
    running.submit("one", metadata={"team": "nlp"})
    running.submit("one", metadata={"team": "nlp"})
    assert count(running) == 1
    body = {"entrypoint": "python other.py", "submission_id": "one", "metadata": {"team": "nlp"}}
    status, said = running.ask("POST", "/api/jobs/", body)
    assert status == 409
    assert "another job was submitted as one" in said
    assert count(running) == 1


def test_many_at_once_with_one_id_make_one_run(running):
    import concurrent.futures

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        keys = set(pool.map(lambda _n: running.submit("same"), range(40)))
    assert keys == {"same"}
    assert count(running) == 1


@pytest.mark.parametrize(
    ("state", "status"),
    [("ADMITTED", "PENDING"), ("PROVISIONING", "PENDING"), ("STARTING", "PENDING"), ("RUNNING", "RUNNING"),
     ("RESTARTING", "RUNNING"), ("FAILED", "FAILED")],
)  # fmt: skip
def test_states_in_rays_words(running, state, status):
    running.submit("a")
    for one in ("ADMITTED", "PROVISIONING", "STARTING", "RUNNING", "RESTARTING", "FAILED"):
        running.state("a", one)
        if one == state:
            break
    assert running.ask("GET", "/api/jobs/a")[1]["status"] == status


def test_delete_hides_an_ended_run_and_frees_its_id_but_its_record_stays(running):
    running.submit("gone")
    first = running.run("gone").id
    assert running.ask("DELETE", "/api/jobs/gone")[0] == 409
    running.state("gone", "CANCELLED")
    assert running.ask("DELETE", "/api/jobs/gone") == (200, {"deleted": True})
    assert running.ask("GET", "/api/jobs/gone")[0] == 404
    assert running.ask("GET", "/api/jobs/")[1] == []
    with running.ledger.read() as connection:
        assert queries.get_run(connection, first).hidden is not None
    running.submit("gone", metadata={"other": "request"})
    assert running.run("gone").id != first


def test_stop_asks_once_and_says_when_nothing_runs(running):
    running.submit("s")
    assert running.ask("POST", "/api/jobs/s/stop") == (200, {"stopped": True})
    running.state("s", "CANCELLED")
    assert running.ask("POST", "/api/jobs/s/stop") == (200, {"stopped": False})


@pytest.mark.parametrize("method_path", ["GET /api/jobs/no", "POST /api/jobs/no/stop", "DELETE /api/jobs/no",
                                         "GET /api/jobs/no/logs", "GET /api/jobs/no/logs/tail"])  # fmt: skip
def test_unknown_jobs_are_404(running, method_path):
    status, said = running.ask(*method_path.split())
    assert status == 404
    assert said.startswith("Job no does not exist")


@pytest.mark.parametrize(
    ("body", "part"),
    [
        (b"{", "not JSON"),
        (b"[]", "must be a JSON object"),
        (b"{}", "entrypoint must be a string"),
        ({"entrypoint": 3}, "entrypoint must be a string"),
        ({"entrypoint": "x", "submission_id": 3}, "submission_id must be a string"),
        ({"entrypoint": "x", "submission_id": "a/b"}, "no slash"),
        ({"entrypoint": "x", "submission_id": ""}, "1 to 200"),
        ({"entrypoint": "x", "submission_id": "x" * 201}, "1 to 200"),
        ({"entrypoint": "x", "what": 1}, "not known here: what"),
        ({"entrypoint": "x", "runtime_env": []}, "runtime_env must be an object"),
        ({"entrypoint": "x", "metadata": {"a": 1}}, "an object of strings"),
        ({"entrypoint": "x", "entrypoint_num_cpus": "2"}, "must be a number"),
        ({"entrypoint": "x", "entrypoint_num_cpus": True}, "must be a number"),
        ({"entrypoint": "x", "entrypoint_num_gpus": -1}, "must be a number"),
        ({"entrypoint": "x", "entrypoint_resources": {"a": "b"}}, "an object of numbers"),
        ({"entrypoint": "  "}, "entrypoint"),
        ({"entrypoint": "x", "metadata": {"budget": "lots"}}, "limits.budget"),
        ({"entrypoint": "x", "metadata": {"deadline": "soon"}}, "limits.deadline"),
        ({"entrypoint": "x", "metadata": {"sensitivity": "top"}}, "data.sensitivity"),
        ({"entrypoint": "x", "metadata": {"workers": "two"}}, "needs.workers"),
        ({"entrypoint": "x", "runtime_env": {"pip": ["torch"]}}, "no effect here: pip"),
        ({"entrypoint": "x", "runtime_env": {"working_dir": "gcs://no.zip"}}, "no.zip was not uploaded"),
        ({"entrypoint": "x", "runtime_env": {"working_dir": "https://e/x.zip"}}, "only packages that were"),
        ({"entrypoint": "x", "runtime_env": {"working_dir": "gcs://../../etc/passwd"}}, "no name"),
        ({"entrypoint": "x", "runtime_env": {"env_vars": {"A": 1}}}, "env"),
        ({"entrypoint": "x", "runtime_env": {"env_vars": {"T": "hf_" + "a" * 30}}}, "Hugging Face"),
    ],
)
def test_bad_requests_say_what_is_wrong_and_leave_nothing(running, body, part):
    status, said = running.ask("POST", "/api/jobs/", body)
    assert status == 400, said
    assert part in said
    assert count(running) == 0


def test_metadata_holds_our_keys(running):
    metadata = {"queue": "night", "budget": "4 USD", "deadline": "2h", "sensitivity": "restricted",
                "team": "nlp", "workers": "2", "cpus_per_worker": "3", "name": "Bert"}  # fmt: skip
    running.submit("m", metadata=metadata)
    run = running.run("m")
    resolved = run.spec["resolved"]
    assert run.name == "Bert"
    assert run.team_id == "nlp"
    assert (resolved["workers"], resolved["cpus_per_worker"], resolved["workers_stated"]) == (2, 3, True)
    assert (resolved["budget"], resolved["budget_currency"], resolved["queue"]) == ("4", "USD", "night")
    job = run.spec["job"]
    assert job["limits"]["deadline"]
    assert job["data"]["sensitivity"] == "restricted"


def test_cpus_of_the_entrypoint_are_held(running):
    running.submit("c", entrypoint_num_cpus=1.5)
    assert running.run("c").spec["resolved"]["cpus_per_worker"] == 2
    assert running.run("c").spec["resolved"]["workers_stated"] is False


def test_packages_are_taken_once_and_found_again(running):
    data = zipped(train_py="print(1)")
    assert running.ask("GET", "/api/packages/gcs/_ray_pkg_a.zip")[0] == 404
    assert running.ask("PUT", "/api/packages/gcs/_ray_pkg_a.zip", data)[0] == 200
    assert running.ask("GET", "/api/packages/gcs/_ray_pkg_a.zip")[0] == 200
    running.submit("p", runtime_env={"working_dir": "gcs://_ray_pkg_a.zip"})
    sha256 = running.run("p").spec["resolved"]["package"]
    with running.store.open(sha256) as file:
        assert file.read() == data


@pytest.mark.parametrize("name", ["..", ".hidden", "a%2Fb", "a%00b", "x" * 300, "%2e%2e%2fetc"])
def test_package_names_stay_names(running, name):
    status, _said = running.ask("PUT", f"/api/packages/gcs/{name}", b"x")
    assert status in {400, 404}
    assert running.ask("PUT", "/api/packages/file/a.zip", b"x")[0] == 400
    kept = [path for path in running.home.rglob("*") if path.is_file() and "blobs" in path.parts]
    assert kept == []


def test_a_package_of_300_mib_needs_no_memory(running):
    import resource

    class Zeros:
        def __init__(self, size):
            self.left = size

        def read(self, n=-1):
            n = min(n if n > 0 else self.left, self.left, 1 << 20)
            self.left -= n
            return b"\0" * n

    size = 300 << 20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=120)
    connection.request("PUT", "/api/packages/gcs/big.zip", Zeros(size), {"Content-Length": str(size)})
    assert connection.getresponse().status == 200
    connection.close()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert running.store.size(running.store.named("packages", "big.zip")) == size
    assert grown < size / 3


def test_a_package_that_breaks_off_leaves_nothing(running):
    with socket.create_connection(("127.0.0.1", running.port)) as wire:
        wire.sendall(
            b"PUT /api/packages/gcs/cut.zip HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\nabc"
        )
        time.sleep(0.2)
    deadline = time.monotonic() + 10
    while any((running.home / "blobs" / "drafts").iterdir()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert running.ask("GET", "/api/packages/gcs/cut.zip")[0] == 404


def test_logs_of_all_attempts_one_after_the_other(running):
    running.submit("l")
    assert running.ask("GET", "/api/jobs/l/logs") == (200, {"logs": ""})
    running.log("l", "première\n".encode())
    running.log("l", b"second \xff\n", attempt=2)
    assert running.ask("GET", "/api/jobs/l/logs") == (
        200,
        {"logs": "première\nsecond \N{REPLACEMENT CHARACTER}\n"},
    )


def test_an_error_that_nobody_foresaw_is_told_by_number_only(running, monkeypatch):
    monkeypatch.setattr(running.gateway.records, "listed", lambda *_a: 1 / 0)
    status, said = running.ask("GET", "/api/jobs/")
    assert status == 500
    assert "division" not in said
    assert running.ask("GET", "/healthz") == (200, {"status": "ok"})


def test_a_list_of_problems_ends_with_its_code_once(running):
    body = {"entrypoint": "true", "metadata": {"workers": "two", "deadline": "soon"}}
    status, said = running.ask("POST", "/api/jobs/", body)
    assert status == 400
    assert said.count("E-SPEC-03") == 1
    assert "needs.workers" in said
    assert "limits.deadline" in said
