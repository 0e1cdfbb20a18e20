"""A home of its own for each test, and a ledger that a finished run of two attempts has filled."""

from __future__ import annotations

import os

import pytest

from headway.catalog.here import here_figures
from headway.controller.settle import keep_snapshot, settle_run
from headway.runs.events import EventKind as K
from headway.runs.store import Ledger, Recorder, append_events
from headway.settings import Settings

T0 = 1_756_684_800_000_000
SECOND = 1_000_000
RUN = "tiny-0123456789"
POOL = {"id": "here/cores", "instance": "2 cores", "capacity": "owned", "currency": "USD"}
SITE = {"id": "here", "kind": "owned", "region": None, "location": "USA"}


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in list(os.environ):
        if name.startswith("HEADWAY_") or name in {"RAY_ADDRESS", "LC_ALL", "LC_MESSAGES"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def ledger(home):
    opened = Ledger.at(home / "ledger.db")
    yield opened
    opened.close()


class History:
    """Writes a run's life event by event, at times in seconds after T0."""

    def __init__(self, ledger, run_id=RUN):
        self.ledger = ledger
        self.run_id = run_id
        self.recorder = Recorder(ledger, f"test:{run_id}")
        self.attempt = None

    def add(self, event_kind, at, /, **body):
        attempt = None if event_kind in {K.SUBMITTED, K.RUN_STATE} else self.attempt
        self.ledger.append(
            [self.recorder.event(event_kind, body, self.run_id, attempt, T0 + int(at * SECOND))]
        )

    def submit(self, at=0.0, name="tiny", **more):
        resolved = {"entrypoint": "python tiny.py", "workdir": "/tmp"}
        self.add(K.SUBMITTED, at, name=name, team="nlp", spec={"job": {}, "resolved": resolved}, **more)

    def state(self, at, to, **more):
        self.add(K.RUN_STATE, at, to=to, **more)

    def open(self, n, at, holder="elsewhere/1/1", expires=2**60):
        self.attempt = n
        self.add(
            K.ATTEMPT_OPENED,
            at,
            lease_epoch=n,
            lease_holder=holder,
            lease_expires_at=expires,
            backend="local",
        )
        self.add(
            K.ALLOCATION_OPENED, at, id=f"{self.run_id}-al{n}", site=SITE, pool=POOL, node="n",
            share_num=2, share_den=2,
        )  # fmt: skip

    def walk(self, at, *states):
        for state in states:
            self.add(K.ATTEMPT_STATE, at, to=state)
            self.state(at, state)

    def use(self, start, stop, cores=2, watts=10):
        rows = [
            ("core_held", int((stop - start) * cores * SECOND), "core_microsecond", "allocation", "measured"),
            ("core_used", int((stop - start) * SECOND), "core_microsecond", "procfs", "sampled"),
            ("energy", int((stop - start) * watts * SECOND), "microjoule", "model", "modelled"),
        ]
        self.ledger.add_usage(
            [
                {
                    "source": self.recorder.source,
                    "epoch": self.recorder.epoch,
                    "seq": self.recorder.next_seq(),
                    "allocation_id": f"{self.run_id}-al{self.attempt}",
                    "start": T0 + int(start * SECOND),
                    "stop": T0 + int(stop * SECOND),
                    "metric": metric,
                    "quantity_int": quantity,
                    "unit": unit,
                    "method": method,
                    "quality": quality,
                }
                for metric, quantity, unit, method, quality in rows
            ]
        )

    def progress(self, at, step, loss="0.5"):
        self.add(K.PROGRESS, at, step=step, steps=100, samples=step * 16, tokens=step * 1600, loss=loss)

    def close(self, at, to, failure=None):
        settings, figures = Settings.load(), here_figures()
        keep_snapshot(settings, figures.snapshot)
        moment = T0 + int(at * SECOND)
        events = [
            self.recorder.event(kind, body, self.run_id, self.attempt, moment)
            for kind, body in (
                (K.ALLOCATION_CLOSED, {"id": f"{self.run_id}-al{self.attempt}"}),
                (K.ATTEMPT_STATE, {"to": to, "failure_class": failure}),
            )
        ]
        with self.ledger.write() as connection:
            append_events(connection, events)
            return settle_run(connection, self.run_id, figures)


def first_attempt(history):
    history.submit()
    history.open(1, 0)
    history.walk(0, "ADMITTED", "PROVISIONING")
    history.add(K.PHASE, 0, kind="provision")
    history.walk(5, "STARTING")
    history.add(K.PHASE, 5, kind="boot")
    history.walk(10, "RUNNING")
    history.add(K.PHASE, 10, kind="train")
    history.add(K.WORLD, 10, workers=2)
    history.add(K.METRIC, 10, name="held_out_loss", value="2.5", step=0)
    history.progress(20, 10)
    history.progress(80, 50)
    history.add(K.PHASE, 80, kind="checkpoint")
    history.add(K.CHECKPOINT, 82, step=50, uri="/x", manifest_sha="a" * 64)
    history.add(K.PHASE, 82, kind="train")
    history.progress(95, 57)
    history.use(0, 40)
    history.use(40, 100)
    history.add(K.LOG, 100, stream="driver", uri="/log", bytes=3, sha="b" * 64)
    history.close(100, "FAILED", "infra")


def second_attempt(history):
    history.open(2, 110)
    history.add(K.ATTEMPT_STATE, 110, to="ADMITTED")
    history.add(K.PHASE, 110, kind="boot")
    history.add(K.ATTEMPT_STATE, 110, to="PROVISIONING")
    history.add(K.ATTEMPT_STATE, 110, to="STARTING")
    history.walk(115, "RUNNING")
    history.add(K.PHASE, 115, kind="train")
    history.add(K.NOTE, 116, what="restored", step=50)
    history.progress(150, 80)
    history.progress(199, 100, loss="0.25")
    history.add(K.METRIC, 199, name="held_out_loss", value="1.25", step=100)
    history.add(K.CHECKPOINT, 199, step=100, uri="/x", manifest_sha="c" * 64)
    history.use(110, 200)
    history.close(200, "SUCCEEDED")


@pytest.fixture
def history(ledger):
    return History(ledger)


@pytest.fixture
def new_history():
    return History


@pytest.fixture
def half_run(history):
    first_attempt(history)
    return history


@pytest.fixture
def finished_run(history):
    first_attempt(history)
    history.state(100, "RESTARTING", reason="a worker died")
    second_attempt(history)
    history.state(200, "SUCCEEDED")
    return history
