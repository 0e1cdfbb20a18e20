"""What a RayJob starts on its head: asks the gateway for the attempt, runs its driver, tells what happens.

It asks once whether it may start: a job that KubeRay submits again, or a second head of the same attempt,
hears no and ends with 75. What workers and driver say lies on the run's storage until the gateway has it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from headway.backends.kubernetes.telling import Telling
from headway.backends.local import driver as local
from headway.backends.outcome import LOG_TAIL_BYTES, Outcome, judge
from headway.blobs.packages import unpack
from headway.errors import AuthError, ExternalError, HeadwayError, NotFoundError, StateError
from headway.runs import environment
from headway.runs.environment import request_stop
from headway.runs.events import Event, EventKind
from headway.runs.fencing import check_lease, claim
from headway.runs.spool import SpoolReader
from headway.runs.states import FailureClass, RunState
from headway.runs.telling import to_events

EX_NOT_MINE = 75
POLL_SECONDS = 0.2
TELL_SECONDS = 1.0
TERM_GRACE_SECONDS = 10.0
LAUNCH_PATIENCE_SECONDS = 900.0
LAST_PATIENCE_SECONDS = 1800.0
_JOB_CONFIG = "RAY_JOB_CONFIG_JSON_ENV_VAR"
_OURS = ("HEADWAY_", "RAY_TRAIN_")


@dataclass(frozen=True, slots=True)
class Place:
    """Where this head stands: its attempt, the gateway, the storage that all pods share."""

    run_id: str
    attempt: int
    gateway: str
    token: str
    storage: Path

    @classmethod
    def read(cls) -> Place:
        """From the environment that the manifest and Ray give."""
        config = json.loads(os.environ[_JOB_CONFIG])
        run_id, _, number = str(config["metadata"]["job_submission_id"]).rpartition("-a")
        return cls(
            run_id,
            int(number),
            os.environ["HEADWAY_GATEWAY"],
            os.environ["HEADWAY_TOKEN"],
            Path(os.environ["HEADWAY_STORAGE"]),
        )

    @property
    def folder(self) -> Path:
        """What only this attempt needs."""
        return self.storage / ".headway" / self.run_id / f"a{self.attempt}"

    @property
    def code(self) -> Path:
        """Where the run's packages are unpacked, once for all its attempts."""
        return self.storage / ".headway" / self.run_id


class Head:
    """One attempt, from its launch to its outcome."""

    def __init__(self, place: Place, telling: Telling) -> None:
        self.place, self.telling = place, telling
        self.launch: local.Launch | None = None
        self._spool = SpoolReader(place.folder / "spool")
        self._untold: list[Event] = []
        self._epoch = time.time_ns() // 1000
        self._seq = 0
        self.headway_script = self.stopped_at_checkpoint = False
        self.reported: dict[str, object] | None = None
        self.stop_mode: str | None = None
        self.kill_at: float | None = None
        self.ended_from_outside = self.is_mine_no_more = False

    def run(self) -> int:
        """Run the attempt; gives the exit status for Ray."""
        try:
            given = self.telling.launch(uuid.uuid4().hex, LAUNCH_PATIENCE_SECONDS)
        except (StateError, AuthError, NotFoundError) as error:
            print(f"headway: not started: {error}", flush=True)
            return EX_NOT_MINE
        mark = str(given["mark"])
        try:
            check_lease(self._run_folder, self.place.run_id, self.place.attempt, int(given["lease_epoch"]))
            claim(self._run_folder, int(given["lease_epoch"]))
            self.launch = self._prepare(given)
            process = local.start(self.launch)
        except (HeadwayError, OSError) as error:
            failure = FailureClass.INFRA if isinstance(error, ExternalError) else FailureClass.IMAGE
            self._last_word(mark, Outcome(RunState.FAILED, failure, f"cannot start: {error}"[:300]))
            return 1
        try:
            self._watch(process)
        finally:
            local.end_all(mark, 0)
            process.wait()
        return self._conclude(mark, process.returncode)

    @property
    def _run_folder(self) -> Path:
        return self.place.storage / self.place.run_id

    def _prepare(self, given: dict[str, Any]) -> local.Launch:
        place = self.place
        package = cast("dict[str, str] | None", given["package"])
        modules = cast("list[dict[str, str]]", given["py_modules"])
        wanted = [one for one in (package, *modules) if one is not None]
        store = self.telling.open_code({one["sha256"]: one["url"] for one in wanted})
        found = {
            one["sha256"]: self.telling.patiently(
                lambda one=one: unpack(store, one["sha256"], place.code / f"code-{one['sha256'][:12]}"),
                LAUNCH_PATIENCE_SECONDS,
            )
            for one in wanted
        }
        place.folder.mkdir(parents=True, exist_ok=True)
        workdir = found[package["sha256"]] if package is not None else place.folder
        launch = local.Launch(
            run_id=place.run_id,
            attempt=place.attempt,
            mark=str(given["mark"]),
            entrypoint=str(given["entrypoint"]),
            workdir=workdir,
            env={},
            workers=cast("int | None", given["workers"]),
            cpus_per_worker=int(given["cpus_per_worker"]),
            folder=place.folder,
            storage=Path(str(given["storage"])) if given["storage"] else place.storage,
            lease_epoch=int(given["lease_epoch"]),
            method=str(given["method"]),
            recipe=_text(given["recipe"]),
            room=_text(given["room"]),
            ray_address=os.environ.get("RAY_ADDRESS", "auto"),
            gpus_per_worker=int(given["gpus_per_worker"] or 0),
        )
        paths = [str(workdir), *(str(found[one["sha256"]]) for one in modules)]
        path = os.pathsep.join([*paths, *filter(None, [os.environ.get("PYTHONPATH")])])
        launch = replace(launch, env={"PYTHONPATH": path})
        _tell_workers(launch, workdir if package is not None else None)
        return launch

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        told = time.monotonic()
        while process.poll() is None:
            time.sleep(POLL_SECONDS)
            now = time.monotonic()
            if now - told >= TELL_SECONDS:
                told = now
                self._say_and_hear()
            if self.kill_at is not None and now >= self.kill_at:
                self._end_driver()

    def _say_and_hear(self) -> None:
        """One exchange with the gateway; while it is out of reach the run goes on."""
        try:
            self._carry()
            self._obey(self.telling.asked())
        except ExternalError:
            return
        except (AuthError, NotFoundError):
            self._obey({"open": False, "stop": None})

    def _carry(self) -> None:
        lines = list(self._spool.new_events())
        for _name, line in lines:
            self.headway_script |= line["kind"] == "hello"
            self.stopped_at_checkpoint |= line["kind"] == "stopped"
            if line["kind"] == "failure":
                self.reported = line["body"]
        launch = self._launched
        self._untold += to_events(launch.run_id, launch.attempt, launch.mark, lines)
        self.telling.tell(self._untold)
        self._untold = []
        for path in (launch.log, *sorted(launch.folder.glob("rank-*.log"))):
            with path.open("rb") as log:
                while self.telling.tell_log(path.stem, log):
                    pass

    @property
    def _launched(self) -> local.Launch:
        assert self.launch is not None
        return self.launch

    def _obey(self, asked: dict[str, Any]) -> None:
        if not asked["open"]:
            self.is_mine_no_more = True
            self._end_driver()
            return
        mode = cast("str | None", asked["stop"])
        if mode is None or mode == self.stop_mode:
            return
        self.stop_mode = mode
        if mode == "now":
            self._end_driver()
        elif self.headway_script:
            request_stop(self._launched.control)
        else:
            local.ask_all(self._launched.mark)
            self.kill_at = time.monotonic() + TERM_GRACE_SECONDS

    def _end_driver(self) -> None:
        local.end_all(self._launched.mark, 1.0)

    def end_from_outside(self, *_signal: object) -> None:
        """Ray or the kubelet ends this process: what ended the attempt is for the controller to say."""
        self.ended_from_outside = True
        if self.launch is not None:
            self._end_driver()

    def _conclude(self, mark: str, returncode: int) -> int:
        if self.is_mine_no_more:
            return EX_NOT_MINE
        if self.ended_from_outside and self.stop_mode is None:
            return EX_NOT_MINE
        self._finish(self._carry)  # before it is judged: the workers' last words say how it ended
        outcome = judge(
            returncode,
            stop_mode=self.stop_mode,
            stopped_at_checkpoint=self.stopped_at_checkpoint,
            reported=self.reported,
            log_tail=self._log_tail(),
        )
        self._last_word(mark, replace(outcome, exit_code=returncode))
        return returncode if returncode >= 0 else 128 - returncode

    def _last_word(self, mark: str, outcome: Outcome) -> None:
        self._seq += 1
        body: dict[str, object] = {
            "what": "outcome",
            "state": outcome.state.value,
            "failure_class": outcome.failure.value if outcome.failure else None,
            "reason": outcome.reason,
            "exit_code": outcome.exit_code,
        }
        now = time.time_ns() // 1000
        place = self.place
        event = Event(
            f"{mark}:head", self._epoch, self._seq, EventKind.NOTE, now, place.run_id, place.attempt, body
        )
        self._finish(lambda: self.telling.tell([event]))

    def _finish(self, call: Callable[[], None]) -> None:
        try:
            self.telling.patiently(call, LAST_PATIENCE_SECONDS)
        except HeadwayError as error:
            print(f"headway: not told to the gateway: {error}", flush=True)

    def _log_tail(self) -> str:
        log = self._launched.log
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - LOG_TAIL_BYTES))
            return file.read().decode(errors="replace")


def _text(value: object) -> str | None:
    return None if value is None else json.dumps(value)


def _tell_workers(launch: local.Launch, workdir: Path | None) -> None:
    """Workers in other pods have the attempt's variables and its code by Ray's runtime environment."""
    ours = local.driver_environment(launch, os.environ)
    variables = {
        name: value
        for name, value in ours.items()
        if name.startswith(_OURS) and name not in {"HEADWAY_TOKEN", "HEADWAY_GATEWAY"}
    }
    config = json.loads(os.environ[_JOB_CONFIG])
    runtime = cast("dict[str, Any]", config.get("runtime_env") or {})
    runtime["env_vars"] = {**(runtime.get("env_vars") or {}), **variables, "PYTHONPATH": ours["PYTHONPATH"]}
    if workdir is not None:
        runtime["working_dir"] = f"local://{workdir}"
    config["runtime_env"] = runtime
    os.environ[_JOB_CONFIG] = json.dumps(config)
    os.environ["RAY_OVERRIDE_JOB_RUNTIME_ENV"] = "1"  # what the script itself asks of Ray wins
    os.environ[environment.IMPORTABLE] = "1"
    os.environ.pop("HEADWAY_TOKEN")  # the run's own code may not speak for it


def main() -> None:
    """Run the attempt that Ray's submission id names."""
    place = Place.read()
    head = Head(place, Telling(place.gateway, place.token, place.run_id, place.attempt))
    signal.signal(signal.SIGTERM, head.end_from_outside)
    sys.exit(head.run())


if __name__ == "__main__":
    main()
