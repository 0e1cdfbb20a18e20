"""The driver's side: a Ray Train job around the user's loop, on our own Ray or on one that is there."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headway.runs.environment import IMPORTABLE, Supervised
from headway.runs.spool import SpoolWriter
from headway.train.failures import classify_error

# Ray Train's controller polls its workers at this interval; at the default of 2 s a report costs 2 s.
POLL_SECONDS = "0.2"
KEPT_CHECKPOINTS = 2
_JOB_CONFIG = "RAY_JOB_CONFIG_JSON_ENV_VAR"  # how `ray job submit` hands its runtime environment on


def fit(loop: Callable[[Any], None], config: dict[str, Any], datasets: dict[str, Any]) -> None:
    """Run the loop on the workers; see `headway.train.run`."""
    os.environ.setdefault("RAY_TRAIN_HEALTH_CHECK_INTERVAL_S", POLL_SECONDS)
    supervised = Supervised.read()
    workers = supervised.workers or int(config.get("workers", 2))
    name = supervised.run_id or str(config.get("name", f"run-{time.strftime('%Y%m%d-%H%M%S')}"))
    storage = (supervised.storage or Path("headway-runs")).absolute()
    spool = SpoolWriter(supervised.spool, "driver")
    try:
        _connect(workers * supervised.cpus_per_worker)
        _trainer(loop, config, datasets, workers, supervised, storage, name).fit()
    except Exception as error:
        spool.write("failure", **classify_error(error))
        raise
    if supervised.run_id is None:
        print(f"finished; checkpoints are in {storage / name}", flush=True)


def _connect(cores: int) -> None:
    import ray

    if ray.is_initialized():
        return
    if os.environ.get("RAY_ADDRESS"):
        # Workers of a Ray that is already there import this package from what we send, not from the
        # working directory: `--working-dir` would leave `platform/headway` out of their path.
        submitted = json.loads(os.environ.get(_JOB_CONFIG, "{}")).get("runtime_env") or {}
        package = Path(__file__).resolve().parents[1]
        known = submitted.get("py_modules") or os.environ.get(IMPORTABLE)
        ours = {} if known else {"py_modules": [str(package)]}
        ray.init(runtime_env=ours, log_to_driver=True)
    else:
        ray.init(num_cpus=max(cores, 1), include_dashboard=False, log_to_driver=True)


def _trainer(
    loop: Callable[[Any], None],
    config: dict[str, Any],
    datasets: dict[str, Any],
    workers: int,
    supervised: Supervised,
    storage: Path,
    name: str,
) -> Any:  # noqa: ANN401 - Ray's type; naming it here would import Ray at import time
    from ray.train import CheckpointConfig, FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    return TorchTrainer(
        _work,
        train_loop_config={
            "loop": loop,
            "config": config,
            "supervised": supervised,
            "run_folder": str(storage / name),
        },
        scaling_config=ScalingConfig(
            num_workers=workers,
            use_gpu=supervised.gpus_per_worker > 0,
            resources_per_worker=_resources(supervised),
        ),
        run_config=RunConfig(
            name=name,
            storage_path=str(storage),
            # Retries belong to the supervisor, which gives each failure class its own budget.
            failure_config=FailureConfig(max_failures=0),
            checkpoint_config=CheckpointConfig(num_to_keep=KEPT_CHECKPOINTS),
        ),
        datasets=datasets or None,
    )


def _resources(supervised: Supervised) -> dict[str, float]:
    gpus = {"GPU": float(supervised.gpus_per_worker)} if supervised.gpus_per_worker else {}
    return {"CPU": float(supervised.cpus_per_worker), **gpus}


def _work(arguments: dict[str, Any]) -> None:
    import ray.train

    from headway.train.context import Context, StopTrainingError

    where = ray.train.get_context()
    context = Context(
        rank=where.get_world_rank(),
        world_size=where.get_world_size(),
        config=arguments["config"],
        run_folder=Path(arguments["run_folder"]),
        supervised=arguments["supervised"],
    )
    try:
        arguments["loop"](context)
    except StopTrainingError:
        return
    finally:
        context.flush()
    context.finish()
