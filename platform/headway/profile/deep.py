"""Steps of models that are too deep to trace as a whole: traced with few layers, then extrapolated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from headway.profile.extrapolate import deeper, difference_percent
from headway.profile.peak import profile_peak
from headway.profile.step_types import StepPeak
from headway.profile.trace import MakeBatch

LAYERS = (4, 6)
# The allocator's segments need some more blocks until each block adds the same.
LAYERS_RESERVED = (4, 8)
TOLERANCE_PERCENT = 1.0


def profile_deep_peak(
    build: Callable[[int], nn.Module],
    batch: MakeBatch,
    *,
    layers: int,
    check: bool = True,
    reserved: bool = True,
    **how: Any,  # noqa: ANN401 - of several types
) -> StepPeak:
    """The peak of a model of `layers` blocks; `build` makes it with a number of them.

    With `check` a third trace, between the two, must lie on the line within 1 %: where it does not, the
    blocks are not alike, and the whole model is traced.

    Args:
        build: makes the model with a number of blocks.
        batch: as of `profile_peak`.
        layers: that the model has.
        check: whether the line is checked.
        reserved: whether what the allocator reserves is of interest (it needs deeper traces).
        how: all that `profile_peak` takes besides.
    """
    few, more = LAYERS_RESERVED if reserved and how.get("rules") == "cuda" else LAYERS

    def at(count: int) -> StepPeak:
        return profile_peak(lambda: build(count), batch, **how)

    if layers <= more:
        return at(layers)
    first, second = at(few), at(more)
    if check:
        third = (few + more) // 2
        line = deeper(first, second, (few, more), third)
        if difference_percent(at(third), line) > TOLERANCE_PERCENT:
            return at(layers)
    return deeper(first, second, (few, more), layers)
