"""Any valid life of a run: rows made again from its events are the rows that live."""

import itertools
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from headway.runs import tables
from headway.runs.events import EventKind as K
from headway.runs.states import TRANSITIONS, RunState, check_transition
from headway.runs.store import Ledger, Recorder, rebuild

PHASES = ("provision", "boot", "restore", "train", "eval", "checkpoint", "idle")
SMALL = st.integers(0, 50)


def dump(ledger):
    with ledger.read() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(select(table)).all()), key=repr)
            for table in tables.PROJECTED
        }


class Life:
    """Draws events that are valid when they happen."""

    def __init__(self, draw, run_id):
        self.draw, self.run_id = draw, run_id
        self.state, self.attempt, self.attempt_state, self.open = RunState.QUEUED, 0, None, None

    def next(self):
        choices = ["run"]
        if self.attempt_state is None or self.attempt_state.is_terminal:
            choices.append("open")
        else:
            choices += ["attempt", "phase", "progress", "checkpoint", "allocation", "world", "log"]
        return getattr(self, f"_{self.draw(st.sampled_from(choices))}")()

    def _run(self):
        ways = sorted(TRANSITIONS[self.state]) + ([RunState.QUEUED] if self.state.is_resumable else [])
        if not ways:
            return K.NOTE, {"what": "over"}
        target = self.draw(st.sampled_from(ways))
        resume = self.state.is_resumable
        check_transition(self.state, target, resume=resume)
        self.state = target
        return K.RUN_STATE, {"to": target.value, "resume": resume, "reason": self.draw(st.none() | st.text())}

    def _open(self):
        self.attempt += 1
        self.attempt_state = RunState.QUEUED
        body = {"lease_epoch": self.draw(SMALL), "lease_holder": "h/1/1", "lease_expires_at": 9}
        return K.ATTEMPT_OPENED, {**body, "backend": "local"}

    def _attempt(self):
        self.attempt_state = self.draw(st.sampled_from(sorted(TRANSITIONS[self.attempt_state])))
        return K.ATTEMPT_STATE, {"to": self.attempt_state.value, "backend_ref": self.draw(st.text())}

    def _phase(self):
        return K.PHASE, {"kind": self.draw(st.sampled_from(PHASES))}

    def _progress(self):
        return K.PROGRESS, {"step": self.draw(SMALL), "samples": self.draw(st.none() | SMALL), "loss": "0.1"}

    def _checkpoint(self):
        return K.CHECKPOINT, {"step": self.draw(SMALL), "uri": "u", "manifest_sha": "m"}

    def _world(self):
        return K.WORLD, {"workers": self.draw(SMALL)}

    def _log(self):
        return K.LOG, {"stream": self.draw(st.sampled_from("ab")), "uri": "u", "bytes": self.draw(SMALL)}

    def _allocation(self):
        if self.open is not None:
            closed, self.open = self.open, None
            return K.ALLOCATION_CLOSED, {"id": closed}
        self.open = f"{self.run_id}-{self.attempt}-{self.draw(SMALL)}"
        site = {"id": "here", "kind": "owned", "region": None, "location": "USA"}
        pool = {"id": "here/cores", "instance": "2 cores", "capacity": "owned", "currency": "USD"}
        body = {"id": self.open, "site": site, "pool": pool, "node": "n", "share_num": 1, "share_den": 2}
        return K.ALLOCATION_OPENED, body


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_rows_made_again_are_the_live_rows(data):
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.at(Path(folder) / "ledger.db")
        sources = [Recorder(ledger, name) for name in ("cli", "supervisor")]
        lives = [Life(data.draw, f"run-{i}") for i in range(2)]
        clock = itertools.count(1)
        for life in lives:
            body = {"name": "n", "team": data.draw(st.none() | st.just("t")), "spec": {}, "project": "p"}
            ledger.append([sources[0].event(K.SUBMITTED, body, life.run_id, at=next(clock))])
        for _ in range(data.draw(st.integers(0, 30))):
            life = data.draw(st.sampled_from(lives))
            kind, body = life.next()
            source = data.draw(st.sampled_from(sources))
            # Times may repeat: sources have clocks of their own.
            at = next(clock) // data.draw(st.integers(1, 2))
            ledger.append([source.event(kind, body, life.run_id, life.attempt or None, at)])
        before = dump(ledger)
        rebuild(ledger)
        assert dump(ledger) == before
        ledger.close()
