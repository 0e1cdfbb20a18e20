"""The process that owns a run on this machine: admit, start, watch, retry, settle.

Started detached, one per run; the CLI only watches the ledger. What it knows it writes there at least
every few seconds; when it dies, its children die with it and the next command closes the run's books.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from headway.backends.local import driver as local
from headway.backends.outcome import Outcome
from headway.controller.admission import Waiting, admit
from headway.controller.attempt import Attempt, RunPlan
from headway.controller.cores import check_fits
from headway.controller.figures import figures_of
from headway.controller.owner import take
from headway.controller.settle import keep_snapshot, settle_run
from headway.runs import queries
from headway.runs.events import Event, EventKind
from headway.runs.ids import backend_name
from headway.runs.lease import LEASE_MICROSECONDS, Holder, renew
from headway.runs.states import FailureClass, RunState, retry_rule
from headway.runs.store import Ledger, Recorder, append_events, now_microseconds
from headway.settings import Settings

WAIT_SECONDS = 0.5
SHUTDOWN = ("shutdown", "-h", "+1")


class Supervisor:
    """Owns one run from QUEUED until it ends."""

    def __init__(self, settings: Settings, ledger: Ledger, run_id: str) -> None:
        self.settings = settings
        self.ledger = ledger
        self.run_id = run_id
        self.figures = figures_of(settings)
        self.recorder = Recorder(ledger, f"supervisor:{run_id}")
        with ledger.read() as connection:
            run = queries.get_run(connection, run_id)
            self.number = len(queries.attempts(connection, run_id))
        self.plan = RunPlan.from_spec(run.spec)
        self.ended_from_outside = False
        self.uses_headway = False

    def event(self, kind: EventKind, body: dict[str, Any], at: int | None = None) -> Event:
        """An event of ours about the present attempt."""
        return self.recorder.event(kind, body, self.run_id, self.number, at)

    def run(self) -> None:
        """Attempt until the run succeeds, is stopped, or its failure class has no retry left."""
        while True:
            outcome = self._attempt()
            if outcome.state is not RunState.FAILED or outcome.failure is None:
                break
            earlier = self._failures(outcome.failure) - 1
            rule = retry_rule(outcome.failure, self.plan.retries)
            if earlier >= rule.budget or self.ended_from_outside or not self._worth_retrying(outcome.failure):
                break
            self._restart(outcome)
            time.sleep(rule.wait_seconds(earlier))
        self._finish(outcome)

    def _worth_retrying(self, failure: FailureClass) -> bool:
        """Whether a retry goes on with something: a script that saves nothing would pay for all of it again.

        A job file that states its own budget for the class is taken at its word.
        """
        with self.ledger.read() as connection:
            saved = queries.checkpoints(connection, self.run_id)
        return bool(saved) or self.uses_headway or failure.value in self.plan.retries

    def _failures(self, failure: FailureClass) -> int:
        with self.ledger.read() as connection:
            rows = queries.attempts(connection, self.run_id)
        return sum(row.failure_class == failure.value for row in rows)

    def _restart(self, outcome: Outcome) -> None:
        body = {"to": RunState.RESTARTING.value, "reason": outcome.reason}
        self.ledger.append([self.event(EventKind.RUN_STATE, body)])

    def _finish(self, outcome: Outcome) -> None:
        failure = outcome.failure.value if outcome.failure else None
        body = {"to": outcome.state.value, "reason": outcome.reason, "failure_class": failure}
        self.ledger.append([self.event(EventKind.RUN_STATE, body)])
        if self.plan.shutdown_when_done and not self.ended_from_outside:
            # The run is on record; what still runs on the machine was agreed to end with it.
            subprocess.run(SHUTDOWN, check=False)

    def _attempt(self) -> Outcome:
        self.number += 1
        now = now_microseconds()
        epoch = self.recorder.clock()
        body = {
            "lease_epoch": epoch,
            "lease_holder": str(Holder.me()),
            "lease_expires_at": now + LEASE_MICROSECONDS,
            "backend": "local",
        }
        self.ledger.append([self.event(EventKind.ATTEMPT_OPENED, body, now)])
        allocation = self._wait_for_cores(epoch)
        if isinstance(allocation, Outcome):
            self._close(allocation, None)
            return allocation
        attempt = Attempt(self, allocation, epoch)
        outcome = attempt.execute()
        self.uses_headway |= attempt.headway_script
        self._close(outcome, allocation)
        return outcome

    def _wait_for_cores(self, lease_epoch: int) -> str | Outcome:
        shown: Waiting | None = None
        renewed = time.monotonic()
        check_fits(self.plan.cores, self.figures)
        while True:
            now = now_microseconds()
            with self.ledger.write() as connection:
                if self.ended_from_outside or queries.stop_requests(connection, self.run_id, self.number):
                    return Outcome(RunState.CANCELLED, reason="stopped while waiting")
                answer = admit(
                    connection, self.recorder, self.run_id, self.number, self.plan.cores, self.figures, now
                )
                if isinstance(answer, str):
                    provision = self.event(EventKind.PHASE, {"kind": "provision"}, now)
                    append_events(connection, [provision])
                    return answer
                if answer != shown:
                    shown = answer
                    state = queries.get_run(connection, self.run_id).state.value
                    body = {"to": state, "reason": answer.message, "values": dict(answer.values)}
                    append_events(connection, [self.event(EventKind.RUN_STATE, body, now)])
            if time.monotonic() - renewed > WAIT_SECONDS * 4:
                renewed = time.monotonic()
                renew(self.ledger, self.run_id, self.number, lease_epoch, now)
            time.sleep(WAIT_SECONDS)

    def _close(self, outcome: Outcome, allocation: str | None) -> None:
        """End the attempt, close its allocation and settle, all in one transaction."""
        failure = outcome.failure.value if outcome.failure else None
        now = now_microseconds()
        body = {
            "to": outcome.state.value,
            "failure_class": failure,
            "reason": outcome.reason,
            "exit_code": outcome.exit_code,
        }
        events = [self.event(EventKind.ATTEMPT_STATE, body, now)]
        if allocation is not None:
            events.insert(0, self.event(EventKind.ALLOCATION_CLOSED, {"id": allocation}, now))
        keep_snapshot(self.settings, self.figures.snapshot)
        with self.ledger.write() as connection:
            append_events(connection, events)
            settle_run(connection, self.run_id, self.figures)

    def stop_from_outside(self, *_signal: object) -> None:
        """A signal asked this process to end: end the run with it."""
        self.ended_from_outside = True

    @property
    def mark(self) -> str:
        """The present attempt's mark."""
        return backend_name(self.run_id, self.number)

    @property
    def folder(self) -> Path:
        """The present attempt's folder."""
        return self.settings.run_folder(self.run_id) / f"a{self.number}"


def main() -> None:
    """Own the run that the command line names, to its end."""
    run_id = sys.argv[1]
    local.adopt_orphans()
    settings = Settings.load()
    owned = take(settings.run_folder(run_id))
    if owned is None:
        return  # another process owns the run already
    ledger = Ledger.at(settings.ledger_path)
    supervisor = Supervisor(settings, ledger, run_id)
    signal.signal(signal.SIGTERM, supervisor.stop_from_outside)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        supervisor.run()
    finally:
        if supervisor.number:
            local.end_all(supervisor.mark, 0)
        ledger.close()
        owned.close()


if __name__ == "__main__":
    main()
