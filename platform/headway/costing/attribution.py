"""PURE. A node's bill split over time among the runs that held parts of it; what nobody held is idle.

The bill is rounded once, then split by time over the stretches in which the same runs held the same parts,
then within each by a rule of `costing.sharing`, both by largest remainder: the parts always add up to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import lcm
from typing import Literal

from headway.costing.sharing import Amounts, Rule, gpu_anchored
from headway.costing.split import split
from headway.errors import DataError

IDLE = ""  # nobody's: run ids are never empty
Sharing = Literal["none", "even", "weighted"]


@dataclass(frozen=True, slots=True)
class Holding:
    """What a run held of a node from `start` to `stop` (UTC microseconds)."""

    run_id: str
    start: int
    stop: int
    amounts: Amounts


@dataclass(frozen=True, slots=True)
class NodeBill:
    """What a node was billed for from `start` to `stop`, and what it has."""

    node: str
    start: int
    stop: int
    amount_nano: int
    price_per_hour: Decimal
    shape: Amounts


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a bill: a run's, or idle (`run_id` empty), over one stretch of time."""

    node: str
    run_id: str
    start: int
    stop: int
    share: Fraction
    amount_nano: int


def split_shares(total: int, shares: Mapping[str, Fraction]) -> dict[str, int]:
    """Split a whole number by fractions that sum to 1, exactly."""
    common = lcm(*(share.denominator for share in shares.values())) if shares else 1
    return split(total, {name: int(share * common) for name, share in shares.items()})


def attribute(bill: NodeBill, holdings: Sequence[Holding], rule: Rule = gpu_anchored) -> list[Share]:
    """The parts of a bill; a run that holds several pods of a node has one part.

    Holdings outside the bill's time are cut to it. Shares above the whole node are scaled to it.

    Raises:
        DataError: the bill's time is empty, or more GPUs were held than there are.
    """
    if bill.stop <= bill.start:
        raise DataError("costing.empty_bill", node=bill.node)
    edges = {bill.start, bill.stop}
    for held in holdings:
        edges |= {edge for edge in (held.start, held.stop) if bill.start < edge < bill.stop}
    times = sorted(edges)
    spans = {index: times[index + 1] - times[index] for index in range(len(times) - 1)}
    parts: list[Share] = []
    for index, amount_nano in split(bill.amount_nano, spans).items():
        start, stop = times[index], times[index + 1]
        here = [held for held in holdings if held.start <= start and stop <= held.stop]
        shares = _shares(bill, here, rule)
        amounts_nano = split_shares(amount_nano, shares)
        parts += [
            Share(bill.node, run_id, start, stop, share, amounts_nano[run_id])
            for run_id, share in shares.items()
            if share
        ]
    return parts


def _shares(bill: NodeBill, holdings: Sequence[Holding], rule: Rule) -> dict[str, Fraction]:
    pods = {f"{number}": held.amounts for number, held in enumerate(holdings)}
    found = rule(bill.shape, Fraction(bill.price_per_hour), pods) if pods else {}
    whole = sum(found.values(), Fraction(0))
    scale = 1 / whole if whole > 1 else Fraction(1)
    shares: dict[str, Fraction] = defaultdict(Fraction)
    for number, held in enumerate(holdings):
        shares[held.run_id] += found[f"{number}"] * scale
    shares[IDLE] = 1 - sum(shares.values(), Fraction(0))
    return dict(shares)


def share_idle(parts: Sequence[Share], how: Sharing) -> dict[str, int]:
    """What each run pays for its own and for idle parts, summed over nodes and time.

    `none` leaves idle apart (under the empty id); `even` gives each run the same, `weighted` in proportion
    to what it pays anyway. Where no run held anything it stays idle.
    """
    own: dict[str, int] = defaultdict(int)
    for part in parts:
        own[part.run_id] += part.amount_nano
    idle = own.pop(IDLE, 0)
    weights = dict(own) if how == "weighted" else dict.fromkeys(own, 1)
    if how == "none" or not any(weights.values()):
        return {**own, IDLE: idle} if idle else dict(own)
    more = split(idle, weights)
    return {run_id: amount + more[run_id] for run_id, amount in own.items()}
