"""What every Ray Train script gives without a word of ours in it: its reports, and a log for each worker.

Ray Train loads this class by name (`RAY_TRAIN_CALLBACKS`); it runs in Ray Train's controller.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from ray.train.v2._internal.execution.callback import ReportCallback, WorkerGroupCallback

from headway.runs.environment import Supervised
from headway.runs.spool import SpoolWriter
from headway.train.rank_log import RankLog

_STEPS = ("step", "global_step", "steps", "iteration", "training_iteration", "epoch")
_LOSSES = ("loss", "train_loss", "training_loss")
CLOSE_SECONDS = 10.0


class ReportSpool(ReportCallback, WorkerGroupCallback):
    """Writes a progress line for each report, with step and loss where the report names them.

    Made in the driver and pickled into the controller: the file is opened at the first report.
    """

    def __init__(self) -> None:
        self._spool: SpoolWriter | None = None
        self._count = 0

    def after_report(self, training_report: Any, metrics: list[dict[str, Any]]) -> None:  # noqa: ANN401, ARG002 - Ray's signature
        """Called by Ray after all workers have reported."""
        first = metrics[0] if metrics else {}
        if "headway_step" in first:
            return
        if self._spool is None:
            self._spool = SpoolWriter(Supervised.read().spool, "ray-train")
        self._count += 1
        step = next((first[key] for key in _STEPS if isinstance(first.get(key), int)), self._count)
        loss = next((first[key] for key in _LOSSES if isinstance(first.get(key), float)), None)
        self._spool.write("progress", step=step, loss=None if loss is None else repr(loss))

    def after_worker_group_start(self, worker_group: Any) -> None:  # noqa: ANN401 - Ray's type
        """Called by Ray before the workers meet, so that what NCCL says of that is kept too."""
        spool = Supervised.read().spool
        if spool is None:
            return
        try:
            worker_group.execute(keep_log, spool.parent)
        except Exception as error:  # noqa: BLE001 - training does not depend on it
            print(f"headway: no logs by rank: {error}", flush=True)

    def before_worker_group_shutdown(self, worker_group: Any) -> None:  # noqa: ANN401 - Ray's type
        """Called by Ray at the end; workers may be dead, and what they said is kept then too."""
        import ray

        if Supervised.read().spool is None:
            return
        with contextlib.suppress(Exception):
            ray.wait(
                closing := worker_group.execute_async(end_log),
                num_returns=len(closing),
                timeout=CLOSE_SECONDS,
            )


_kept: list[RankLog] = []


def keep_log(folder: Path) -> None:
    """In a worker: keep what it prints from now on."""
    import ray.train

    _kept.append(RankLog(folder / f"rank-{ray.train.get_context().get_world_rank()}.log"))


def end_log() -> None:
    """In a worker: what it has printed is kept when this returns."""
    while _kept:
        _kept.pop().close()
