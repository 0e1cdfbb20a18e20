"""The real peak of a training step on the CPU's allocator: the truth that a trace is held against."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from torch import nn
from torch.profiler import ProfilerActivity, profile

from headway.memory.optimizers import MakeOptimizer
from headway.memory.recipe import Recipe
from headway.memory.step import Step
from headway.profile.optimizers import optimizer_maker, states_of
from headway.profile.step import Phases
from headway.profile.storage_log import storages_of


def measured_peak(
    build: Callable[[], nn.Module],
    batch: Callable[[int, int], Mapping[str, Any]],
    *,
    recipe: Recipe,
    micro_batch: int,
    seq_len: int,
    optimizer: str | MakeOptimizer,
) -> int:
    """Bytes at the worst moment of the second step, by the profiler's record of the allocator; CPU only.

    For a sharded recipe this process must belong to its group; the peak is this rank's.
    """
    step = Step(build(), optimizer_maker(optimizer, "cpu"), replace(recipe, micro_batch=micro_batch))
    inputs = batch(micro_batch * recipe.accumulation, seq_len)
    with Phases(step) as phases:
        phases.run(inputs)
        gc.collect()
        held = [
            *step.model.parameters(), *step.model.buffers(), *states_of(step.optimizer), *inputs.values()
        ]  # fmt: skip
        resident = sum(storage.nbytes() for storage in storages_of(held))
        gc.disable()
        try:
            with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
                phases.run(inputs)
        finally:
            gc.enable()
    return resident + _highest(profiler)


def _highest(profiler: profile) -> int:
    """The highest running sum of what was allocated and freed; bytes."""
    inner: Any = profiler.profiler
    events = [event for event in inner.kineto_results.events() if event.name() == "[memory]"]
    events.sort(key=lambda event: event.start_ns())
    live = highest = 0
    for event in events:
        live += int(event.nbytes())
        highest = max(highest, live)
    return highest
