"""Inside the workers: the loop, checkpoints and metrics of a training script.

A script calls `headway.train.run(loop)`; the loop gets a `Context`. The same script runs under `headway
run`, under plain `python`, and under `ray job submit`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headway.train.context import Context


def run(
    loop: Callable[[Context], None],
    config: Mapping[str, Any] | None = None,
    datasets: Mapping[str, Any] | None = None,
) -> None:
    """Train with `loop` on every worker; returns when training is over.

    Args:
        loop: called once per worker with its `Context`.
        config: plain values the loop reads as `context.config`.
        datasets: Ray Data datasets by name, sharded over the workers (`context.dataset(name)`).

    Raises:
        ray.train.TrainingFailedError: a worker failed; under `headway run` the run's failure class and
            retries follow from it.
    """
    from headway.train.trainer import fit

    fit(loop, dict(config or {}), dict(datasets or {}))
