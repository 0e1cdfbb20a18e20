"""PURE. From a model of few layers to one of many: every figure is a line over the number of blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headway.profile.step_types import StepPeak, Work


def along(first: float, second: float, layers: tuple[int, int], wanted: int) -> int:
    """The value at `wanted` layers of the line through two points."""
    few, more = layers
    return round(first + (second - first) * (wanted - few) / (more - few))


def deeper(few: StepPeak, more: StepPeak, layers: tuple[int, int], wanted: int) -> StepPeak:
    """The step of a model with `wanted` blocks, from traces of two that differ in blocks only.

    Args:
        few: of `layers[0]` blocks.
        more: of `layers[1]` blocks.
        layers: the two numbers.
        wanted: the number asked for.
    """

    def line(first: float, second: float) -> int:
        return along(first, second, layers, wanted)

    def work(first: Work, second: Work) -> Work:
        return Work(
            line(first.forward_flops, second.forward_flops),
            line(first.backward_flops, second.backward_flops),
            line(first.recompute_flops, second.recompute_flops),
            line(first.moved_bytes, second.moved_bytes),
        )

    places = {
        name: _parts(few.places.get(name, {}), parts, layers, wanted) for name, parts in more.places.items()
    }
    reserved = None
    if few.reserved_bytes is not None and more.reserved_bytes is not None:
        reserved = line(few.reserved_bytes, more.reserved_bytes)
    half = len(more.block_bytes) // 2
    blocks = more.block_bytes
    if blocks:
        blocks = (*blocks[:half], *[blocks[half]] * (wanted - len(blocks)), *blocks[half:])
    return replace(
        more,
        places=places,
        block_bytes=blocks,
        reserved_bytes=reserved,
        work=work(few.work, more.work),
        basis=f"traced at {layers[0]} and {layers[1]} layers, extrapolated to {wanted}",
    )


def _parts(
    few: Mapping[str, int], more: Mapping[str, int], layers: tuple[int, int], wanted: int
) -> dict[str, int]:
    return {name: max(0, along(few.get(name, 0), value, layers, wanted)) for name, value in more.items()}


def difference_percent(truth: StepPeak, line: StepPeak) -> float:
    """How far a prediction is off at any of its places, in percent of the true peak."""
    worst = max(
        abs(sum(parts.values()) - sum(line.places.get(name, {}).values()))
        for name, parts in truth.places.items()
    )
    return 100.0 * worst / truth.peak_bytes
