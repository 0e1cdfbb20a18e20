"""A gateway that is killed and started again, beside a controller that is not; real processes both."""

from __future__ import annotations

import http.client
import json
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
from driving import Headway

LINES = "for i in $(seq 1 400); do echo line $i äöü; sleep 0.01; done"
WAIT_SECONDS = 120


class Served(Headway):
    """An installation with `headway up`, and what a client says to its gateway."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = str(free.getsockname()[1])
        self.address = f"http://127.0.0.1:{self.port}"
        self.env |= {"HEADWAY_ADDRESS": self.address, "RAY_USAGE_STATS_ENABLED": "0"}

    def up(self) -> None:
        """Start what of gateway and controller is not running."""
        self.ok("up", "--no-dashboard", "--port", self.port)

    def kill_gateway(self) -> None:
        """SIGKILL, and wait until it is gone."""
        found = json.loads((self.home / "services" / "gateway.json").read_text())
        gateway = psutil.Process(int(found["holder"].split("/")[-2]))
        assert "serve" in gateway.cmdline()
        gateway.kill()
        psutil.wait_procs([gateway], timeout=30)
        assert not self.answers(), "it is dead"

    def answers(self) -> bool:
        """Whether anything listens."""
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", int(self.port))) == 0

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Status and answer."""
        parts = urlsplit(self.address)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        connection.request(method, path, None if body is None else json.dumps(body))
        answer = connection.getresponse()
        said = answer.read()
        return answer.status, json.loads(said) if said[:1] in b"{[" else said

    def submit(self, key: str, entrypoint: str) -> str:
        """Submit as Ray's client does; gives the run's id."""
        status, said = self.ask("POST", "/api/jobs/", {"entrypoint": entrypoint, "submission_id": key})
        assert (status, said) == (200, {"job_id": key, "submission_id": key})
        return self.ask("GET", f"/v1/runs/{key}")[1]["id"]

    def send_only(self, key: str, entrypoint: str) -> socket.socket:
        """Send a submission and do not read the answer: to its client it is lost when the gateway dies."""
        body = json.dumps({"entrypoint": entrypoint, "submission_id": key}).encode()
        head = f"POST /api/jobs/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        client = socket.create_connection(("127.0.0.1", int(self.port)), timeout=60)
        client.sendall(head + body)
        return client

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Straight from the ledger, past every process of the product."""
        with sqlite3.connect(f"file:{self.home / 'ledger.db'}?mode=ro", uri=True) as ledger:
            return ledger.execute(query, values).fetchall()

    def until_rows(self, count: int, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Wait until a query gives so many rows."""
        deadline = time.monotonic() + WAIT_SECONDS
        while len(found := self.rows(query, *values)) < count:
            assert time.monotonic() < deadline, (query, values, found)
            time.sleep(0.02)
        return found

    @contextmanager
    def locked_ledger(self) -> Iterator[None]:
        """While this lasts nobody else writes the ledger: what was sent stays on its way."""
        ledger = sqlite3.connect(self.home / "ledger.db", isolation_level=None, timeout=60)
        ledger.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            ledger.execute("ROLLBACK")
            ledger.close()

    def until_received(self) -> None:
        """Wait until the gateway's process has read all that was sent to it."""
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            found = psutil.net_connections("tcp4")
            mine = [one for one in found if one.laddr and one.laddr.port == int(self.port)]
            if any(one.status == psutil.CONN_ESTABLISHED for one in mine):
                time.sleep(0.5)  # read, parsed and handed to the thread that waits for the ledger
                return
            time.sleep(0.02)
        raise AssertionError("nothing is connected to the gateway")


class Following(threading.Thread):
    """Our own client following a log, as `headway submit` does."""

    def __init__(self, address: str, run_id: str) -> None:
        super().__init__()
        self._address, self._run_id = address, run_id
        self.found = bytearray()
        self.start()

    def run(self) -> None:
        """Until the run has ended."""
        from headway.cli.api import Api

        Api(self._address).follow(self._run_id, self.found.extend)

    def until(self, count: int) -> None:
        """Wait until so many bytes have come."""
        deadline = time.monotonic() + WAIT_SECONDS
        while len(self.found) < count:
            assert time.monotonic() < deadline, bytes(self.found[-200:])
            time.sleep(0.01)
