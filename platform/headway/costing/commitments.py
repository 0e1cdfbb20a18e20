"""PURE. What is paid whether or not it is used: reservations, savings plans, capacity blocks.

A price book states each commitment: nodes of one kind for a time, and what they cost in all. A run pays for
the node-time that it used; what nobody used is a line of its own, of the organisation, not of a run. (How
AWS applies commitments hour by hour over accounts is settled against the bill, not here.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from headway.costing.owned import HOURS_PER_YEAR
from headway.costing.split import split
from headway.errors import DataError
from headway.units import MICROSECONDS_PER_HOUR, round_nano

UNUSED = ""  # nobody's: run ids are never empty


@dataclass(frozen=True, slots=True)
class Commitment:
    """So many nodes from `start` to `stop` (UTC microseconds) for `fee` in all."""

    name: str
    nodes: int
    start: int
    stop: int
    fee: Decimal
    currency: str

    @property
    def rate_per_node_hour(self) -> Decimal:
        """What an hour of one node costs if all of it is used."""
        return self.fee / (Decimal(self.nodes * (self.stop - self.start)) / MICROSECONDS_PER_HOUR)


@dataclass(frozen=True, slots=True)
class Covered:
    """Nodes of a run that ran on a commitment from `start` to `stop`."""

    run_id: str
    start: int
    stop: int
    nodes: int = 1


def effective_rate(hourly: Decimal, upfront: Decimal, years: Decimal) -> Decimal:
    """The hourly rate of a reserved instance: its hourly part and its upfront part by the hours of its term.

    >>> effective_rate(Decimal("1.00"), Decimal(8760), Decimal(1))
    Decimal('2.00')
    """
    if years <= 0:
        raise DataError("costing.bad_term", years=years)
    return hourly + upfront / (HOURS_PER_YEAR * years)


def split_commitment(commitment: Commitment, covered: Sequence[Covered]) -> dict[str, int]:
    """Nano-units of the fee by run, and `UNUSED`; they sum to the fee exactly.

    Raises:
        DataError: at some moment more nodes are said to be covered than are committed, or some lie outside.
    """
    _check(commitment, covered)
    weights: dict[str, int] = {}
    for use in covered:
        weights[use.run_id] = weights.get(use.run_id, 0) + use.nodes * (use.stop - use.start)
    whole = commitment.nodes * (commitment.stop - commitment.start)
    weights[UNUSED] = whole - sum(weights.values())
    return split(round_nano(commitment.fee), weights)


def _check(commitment: Commitment, covered: Sequence[Covered]) -> None:
    changes: dict[int, int] = {}
    for use in covered:
        if not commitment.start <= use.start <= use.stop <= commitment.stop:
            raise DataError("costing.outside_commitment", name=commitment.name, run=use.run_id)
        changes[use.start] = changes.get(use.start, 0) + use.nodes
        changes[use.stop] = changes.get(use.stop, 0) - use.nodes
    running = 0
    for at in sorted(changes):
        running += changes[at]
        if running > commitment.nodes:
            raise DataError(
                "costing.over_commitment", name=commitment.name, nodes=running, has=commitment.nodes
            )
