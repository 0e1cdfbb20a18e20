"""What a training loop works with: data, steps, checkpoints, restore, metrics.

A loop tracks its stateful objects, restores, and goes through its batches:

    def loop(context):
        model = context.prepare(build_model())
        optimizer = torch.optim.AdamW(model.parameters())
        context.track(model=model, optimizer=optimizer)
        context.restore()
        for batch in context.batches(data, batch_size=8, steps=400):
            loss = model(**batch).loss
            loss.backward(); optimizer.step(); optimizer.zero_grad()
            context.step(loss=loss, samples=8)

Nothing here is collective except checkpoints: a step costs microseconds.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from headway.memory.batch import FirstStep, Room
from headway.memory.optimizers import MakeOptimizer
from headway.memory.recipe import Recipe, recipe_of
from headway.memory.step import Step
from headway.runs.environment import Supervised
from headway.runs.fencing import check_lease
from headway.runs.spool import SpoolWriter
from headway.train import checkpoints
from headway.train.batches import Sampler
from headway.train.stopping import StopSignal

PROGRESS_SECONDS = 0.5


class StopTrainingError(Exception):
    """Raised inside the loop to leave it after a checkpoint that a stop asked for."""


class Context:
    """One worker's view of the run.

    `rank` counts workers from 0; `step_count` counts optimizer steps from the run's beginning, over all
    attempts; `config` is what `run()` was given.
    """

    def __init__(
        self,
        *,
        rank: int,
        world_size: int,
        config: dict[str, Any],
        run_folder: Path,
        supervised: Supervised,
    ) -> None:
        self.rank = rank
        self.world_size = world_size
        self.config = config
        self.step_count = 0
        self.sample_count = 0
        self.token_count = 0
        self.resumed = False
        self._supervised = supervised
        self._run_folder = run_folder
        self._tracked: dict[str, Any] = {}
        self._sampler = Sampler(rank, world_size)
        self._spool = SpoolWriter(supervised.spool, f"rank-{rank}")
        self._stop = StopSignal(supervised.control, rank)
        self._phase = "boot"
        self._steps: int | None = None
        self._checkpoint_steps: int | None = config.get("checkpoint_steps")
        self._progress_at = 0.0
        self._told_step = 0
        self._spool.write("hello", rank=rank, world_size=world_size)

    @property
    def device(self) -> torch.device:
        """The device this worker trains on."""
        import ray.train.torch

        return ray.train.torch.get_device()

    def prepare(self, model: torch.nn.Module) -> torch.nn.Module:
        """The model on its device, gradients averaged over the workers (DDP) where there are several."""
        import ray.train.torch

        return ray.train.torch.prepare_model(model)

    @property
    def recipe(self) -> Recipe:
        """The run's memory techniques: the job file's, else the script's `config["recipe"]`, else none."""
        given = self._supervised.recipe
        data = json.loads(given) if given else self.config.get("recipe") or {}
        recipe = recipe_of(data)
        if recipe.sharding == "none" and self.world_size > 1:
            return replace(recipe, sharding="ddp")
        return replace(recipe, sharding="none") if self.world_size == 1 else recipe

    def optimize(self, model: torch.nn.Module, make: MakeOptimizer) -> Step:
        """The model and its optimizer as the run's recipe says; `step(batch, loss_of)` is a whole step.

        `make` makes the optimizer of parameters it is given. The step is tracked: checkpoints hold it.
        """
        room = self._supervised.room
        step = Step(
            model.to(self.device),
            make,
            self.recipe,
            room=Room(**json.loads(room)) if room else None,
            on_first_step=self._say_first_step,
        )
        if self.rank == 0:
            for change in step.applied.changes:
                for name, reason in change.unchanged:
                    print(f"{change.technique} leaves {name or 'the model'} as it is: {reason}", flush=True)
        self.track(step=step)
        return step

    def _say_first_step(self, found: FirstStep) -> None:
        if self.rank == 0:
            took, said = (round(size / 2**20) for size in (found.measured_bytes, found.predicted_bytes))
            batch = f"{found.before}" if found.before == found.after else f"{found.before}, now {found.after}"
            print(f"first step: {took} MiB on a worker, {said} predicted; micro-batch {batch}", flush=True)

    def dataset(self, name: str) -> Any:  # noqa: ANN401 - Ray Data's own iterator type
        """This worker's shard of a dataset that `run()` was given."""
        import ray.train

        return ray.train.get_dataset_shard(name)

    def track(self, **objects: Any) -> None:  # noqa: ANN401 - anything with a state dict
        """Name the objects that a checkpoint holds; each has `state_dict` and `load_state_dict`."""
        self._tracked.update(objects)

    def batches(
        self,
        data: Sequence[Any],
        batch_size: int,
        *,
        steps: int | None = None,
        epochs: int | None = None,
        seed: int = 0,
        collate: Callable[[list[Any]], Any] | None = None,
    ) -> Iterator[Any]:
        """This rank's batches, from where the run is, until `steps` or `epochs` of the whole run are done."""
        self._steps = steps
        if steps is None and epochs is not None:
            self._steps = epochs * (len(data) // (batch_size * self.world_size))
        self._enter("train")
        if steps is not None and self.step_count >= steps:
            return
        for batch in self._sampler.batches(data, batch_size, seed=seed, epochs=epochs, collate=collate):
            yield batch
            if steps is not None and self.step_count >= steps:
                return

    def step(self, *, loss: torch.Tensor | float | None = None, samples: int = 0, tokens: int = 0) -> None:
        """An optimizer step is done; `samples` and `tokens` are this rank's.

        Takes a checkpoint when one is due, and leaves the loop after one when a stop was asked for.
        """
        self.step_count += 1
        self.sample_count += samples * self.world_size
        self.token_count += tokens * self.world_size
        now = time.monotonic()
        last = self._steps is not None and self.step_count >= self._steps
        if self.rank == 0 and (last or now - self._progress_at >= PROGRESS_SECONDS):
            self._progress_at = now
            self._write_progress(loss)
        if self._stop.reached(self.step_count):
            if self.rank == 0:
                self._write_progress(loss)
            self.checkpoint()
            self._spool.write("stopped", step=self.step_count)
            raise StopTrainingError
        due = self._checkpoint_steps
        if due and self.step_count % due == 0 and not last:
            if self.rank == 0:
                self._write_progress(loss)
            self.checkpoint()

    def _write_progress(self, loss: torch.Tensor | float | None) -> None:
        self._told_step = self.step_count
        value = float(loss.detach()) if isinstance(loss, torch.Tensor) else loss
        self._spool.write(
            "progress",
            step=self.step_count,
            steps=self._steps,
            samples=self.sample_count,
            tokens=self.token_count,
            loss=None if value is None else repr(value),
        )

    def flush(self) -> None:
        """Tell how far the loop came, however it was left."""
        if self.rank == 0 and self.step_count > self._told_step:
            self._write_progress(None)

    def metric(self, name: str, value: float) -> None:
        """Record a named figure of the run at this step, such as `held_out_loss`."""
        if self.rank == 0:
            self._spool.write("metric", name=name, value=repr(float(value)), step=self.step_count)
            if self._supervised.spool is None:
                print(f"{name} {value:.4f} at step {self.step_count}", flush=True)

    @contextmanager
    def phase(self, kind: str) -> Generator[None]:
        """Mark what the time inside is spent on (`eval`); the phase before goes on afterwards."""
        before = self._phase
        self._enter(kind)
        try:
            yield
        finally:
            self._enter(before)

    def _enter(self, kind: str) -> None:
        if kind != self._phase:
            self._phase = kind
            if self.rank == 0:
                self._spool.write("phase", kind=kind)

    def checkpoint(self) -> None:
        """Save everything tracked, random states and the position in the data; collective over ranks.

        Raises:
            LeaseLostError: another attempt owns the run now.
        """
        import ray.train

        run = self._supervised
        check_lease(self._run_folder, run.run_id or "", run.attempt, run.lease_epoch)
        with self.phase("checkpoint"):
            folder = Path(tempfile.mkdtemp(prefix="headway-checkpoint-", dir=_scratch()))
            try:
                manifest_sha = self._save(folder)
                checkpoint = ray.train.Checkpoint.from_directory(str(folder))
                ray.train.report({"headway_step": self.step_count}, checkpoint=checkpoint)
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            if self.rank == 0:
                self._spool.write(
                    "checkpoint", step=self.step_count, uri=str(self._run_folder), manifest_sha=manifest_sha
                )

    def _save(self, folder: Path) -> str:
        for name, thing in self._tracked.items():
            state = _bare(thing).state_dict()  # a sharded state is gathered: all workers take part
            if self.rank == 0:
                torch.save(state, folder / f"{name}.pt")
        torch.save(self._own_state(), folder / f"rank-{self.rank}.pt")
        manifest = checkpoints.Manifest(
            run_id=self._supervised.run_id or "",
            attempt=self._supervised.attempt,
            lease_epoch=self._supervised.lease_epoch,
            step=self.step_count,
            rank=self.rank,
            world_size=self.world_size,
            files=checkpoints.describe_files(folder),
        )
        return checkpoints.write_manifest(folder, manifest)

    def _own_state(self) -> dict[str, Any]:
        kind, keys, position, has_gauss, cached = np.random.get_state()
        python_state = random.getstate()
        return {
            "step": self.step_count,
            "samples": self.sample_count,
            "tokens": self.token_count,
            "sampler": self._sampler.state(),
            "torch": torch.get_rng_state(),
            "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
            "numpy": [kind, torch.from_numpy(np.asarray(keys).astype(np.int64)), position, has_gauss, cached],
            "python": [python_state[0], list(python_state[1]), python_state[2]],
        }

    def restore(self) -> int:
        """Load the newest complete checkpoint of the run, if any; gives the step it was taken at (0: none).

        Raises:
            ValueError: the checkpoint was written by another number of workers, or lacks a tracked object.
        """
        folder = checkpoints.newest_complete(self._run_folder)
        if folder is None:
            return 0
        manifest = checkpoints.read_manifest(folder, 0)
        if manifest is None or manifest.world_size != self.world_size:
            found = manifest.world_size if manifest else 0
            raise ValueError(
                f"checkpoint of {found} workers cannot be resumed with {self.world_size}: {folder}"
            )
        with self.phase("restore"):
            for name, thing in self._tracked.items():
                path = folder / f"{name}.pt"
                if not path.is_file():
                    raise ValueError(f"checkpoint has no {name!r}: {folder}")
                _bare(thing).load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
            self._load_own(torch.load(folder / f"rank-{self.rank}.pt", weights_only=True))
        self.resumed = True
        if self.rank == 0:
            self._spool.write("restored", step=self.step_count)
        return self.step_count

    def _load_own(self, state: dict[str, Any]) -> None:
        self.step_count = state["step"]
        self.sample_count = state["samples"]
        self.token_count = state["tokens"]
        self._sampler.load(state["sampler"])
        torch.set_rng_state(state["torch"])
        if state["cuda"] and torch.cuda.is_available():
            torch.cuda.set_rng_state_all(state["cuda"])
        kind, keys, position, has_gauss, cached = state["numpy"]
        np.random.set_state((kind, keys.numpy().astype(np.uint32), position, has_gauss, cached))
        version, internal, gauss = state["python"]
        random.setstate((version, tuple(internal), gauss))

    def finish(self) -> None:
        """The loop is over: keep its last state as a checkpoint."""
        if self._tracked and self.step_count:
            self.checkpoint()
        if self.rank == 0:
            self._spool.write("finished", step=self.step_count)
            self._enter("idle")


def _bare(thing: Any) -> Any:  # noqa: ANN401 - whatever the loop tracks
    return thing.module if isinstance(thing, torch.nn.parallel.DistributedDataParallel) else thing


def _scratch() -> str | None:
    """The run's own temporary folder, which goes with it however it ends; the machine's where it has none."""
    given = os.environ.get("RAY_TMPDIR", "")
    return given if given and Path(given).is_dir() else None
