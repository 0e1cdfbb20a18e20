"""PURE. What a run used: usage rows as meters record them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Metric(StrEnum):
    """What is metered, each with one integer unit."""

    CORE_HELD = "core_held"
    CORE_USED = "core_used"
    ENERGY = "energy"
    NODE_HELD = "node_held"

    @property
    def unit(self) -> str:
        """The integer unit in which the metric is stored."""
        return _UNITS[self]


_UNITS = {
    Metric.CORE_HELD: "core_microsecond",
    Metric.CORE_USED: "core_microsecond",
    Metric.ENERGY: "microjoule",
    Metric.NODE_HELD: "node_microsecond",
}


@dataclass(frozen=True, slots=True)
class Usage:
    """A metered quantity over an interval (UTC microseconds), with how it is known.

    `method` names the meter (`allocation`, `rapl`, `model`, `procfs`); `quality` says `measured`, `sampled`
    or `modelled`.
    """

    allocation_id: str
    start: int
    stop: int
    metric: Metric
    quantity_int: int
    method: str
    quality: str


@dataclass(frozen=True, slots=True)
class PhaseSpan:
    """A part of an attempt: queue, provision, boot, restore, train, eval, checkpoint or idle."""

    kind: str
    start: int
    stop: int
