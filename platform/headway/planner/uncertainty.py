"""PURE. What figures that are not known exactly do to a result, and which of them matters most."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

SAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure that is not known exactly: at least, most likely, at most."""

    low: float
    typical: float
    high: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """Tenth, half and nine tenths of the cases lie below these; None: no such case (it never pays)."""

    p10: float | None
    p50: float | None
    p90: float | None


@dataclass(frozen=True, slots=True)
class Swing:
    """What one uncertain figure alone moves the result by, the others at their typical values."""

    name: str
    at_low: float | None
    at_high: float | None


Figure = Callable[[Mapping[str, float]], float | None]


def outcome(spreads: Mapping[str, Spread], figure: Figure, *, seed: int = 0) -> Outcome:
    """Quantiles of a figure over triangular spreads, stratified; the same seed gives the same answer.

    Cases in which the figure does not exist count as larger than all others.
    """
    generator = random.Random(seed)  # noqa: S311 - statistics, not secrets
    columns: dict[str, list[float]] = {}
    for name, spread in spreads.items():
        column = [_triangular((place + generator.random()) / SAMPLES, spread) for place in range(SAMPLES)]
        generator.shuffle(column)
        columns[name] = column
    found = [figure({name: column[row] for name, column in columns.items()}) for row in range(SAMPLES)]
    known = sorted(value for value in found if value is not None)

    def at(share: float) -> float | None:
        place = int(share * SAMPLES)
        return known[place] if place < len(known) else None

    return Outcome(at(0.1), at(0.5), at(0.9))


def tornado(spreads: Mapping[str, Spread], figure: Figure) -> list[Swing]:
    """Which figure matters most, first; where an end has no result, it comes before all that have."""
    typical = {name: spread.typical for name, spread in spreads.items()}
    swings = [
        Swing(name, figure({**typical, name: spread.low}), figure({**typical, name: spread.high}))
        for name, spread in spreads.items()
    ]

    def width(swing: Swing) -> float:
        if swing.at_low is None or swing.at_high is None:
            return 0.0 if swing.at_low is swing.at_high else float("inf")
        return abs(swing.at_high - swing.at_low)

    return sorted(swings, key=lambda swing: (-width(swing), swing.name))


def _triangular(share: float, spread: Spread) -> float:
    low, top, high = spread.low, spread.typical, spread.high
    if high <= low:
        return low
    turn = (top - low) / (high - low)
    if share < turn:
        return low + ((high - low) * (top - low) * share) ** 0.5
    return high - ((high - low) * (high - top) * (1 - share)) ** 0.5
