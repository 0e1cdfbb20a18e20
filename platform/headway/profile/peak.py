"""The peak of a training step by category and phase, and the largest micro-batch that fits."""

from __future__ import annotations

from dataclasses import dataclass

from headway.errors import UserError
from headway.memory.optimizers import MakeOptimizer
from headway.memory.recipe import Recipe
from headway.profile.allocator import settings_of
from headway.profile.reserved import OVERHEAD, History, reserve
from headway.profile.step_types import Movement, Rules, StepPeak
from headway.profile.storage_log import places, work
from headway.profile.trace import Build, MakeBatch, Traced, trace

_MOST = 2**20


def profile_peak(
    build: Build,
    batch: MakeBatch,
    *,
    recipe: Recipe,
    micro_batch: int,
    seq_len: int,
    optimizer: str | MakeOptimizer,
    world_size: int = 1,
    workers_in_node: int | None = None,
    rules: Rules = "cpu",
) -> StepPeak:
    """The peak of one step on rank 0, from a trace on fake tensors; see `headway.profile.trace.trace`."""
    traced = trace(
        build, batch, recipe=recipe, micro_batch=micro_batch, seq_len=seq_len, optimizer=optimizer,
        world_size=world_size, workers_in_node=workers_in_node, rules=rules,
    )  # fmt: skip
    return peak_of(traced, recipe, world_size)


def peak_of(traced: Traced, recipe: Recipe, world_size: int) -> StepPeak:
    """The figures of a finished trace."""
    log = traced.log
    cuda = log.rules == "cuda"
    reserved = reserve(history_of(traced), settings_of(recipe.allocator)) if cuda else None
    return StepPeak(
        rules=log.rules,
        places=places(log, traced.extra),
        block_bytes=traced.block_bytes,
        reserved_bytes=None if reserved is None else reserved.reserved_bytes,
        context_bytes=OVERHEAD.outside_bytes(world_size) if cuda else 0,
        work=work(log),
        idle=traced.idle,
    )


def history_of(traced: Traced) -> History:
    """The allocator's work in a run's first steps: states come with the first optimizer step."""
    log = traced.log
    fixed = [index for index, block in enumerate(log.blocks) if block.start < traced.begins]
    states = {index for index in fixed if log.blocks[index].category == "optimizer"}
    start = tuple(Movement(i, log.blocks[i].bytes) for i in fixed if i not in states)
    # Largest first as blocks of their own: buckets and the like are made once.
    more = tuple(Movement(-2 - number, size) for number, size in enumerate(traced.extra.values()) if size > 0)
    step = tuple(log.moves[traced.begins :])
    where = log.move_places[traced.begins :]
    update = next((at for at, place in enumerate(where) if place == "optimizer"), len(step))
    late = tuple(Movement(i, log.blocks[i].bytes) for i in fixed if i in states)
    return History((*start, *more), late, step, update)


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest micro-batch that fits, its prediction, and how many traces it took.

    `exceeds` is the prediction for one sample more.
    """

    micro_batch: int
    peak: StepPeak | None
    exceeds: StepPeak | None
    traces: int


def largest_micro_batch(
    build: Build,
    batch: MakeBatch,
    *,
    recipe: Recipe,
    seq_len: int,
    optimizer: str | MakeOptimizer,
    capacity_bytes: int,
    world_size: int = 1,
    workers_in_node: int | None = None,
    rules: Rules = "cpu",
) -> Largest:
    """Predict the largest micro-batch whose step fits `capacity_bytes`; nothing is run, nothing can crash.

    Two traces give bytes as a line over samples; traces around its answer make it sure. Under CUDA rules a
    step fits when the allocator finds room for every request, unused memory given back first.

    Raises:
        UserError: the capacity is not positive.
    """
    if capacity_bytes <= 0:
        raise UserError("profile.no_capacity", capacity=capacity_bytes)
    seen: dict[int, tuple[StepPeak, bool]] = {}

    def look(samples: int) -> bool:
        if samples not in seen:
            traced = trace(
                build, batch, recipe=recipe, micro_batch=samples, seq_len=seq_len, optimizer=optimizer,
                world_size=world_size, workers_in_node=workers_in_node, rules=rules,
            )  # fmt: skip
            peak = peak_of(traced, recipe, world_size)
            fits = peak.total_bytes <= capacity_bytes
            if not fits and rules == "cuda":
                room = capacity_bytes - peak.context_bytes
                settings = settings_of(recipe.allocator)
                fits = room > 0 and reserve(history_of(traced), settings, capacity_bytes=room).fits
            seen[samples] = (peak, fits)
        return seen[samples][1]

    fits_at, fails_at = 0, _MOST + 1
    wanted = 1
    while fails_at - fits_at > 1:
        if look(wanted):
            fits_at = wanted
        else:
            fails_at = wanted
        sizes = {samples: peak.total_bytes for samples, (peak, _fits) in seen.items()}
        wanted = _next(sizes, capacity_bytes, fits_at, fails_at)
    found = seen.get(fits_at)
    over = seen.get(fails_at)
    return Largest(fits_at, found[0] if found else None, over[0] if over else None, len(seen))


def _next(sizes: dict[int, int], capacity_bytes: int, fits_at: int, fails_at: int) -> int:
    """Where the line through the two largest batches seen meets the capacity, strictly between the bounds.

    Every third look is in the middle instead: rounding and the optimizer's phase bend the line.
    """
    if fails_at <= _MOST and len(sizes) % 3 == 0:
        return (fits_at + fails_at) // 2
    if len(sizes) < 2:
        return min(2, fails_at - 1)
    few, more = sorted(sizes)[-2:]
    slope = (sizes[more] - sizes[few]) / (more - few)
    met = 2 * more if slope <= 0 else few + int((capacity_bytes - sizes[few]) / slope)
    return max(fits_at + 1, min(fails_at - 1, met))
