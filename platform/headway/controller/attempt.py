"""One attempt on this machine, from its first process to its last."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import time
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from headway.backends.local import driver as local
from headway.backends.local.processes import marked
from headway.backends.outcome import LOG_TAIL_BYTES, Outcome, judge
from headway.blobs.choose import open_store
from headway.blobs.packages import unpack
from headway.costing.here import here_prices, here_rates
from headway.costing.lines import run_cost
from headway.costing.usage import Usage
from headway.errors import ExternalError, HeadwayError, UserError
from headway.meter.energy import best_source
from headway.meter.local import LocalMeter
from headway.runs import bills, queries
from headway.runs.environment import request_stop
from headway.runs.events import Event, EventKind
from headway.runs.fencing import claim
from headway.runs.lease import RENEW_SECONDS, renew
from headway.runs.spool import SpoolReader
from headway.runs.states import FailureClass, RunState
from headway.runs.store import append_events, now_microseconds
from headway.runs.telling import to_events

if TYPE_CHECKING:
    from headway.controller.supervisor import Supervisor

POLL_SECONDS = 0.1
ASK_SECONDS = 0.5
QUIET_START_SECONDS = 2.0
TERM_GRACE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What the supervisor needs of a run's recorded spec."""

    entrypoint: str
    workdir: Path
    env: dict[str, str]
    secrets: dict[str, str]
    workers: int
    cpus_per_worker: int
    storage: str | None
    method: str
    recipe: str | None
    room: str | None
    budget: Decimal | None
    shutdown_when_done: bool
    retries: dict[str, int]
    package: str | None = None
    py_modules: tuple[str, ...] = ()
    workers_stated: bool = True

    @classmethod
    def from_spec(cls, spec: dict[str, object]) -> RunPlan:
        """From the `resolved` part that submitting wrote beside the user's own words."""
        resolved = cast("dict[str, Any]", spec["resolved"])
        return cls(
            entrypoint=str(resolved["entrypoint"]),
            workdir=Path(str(resolved["workdir"])),
            env={str(k): str(v) for k, v in resolved["env"].items()},
            secrets={str(k): str(v) for k, v in resolved["secrets"].items()},
            workers=int(resolved["workers"]),
            cpus_per_worker=int(resolved["cpus_per_worker"]),
            storage=resolved["storage"],
            method=str(resolved["method"]),
            recipe=None if resolved.get("recipe") is None else json.dumps(resolved["recipe"]),
            room=None if resolved.get("room") is None else json.dumps(resolved["room"]),
            budget=Decimal(resolved["budget"]) if resolved.get("budget") else None,
            shutdown_when_done=bool(resolved.get("shutdown_when_done")),
            retries={str(k): int(v) for k, v in resolved["retries"].items()},
            package=resolved.get("package"),
            py_modules=tuple(resolved.get("py_modules") or ()),
            workers_stated=bool(resolved.get("workers_stated", True)),
        )

    def secret_values(self) -> dict[str, str]:
        """The secrets' values, from this process's environment: they are never written down.

        Raises:
            UserError: one is not set here, as when a run is resumed from another shell.
        """
        missing = [variable for variable in self.secrets.values() if variable not in os.environ]
        if missing:
            raise UserError("submit.no_secret", names=", ".join(missing))
        return {name: os.environ[variable] for name, variable in self.secrets.items()}

    @property
    def cores(self) -> int:
        """Cores that the run holds."""
        return self.workers * self.cpus_per_worker


class Attempt:
    """Starts the driver, carries its workers' words and its usage to the ledger, and judges its end."""

    def __init__(self, supervisor: Supervisor, allocation: str, lease_epoch: int) -> None:
        self.owner = supervisor
        self.ledger = supervisor.ledger
        self.plan = supervisor.plan
        self.allocation = allocation
        self.lease_epoch = lease_epoch
        self.mark = supervisor.mark
        storage = Path(self.plan.storage) if self.plan.storage else supervisor.settings.storage_path
        self.launch = local.Launch(
            run_id=supervisor.run_id,
            attempt=supervisor.number,
            mark=self.mark,
            entrypoint=self.plan.entrypoint,
            workdir=self.plan.workdir,
            env={**self.plan.env, **self.plan.secret_values()},
            workers=self.plan.workers if self.plan.workers_stated else None,
            cpus_per_worker=self.plan.cpus_per_worker,
            folder=supervisor.folder,
            storage=storage,
            lease_epoch=lease_epoch,
            method=self.plan.method,
            recipe=self.plan.recipe,
            room=self.plan.room,
            ray_address=supervisor.settings.get("ray_address"),
        )
        self.spool = SpoolReader(self.launch.spool)
        self.meter = LocalMeter(
            allocation,
            self.plan.cores,
            best_source(supervisor.figures),
            lambda: marked(self.mark),
            now_microseconds(),
        )
        self.running = False
        self.headway_script = False
        self.stop_mode: str | None = None
        self.kill_at: float | None = None
        self.over_budget = False
        self.stopped_at_checkpoint = False
        self.reported: dict[str, object] | None = None

    def execute(self) -> Outcome:
        """Run the attempt to its end and say how it ended."""
        self._state(RunState.PROVISIONING)
        self.launch.folder.mkdir(parents=True, exist_ok=True)
        claim(self.launch.storage / self.owner.run_id, self.lease_epoch)
        try:
            self.launch = self._with_code(self.launch)
        except HeadwayError as error:
            return Outcome(RunState.FAILED, FailureClass.IMAGE, str(error))
        self._state(RunState.STARTING, phase="boot")
        try:
            process = local.start(self.launch)
        except OSError as error:
            return Outcome(RunState.FAILED, FailureClass.USER, f"cannot start: {error}")
        try:
            late = self._watch(process)
        finally:
            local.end_all(self.mark, 0)
            process.wait()
            self._carry()
            self._meter()
            self._record_logs()
            local.clean(self.launch.folder, self.mark)
        if self.over_budget and (process.returncode != 0 or self.stopped_at_checkpoint):
            return Outcome(RunState.FAILED, FailureClass.BUDGET, f"reached its budget of {self.plan.budget}")
        outcome = late or judge(
            process.returncode,
            stop_mode=self.stop_mode,
            stopped_at_checkpoint=self.stopped_at_checkpoint,
            reported=self.reported,
            log_tail=self._log_tail(),
        )
        return replace(outcome, exit_code=process.returncode)

    def _with_code(self, launch: local.Launch) -> local.Launch:
        """The run's packages unpacked: it starts in the first, and imports from all of them.

        Raises:
            HeadwayError: one is missing, or no package.
        """
        plan, settings = self.plan, self.owner.settings
        if plan.package is None and not plan.py_modules:
            workdir = plan.workdir if plan.workdir.is_absolute() else self.launch.folder
            return replace(launch, workdir=workdir)
        store = open_store(settings.get("blobs"), settings.home)
        folder = settings.run_folder(self.owner.run_id)
        found = [
            unpack(store, sha256, folder / f"code-{sha256[:12]}")
            for sha256 in (plan.package, *plan.py_modules)
            if sha256 is not None
        ]
        workdir = found[0] if plan.package is not None else self.launch.folder
        before = launch.env.get("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
        paths = [*(str(path) for path in found), before]
        env = {**launch.env, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
        return replace(launch, workdir=workdir, env=env)

    def _state(self, state: RunState, phase: str | None = None) -> None:
        body = {"to": state.value}
        events = [self.owner.event(EventKind.ATTEMPT_STATE, {**body, "backend_ref": self.mark})]
        with self.ledger.write() as connection:
            current = queries.get_run(connection, self.owner.run_id).state
            if current is not RunState.RESTARTING or state is RunState.RUNNING:
                events.append(self.owner.event(EventKind.RUN_STATE, body))
            if phase is not None:
                events.append(self.owner.event(EventKind.PHASE, {"kind": phase}))
            append_events(connection, events)

    def _watch(self, process: subprocess.Popen[bytes]) -> Outcome | None:
        started = metered = asked = time.monotonic()
        limit = self.owner.settings.seconds("start_timeout_seconds")
        durable = min(self.owner.settings.seconds("durable_seconds"), RENEW_SECONDS)
        while process.poll() is None:
            time.sleep(POLL_SECONDS)
            now = time.monotonic()
            self._carry()
            if not self.running and not self.headway_script and now - started > QUIET_START_SECONDS:
                self._now_running()
            if not self.running and now - started > limit:
                return Outcome(RunState.FAILED, FailureClass.START_TIMEOUT, f"no first step in {limit:.0f} s")
            if now - metered >= durable:
                metered = now
                self._check_ledger()
                self._meter()
                self._check_budget()
                renew(self.ledger, self.owner.run_id, self.owner.number, self.lease_epoch, now_microseconds())
            if now - asked >= ASK_SECONDS:
                asked = now
                self._obey()
            if self.kill_at is not None and now >= self.kill_at:
                local.end_all(self.mark, 0)
        return None

    def _now_running(self) -> None:
        self.running = True
        self._state(RunState.RUNNING)

    def _carry(self) -> None:
        lines = list(self.spool.new_events())
        if not lines:
            return
        for _name, line in lines:
            kind, body = line["kind"], line["body"]
            self.headway_script |= kind == "hello"
            self.stopped_at_checkpoint |= kind == "stopped"
            if kind == "failure":
                self.reported = body
        self.ledger.append(to_events(self.owner.run_id, self.owner.number, self.mark, lines))
        if not self.running and any(line["kind"] in {"hello", "progress"} for _name, line in lines):
            self._now_running()

    def _meter(self) -> None:
        rows = [self._usage_row(usage) for usage in self.meter.tick(now_microseconds())]
        if rows:
            self.ledger.add_usage(rows)

    def _usage_row(self, usage: Usage) -> dict[str, object]:
        recorder = self.owner.recorder
        return {
            "source": recorder.source,
            "epoch": recorder.epoch,
            "seq": recorder.next_seq(),
            "allocation_id": usage.allocation_id,
            "start": usage.start,
            "stop": usage.stop,
            "metric": usage.metric.value,
            "quantity_int": usage.quantity_int,
            "unit": usage.metric.unit,
            "method": usage.method,
            "quality": usage.quality,
        }

    def _check_ledger(self) -> None:
        """Nobody may run without a record: a ledger that was deleted ends the run."""
        path = self.owner.settings.ledger_path
        if not path.exists():
            local.end_all(self.mark, 1.0)
            raise ExternalError("ledger.gone", path=path)

    def _check_budget(self) -> None:
        """End the attempt when the run has cost what its job file allows; saving what it can on the way."""
        budget = self.plan.budget
        if budget is None or self.over_budget:
            return
        figures = self.owner.figures
        with self.ledger.read() as connection:
            usage = bills.usage_totals(connection, self.owner.run_id)
        spent = run_cost(usage, here_rates(figures), here_prices(figures), now_microseconds())
        if spent >= budget:
            self.over_budget = True
            self._stop_gently()

    def _stop_gently(self) -> None:
        """After a checkpoint where the script knows how; else as any program is asked, with time to save."""
        if self.headway_script:
            request_stop(self.launch.control)
        else:
            local.ask_all(self.mark)
            self.kill_at = time.monotonic() + TERM_GRACE_SECONDS

    def _obey(self) -> None:
        with self.ledger.read() as connection:
            modes = queries.stop_requests(connection, self.owner.run_id, self.owner.number)
        mode = "now" if "now" in modes or self.owner.ended_from_outside else (modes[-1] if modes else None)
        if mode is None or mode == self.stop_mode:
            return
        self.stop_mode = mode
        if mode == "now":
            local.end_all(self.mark, 1.0)
        else:
            self._stop_gently()

    def _log_tail(self) -> str:
        try:
            with self.launch.log.open("rb") as file:
                file.seek(max(0, self.launch.log.stat().st_size - LOG_TAIL_BYTES))
                return file.read().decode(errors="replace")
        except OSError:
            return ""

    def _record_logs(self) -> None:
        """The driver's log and each worker's, with their hashes."""
        events: list[Event] = []
        for path in sorted(self.launch.folder.glob("*.log")):
            with path.open("rb") as file:
                sha = hashlib.file_digest(file, "sha256").hexdigest()
                size = file.tell()
            body: dict[str, object] = {"stream": path.stem, "uri": str(path), "bytes": size, "sha": sha}
            events.append(self.owner.event(EventKind.LOG, body))
        self.ledger.append(events)
