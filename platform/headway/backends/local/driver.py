"""Start an attempt's driver on this machine, and end every process that the attempt has.

A script that uses Ray gets a Ray of its own (a private temporary folder and token), so that two runs, or
another Ray on the machine, do not meet; one that does not use Ray never starts it. All die with the
supervisor (parent-death signal), and whatever is left is found by the mark in its environment.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from headway.backends.local.processes import marked
from headway.runs import environment

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Launch:
    """What one attempt needs to start; `ray_address` joins a Ray that is already there."""

    run_id: str
    attempt: int
    mark: str
    entrypoint: str
    workdir: Path
    env: Mapping[str, str]
    workers: int | None  # None: the script decides
    cpus_per_worker: int
    folder: Path
    storage: Path
    lease_epoch: int
    method: str
    recipe: str | None = None
    room: str | None = None
    ray_address: str = ""
    gpus_per_worker: int = 0

    @property
    def spool(self) -> Path:
        """Where the workers leave their events."""
        return self.folder / "spool"

    @property
    def control(self) -> Path:
        """Where requests to the workers are left."""
        return self.folder / "control"

    @property
    def log(self) -> Path:
        """What the driver and its workers print."""
        return self.folder / "driver.log"

    @property
    def ray_folder(self) -> Path:
        """Ray's temporary folder."""
        return ray_folder(self.folder, self.mark)


def ray_folder(folder: Path, mark: str) -> Path:
    """Ray's temporary folder of an attempt: short, since its sockets' paths may have 107 bytes at most."""
    digest = hashlib.sha256(f"{folder}{mark}".encode()).hexdigest()[:12]
    return Path(tempfile.gettempdir()) / f"headway-{digest}"


def adopt_orphans() -> None:
    """Make the calling process the parent of its descendants' orphans, so that none escapes it."""
    _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent() -> None:
    """For a child that was just forked: end when the parent does."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def driver_environment(launch: Launch, base: Mapping[str, str]) -> dict[str, str]:
    """The driver's environment: ours, the job's own variables, then what a supervised attempt is told."""
    env = {**base, **launch.env}
    env["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{env.get('PATH', os.defpath)}"
    env |= {
        environment.MARK: launch.mark,
        environment.RUN_ID: launch.run_id,
        environment.ATTEMPT: str(launch.attempt),
        environment.SPOOL: str(launch.spool),
        environment.CONTROL: str(launch.control),
        environment.STORAGE: str(launch.storage),
        environment.LEASE_EPOCH: str(launch.lease_epoch),
        **({} if launch.workers is None else {environment.WORKERS: str(launch.workers)}),
        environment.CPUS_PER_WORKER: str(launch.cpus_per_worker),
        environment.GPUS_PER_WORKER: base.get(environment.GPUS_PER_WORKER) or str(launch.gpus_per_worker),
        environment.METHOD: launch.method,
        **({} if launch.recipe is None else {environment.RECIPE: launch.recipe}),
        **({} if launch.room is None else {environment.ROOM: launch.room}),
        "PYTHONUNBUFFERED": "1",
        "RAY_TRAIN_CALLBACKS": "headway.train.ray_callback.ReportSpool",
        "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": base.get("RAY_TRAIN_HEALTH_CHECK_INTERVAL_S", "0.2"),
        # Ray's own `print` for workers says each line twice where the log is a file, as here.
        "RAY_TRAIN_ENABLE_PRINT_PATCH": base.get("RAY_TRAIN_ENABLE_PRINT_PATCH", "0"),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_DEDUP_LOGS": "0",
        "RAY_COLOR_PREFIX": "0",
    }
    if launch.ray_address:
        env["RAY_ADDRESS"] = launch.ray_address
    else:
        env.pop("RAY_ADDRESS", None)
        env |= {
            "RAY_TMPDIR": str(launch.ray_folder),
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(24),
        }
    return env


def start(launch: Launch) -> subprocess.Popen[bytes]:
    """Start the driver; its output goes to the attempt's log.

    Raises:
        OSError: the program does not exist or may not be run.
    """
    for folder in (launch.spool, launch.control, launch.storage):
        folder.mkdir(parents=True, exist_ok=True)
    if not launch.ray_address:
        launch.ray_folder.mkdir(mode=0o700, exist_ok=True)
    with launch.log.open("ab") as log:
        return subprocess.Popen(
            shlex.split(launch.entrypoint),
            cwd=launch.workdir,
            env=driver_environment(launch, os.environ),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - the supervisor has one thread
        )


def ask_all(mark: str) -> None:
    """Ask every process of an attempt to end (SIGTERM), and do not wait."""
    _signal(marked(mark), signal.SIGTERM)


def end_all(mark: str, grace_seconds: float) -> int:
    """End every process of an attempt: ask, wait, then kill until none is left; gives how many there were."""
    processes = marked(mark)
    _signal(processes, signal.SIGTERM if grace_seconds > 0 else signal.SIGKILL)
    deadline = time.monotonic() + grace_seconds
    while marked(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    stop_trying = time.monotonic() + 10
    while (left := marked(mark)) and time.monotonic() < stop_trying:
        _signal(left, signal.SIGKILL)
        time.sleep(0.05)
    return len(processes)


def _signal(processes: list[psutil.Process], number: int) -> None:
    for process in processes:
        try:
            process.send_signal(number)
        except psutil.Error:
            continue  # it ended meanwhile


def clean(folder: Path, mark: str) -> None:
    """Remove what only the running attempt needed."""
    shutil.rmtree(ray_folder(folder, mark), ignore_errors=True)
