"""PURE. What each block should keep so that all fit a byte budget at the least recompute time.

A multiple-choice knapsack, solved exactly: block after block, the partial choices that another one beats in
both bytes and time are dropped. Blocks that are alike keep the number of partial choices small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headway.memory.recipe import Keep, Segment


@dataclass(frozen=True, slots=True)
class Option:
    """What a block may keep: the bytes that stay, and the seconds (or FLOPs) that recomputing costs."""

    keep: Keep
    kept_bytes: int
    recompute_cost: float


@dataclass(frozen=True, slots=True)
class _Partial:
    kept_bytes: int
    cost: float
    before: _Partial | None
    option: Option | None


def least_recompute(blocks: Sequence[Sequence[Option]], budget_bytes: int) -> tuple[Keep, ...] | None:
    """The cheapest choice for each block within the budget, or None where even the leanest exceeds it.

    Of equally cheap choices the one that keeps fewest bytes is taken.
    """
    least_left = [0] * (len(blocks) + 1)
    for index in range(len(blocks) - 1, -1, -1):
        least_left[index] = least_left[index + 1] + min(option.kept_bytes for option in blocks[index])
    front = [_Partial(0, 0.0, None, None)]
    for index, options in enumerate(blocks):
        grown = [
            _Partial(part.kept_bytes + option.kept_bytes, part.cost + option.recompute_cost, part, option)
            for part in front
            for option in options
            if part.kept_bytes + option.kept_bytes + least_left[index + 1] <= budget_bytes
        ]
        front = _undominated(grown)
        if not front:
            return None
    best = min(front, key=lambda part: (part.cost, part.kept_bytes))
    chosen: list[Keep] = []
    step: _Partial | None = best
    while step is not None and step.option is not None:
        chosen.append(step.option.keep)
        step = step.before
    return tuple(reversed(chosen))


def _undominated(parts: Sequence[_Partial]) -> list[_Partial]:
    front: list[_Partial] = []
    for part in sorted(parts, key=lambda item: (item.kept_bytes, item.cost)):
        if not front or part.cost < front[-1].cost:
            front.append(part)
    return front


def segments_of(keeps: Sequence[Keep]) -> tuple[Segment, ...]:
    """A choice for each block as a recipe writes it, runs of equals put together."""
    found: list[Segment] = []
    for keep in keeps:
        if found and found[-1].keep == keep:
            found[-1] = Segment(found[-1].blocks + 1, keep)
        else:
            found.append(Segment(1, keep))
    return tuple(found)
