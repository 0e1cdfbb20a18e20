"""One conversation with Ray's Jobs API, held word for word with whatever answers at an address."""

from __future__ import annotations

import io
import json
import time
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

ENDED = {"SUCCEEDED", "FAILED", "STOPPED"}
# What Ray adds to a driver's own metadata or says of its own node is not part of the shape.
OPEN = {"metadata", "runtime_env"}


def package(**files: str) -> bytes:
    """A zip as Ray's client makes it of a working directory."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"{name}.py", text)
    return data.getvalue()


@dataclass
class Talker:
    """Says things to one address and keeps what came back."""

    address: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    heard: dict[str, object] = field(default_factory=dict[str, object])

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Status, and the answer: parsed where it is JSON, else its text."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, dict(self.headers), method=method)
        request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status, said = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, said = error.code, error.read()
        try:
            return status, json.loads(said)
        except ValueError:
            return status, said.decode(errors="replace")

    def note(self, name: str, method: str, path: str, body: object = None) -> Any:
        """Ask, and keep status and shape under a name."""
        status, said = self.ask(method, path, body)
        self.heard[name] = (status, shape(said) if status == 200 else "refused")
        return said

    def until(self, key: str, wanted: Callable[[str], bool]) -> dict[str, Any]:
        """Wait until a job's status is so."""
        deadline = time.monotonic() + 120
        while True:
            status, said = self.ask("GET", f"/api/jobs/{key}")
            if status == 200 and wanted(said["status"]):
                return said
            assert time.monotonic() < deadline, said
            time.sleep(0.2)


def shape(value: object) -> object:
    """A value's form without what differs from one job to the next."""
    if isinstance(value, dict):
        return {key: "object" if key in OPEN else shape(item) for key, item in sorted(value.items())}
    if isinstance(value, list):
        return [shape(item) for item in value[:1]]
    if isinstance(value, bool) or value is None:
        return value
    return type(value).__name__


def await_ready(talker: Talker) -> None:
    """Wait until jobs are taken at all: a Ray that has just started still lacks its agent."""
    deadline = time.monotonic() + 300
    while (said := talker.ask("POST", "/api/jobs/", {"entrypoint": "true"}))[0] != 200:
        assert time.monotonic() < deadline, said
        time.sleep(0.5)


def hold(talker: Talker) -> dict[str, object]:
    """The whole conversation; gives what was heard in each of its steps."""
    note = talker.note
    name = "_ray_pkg_0123456789abcdef.zip"
    note("version", "GET", "/api/version")
    note("package absent", "GET", f"/api/packages/gcs/{name}")
    data = package(hello="import sys\nprint('hello', *sys.argv[1:])\n")
    status, _said = talker.ask("PUT", f"/api/packages/gcs/{name}", data)
    talker.heard["package put"] = status
    talker.heard["package there"] = talker.ask("GET", f"/api/packages/gcs/{name}")[0]
    env = {"working_dir": f"gcs://{name}", "env_vars": {"WHO": "you"}}
    _talk_of_success(talker, env)
    _talk_of_failure(talker)
    _talk_of_stopping(talker)
    _talk_nonsense(talker)
    return talker.heard


def _talk_of_success(talker: Talker, env: dict[str, object]) -> None:
    note = talker.note
    body = {
        "entrypoint": 'python hello.py "to $WHO"',
        "submission_id": "talk-good",
        "runtime_env": env,
        "metadata": {"purpose": "talk"},
        "entrypoint_num_cpus": 1,
    }
    assert note("submit", "POST", "/api/jobs/", body)["submission_id"] == "talk-good"
    talker.until("talk-good", ENDED.__contains__)
    said = note("succeeded", "GET", "/api/jobs/talk-good")
    assert (said["status"], said["driver_exit_code"], said["message"]) == (
        "SUCCEEDED",
        0,
        "Job finished successfully.",
    )
    assert said["entrypoint"] == body["entrypoint"]
    assert said["metadata"]["purpose"] == "talk"
    assert "hello to you" in note("logs", "GET", "/api/jobs/talk-good/logs")["logs"]
    assert [job["submission_id"] for job in note("list", "GET", "/api/jobs/")].count("talk-good") == 1
    note("stop ended", "POST", "/api/jobs/talk-good/stop")
    note("delete", "DELETE", "/api/jobs/talk-good")
    note("get deleted", "GET", "/api/jobs/talk-good")
    made = note("submit without id", "POST", "/api/jobs/", {"entrypoint": "true"})
    assert made["job_id"] == made["submission_id"]
    talker.until(made["submission_id"], ENDED.__contains__)


def _talk_of_failure(talker: Talker) -> None:
    talker.ask("POST", "/api/jobs/", {"entrypoint": "echo no >&2; exit 3", "submission_id": "talk-bad"})
    talker.until("talk-bad", ENDED.__contains__)
    said = talker.note("failed", "GET", "/api/jobs/talk-bad")
    assert (said["status"], said["driver_exit_code"]) == ("FAILED", 3)
    assert said["error_type"] == "JOB_ENTRYPOINT_COMMAND_ERROR"


def _talk_of_stopping(talker: Talker) -> None:
    talker.ask("POST", "/api/jobs/", {"entrypoint": "sleep 300", "submission_id": "talk-long"})
    talker.until("talk-long", "RUNNING".__eq__)
    talker.note("running", "GET", "/api/jobs/talk-long")
    talker.note("stop", "POST", "/api/jobs/talk-long/stop")
    talker.until("talk-long", "STOPPED".__eq__)
    talker.note("stopped", "GET", "/api/jobs/talk-long")


def _talk_nonsense(talker: Talker) -> None:
    note = talker.note
    for method, path in (("GET", ""), ("GET", "/logs"), ("POST", "/stop"), ("DELETE", "")):
        note(f"unknown id: {method} {path}", method, f"/api/jobs/nobody{path}")
    note("no entrypoint", "POST", "/api/jobs/", {"submission_id": "talk-none"})
    note("entrypoint no text", "POST", "/api/jobs/", {"entrypoint": 5})
    note("unknown field", "POST", "/api/jobs/", {"entrypoint": "true", "wish": "a pony"})
    note("metadata no object", "POST", "/api/jobs/", {"entrypoint": "true", "metadata": "x"})
    note("metadata no text", "POST", "/api/jobs/", {"entrypoint": "true", "metadata": {"a": 1}})
    note("environment no object", "POST", "/api/jobs/", {"entrypoint": "true", "runtime_env": []})
    note("a route of ours", "GET", "/api/nothing")


def hold_exceptions(talker: Talker) -> dict[str, int]:
    """What a client does wrong, and where Ray answers as if it were its own fault."""
    ask = talker.ask
    ask("POST", "/api/jobs/", {"entrypoint": "sleep 300", "submission_id": "odd-one"})
    talker.until("odd-one", "RUNNING".__eq__)
    heard = {
        "taken by another": ask(
            "POST", "/api/jobs/", {"entrypoint": "sleep 301", "submission_id": "odd-one"}
        )[0],
        "delete running": ask("DELETE", "/api/jobs/odd-one")[0],
        "no JSON": ask("POST", "/api/jobs/", b"{")[0],
    }
    ask("POST", "/api/jobs/odd-one/stop")
    talker.until("odd-one", "STOPPED".__eq__)
    return heard
