"""What a supervised attempt tells its workers, as environment variables; absent without a supervisor."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

RUN_ID = "HEADWAY_RUN_ID"
ATTEMPT = "HEADWAY_ATTEMPT"
MARK = "HEADWAY_MARK"
SPOOL = "HEADWAY_SPOOL"
CONTROL = "HEADWAY_CONTROL"
STORAGE = "HEADWAY_STORAGE"
LEASE_EPOCH = "HEADWAY_LEASE_EPOCH"
WORKERS = "HEADWAY_WORKERS"
CPUS_PER_WORKER = "HEADWAY_CPUS_PER_WORKER"
GPUS_PER_WORKER = "HEADWAY_GPUS_PER_WORKER"
METHOD = "HEADWAY_METHOD"
RECIPE = "HEADWAY_RECIPE"
ROOM = "HEADWAY_ROOM"
IMPORTABLE = "HEADWAY_IMPORTABLE"  # set where workers find this package without being sent it

STOP_REQUEST = "stop"  # the file in the control folder that asks for a stop after a checkpoint


def request_stop(control: Path) -> None:
    """Ask the attempt to stop after a checkpoint."""
    control.mkdir(parents=True, exist_ok=True)
    (control / STOP_REQUEST).touch()


@dataclass(frozen=True, slots=True)
class Supervised:
    """The attempt that this process belongs to; `workers` None means the script decides."""

    run_id: str | None
    attempt: int
    spool: Path | None
    control: Path | None
    storage: Path | None
    lease_epoch: int
    workers: int | None
    cpus_per_worker: int
    recipe: str | None = None  # JSON; None means the script decides
    room: str | None = None  # JSON: the predicted memory of the recipe's micro-batch, and the limit
    gpus_per_worker: int = 0

    @classmethod
    def read(cls) -> Supervised:
        """From this process's environment."""
        env = os.environ

        def path(name: str) -> Path | None:
            return Path(env[name]) if env.get(name) else None

        return cls(
            run_id=env.get(RUN_ID) or None,
            attempt=int(env.get(ATTEMPT, "1")),
            spool=path(SPOOL),
            control=path(CONTROL),
            storage=path(STORAGE),
            lease_epoch=int(env.get(LEASE_EPOCH, "0")),
            workers=int(env[WORKERS]) if env.get(WORKERS) else None,
            cpus_per_worker=int(env.get(CPUS_PER_WORKER, "1")),
            recipe=env.get(RECIPE) or None,
            room=env.get(ROOM) or None,
            gpus_per_worker=int(env.get(GPUS_PER_WORKER, "0")),
        )
