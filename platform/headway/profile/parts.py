"""PURE. In how many parts a worker's share of a batch goes through the model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

INTERPOLATED = 6


@dataclass(frozen=True, slots=True)
class Parts:
    """The micro-batch (0: not even one sample fits), its predicted peak, and what does not grow with it."""

    micro_batch: int
    predicted_bytes: int
    fixed_bytes: int
    one_sample_bytes: int


def balanced(peak: Callable[[int], int], share: int, capacity_bytes: int) -> Parts:
    """The fewest parts that fit, all as equal as can be.

    Fewer parts are never predicted slower; of the micro-batches with that number of parts the smallest is
    taken: a larger one needs more memory and gains nothing.

    Args:
        peak: predicted bytes of a micro-batch; must not fall as it grows.
        share: samples of a worker in a step.
        capacity_bytes: what there is.
    """
    one = peak(1)
    if share == 1 or one > capacity_bytes:
        return Parts(1 if one <= capacity_bytes else 0, one, one, one)
    seen = {1: one, share: peak(share)}
    if seen[share] <= capacity_bytes:
        return _found(share, seen)
    low, high = 1, share  # the first fits, the other does not
    for turn in range(share):
        if high - low <= 1:
            break
        # Peaks are nearly a line: its answer first; halving makes sure where they are not.
        slope = (seen[high] - seen[low]) / (high - low)
        along = low + int((capacity_bytes - seen[low]) / slope) if turn < INTERPOLATED else (low + high) // 2
        middle = min(high - 1, max(low + 1, along))
        seen[middle] = peak(middle)
        low, high = (middle, high) if seen[middle] <= capacity_bytes else (low, middle)
    parts = -(-share // low)
    equal = -(-share // parts)
    if equal not in seen:
        seen[equal] = peak(equal)
    return _found(equal, seen)


def _found(micro: int, seen: dict[int, int]) -> Parts:
    other = next(size for size in sorted(seen, reverse=True) if size != micro) if len(seen) > 1 else micro
    slope = (seen[micro] - seen[other]) / (micro - other) if micro != other else 0.0
    fixed = max(0, round(seen[micro] - slope * micro))
    return Parts(micro, seen[micro], fixed, seen[1])
