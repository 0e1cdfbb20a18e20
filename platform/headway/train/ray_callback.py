"""Progress of a plain Ray Train script that never heard of us: what it reports to Ray reaches the ledger.

Ray Train loads this class by name (`RAY_TRAIN_CALLBACKS`); it runs in Ray Train's controller.
"""

from __future__ import annotations

from typing import Any

from ray.train.v2._internal.execution.callback import ReportCallback

from headway.runs.environment import Supervised
from headway.runs.spool import SpoolWriter

_STEPS = ("step", "global_step", "steps", "iteration", "training_iteration", "epoch")
_LOSSES = ("loss", "train_loss", "training_loss")


class ReportSpool(ReportCallback):
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
