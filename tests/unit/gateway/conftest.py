"""A gateway in a thread of this process, on a ledger and a store of its own."""

from __future__ import annotations

import asyncio
import io
import json
import threading
import urllib.error
import urllib.request
import zipfile

import pytest
from aiohttp import web

from headway.blobs.folder import FolderStore
from headway.gateway.app import make_app
from headway.gateway.records import Records
from headway.gateway.service import Gateway, Ports
from headway.gateway.signed import signing_key
from headway.runs import queries, tokens
from headway.runs.events import EventKind as K
from headway.runs.store import Recorder, now_microseconds
from headway.runs.tokens import Principal, Role
from headway.settings import Settings


def zipped(**files):
    """A package as Ray's client makes it."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("_py", ".py"), text)
    return data.getvalue()


class Running:
    """The gateway and what a test says to it."""

    def __init__(self, home, ledger, *, loopback_only=True):
        self.home, self.ledger = home, ledger
        self.settings = Settings.load()
        self.store = FolderStore(home / "blobs")
        ports = Ports(lambda run_id: {"run_id": run_id}, self.settings.run_folder)
        self.recorder = Recorder(ledger, "test")
        self.loop = asyncio.new_event_loop()
        self.gateway = Gateway(Records(ledger), self.store, ports, "", signing_key(home), loopback_only)
        self.app = make_app(self.gateway)
        self.runner = web.AppRunner(self.app)
        self.thread = threading.Thread(target=self.loop.run_forever)

    def start(self):
        self.thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self.loop).result(10)
        self.gateway.url = self.url
        return self

    async def _listen(self):
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", 0)
        await site.start()
        self.port = site._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def stop(self):
        asyncio.run_coroutine_threadsafe(self.runner.cleanup(), self.loop).result(20)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
        self.loop.close()

    def ask(self, method, path, body=None, token=None, headers=None):
        """Status and answer (parsed where it is JSON)."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers or {}, method=method)
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                status, said = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                status, said = error.code, error.read()
        try:
            return status, json.loads(said)
        except ValueError:
            return status, said.decode(errors="replace")

    def submit(self, key=None, token=None, **more):
        body = {"entrypoint": "python train.py", "submission_id": key, **more}
        status, said = self.ask("POST", "/api/jobs/", body, token)
        assert status == 200, said
        return said["submission_id"]

    def token(self, team="nlp", role=Role.USER, run_id=None, expires=None, name=None):
        with self.ledger.write() as connection:
            who = Principal(name or f"{role.value}-{team}", role, team, run_id)
            return tokens.issue(connection, who, now_microseconds(), expires)

    def run(self, key):
        with self.ledger.read() as connection:
            return queries.run_by_key(connection, key)

    def state(self, key, *states, **more):
        for state in states:
            run = self.run(key)
            self.recorder.append(K.RUN_STATE, {"to": state, **more}, run.id)

    def log(self, key, data, attempt=1, stream="driver"):
        path = self.settings.run_folder(self.run(key).id) / f"a{attempt}" / f"{stream}.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(data)


@pytest.fixture
def running(home, ledger):
    one = Running(home, ledger).start()
    yield one
    one.stop()
