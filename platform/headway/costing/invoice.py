"""PURE. What a month's machines cost, down to runs: nodes, commitments and overhead, to the last nano-unit.

    runs + idle + unused commitment + overhead = invoice

A node under a commitment is billed by the commitment, not by the hour: its parts are the commitment's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from itertools import pairwise

from headway.costing.attribution import IDLE, Holding, NodeBill, attribute
from headway.costing.commitments import UNUSED, Commitment, Covered, split_commitment
from headway.costing.prices import Price, change_points, price_in_force
from headway.costing.sharing import Amounts, Rule, gpu_anchored
from headway.units import MICROSECONDS_PER_HOUR, round_nano

LEAST_BILLED_MICROSECONDS = 60_000_000  # an instance is billed by the second, a minute at least


@dataclass(frozen=True, slots=True)
class NodeLife:
    """A rented node from launch to end (UTC microseconds), priced under `offering_key`.

    For spot the key names the availability zone by its id: prices differ up to four times between zones.
    """

    node: str
    offering_key: str
    start: int
    stop: int
    shape: Amounts


@dataclass(frozen=True, slots=True)
class Settled:
    """A part of an invoice: of a run (`direct`), or `idle`, `unused` commitment, or `overhead`."""

    scope: str
    run_id: str
    what: str
    amount_nano: int


def price_integral(prices: Sequence[Price], offering_key: str, unit: str, start: int, stop: int) -> Decimal:
    """The price of one unit held from `start` to `stop`: the price in force, summed over its changes.

    Raises:
        DataError: at some time no price is known.
    """
    edges = [start, *change_points(prices, offering_key, start, stop), stop]
    with localcontext() as context:
        context.prec = 60
        total = Decimal(0)
        for begin, end in pairwise(edges):
            price = price_in_force(prices, offering_key, unit, begin)
            total += price.amount * (end - begin) / MICROSECONDS_PER_HOUR
    return total


def node_bill(life: NodeLife, prices: Sequence[Price], unit: str = "instance-hour") -> NodeBill:
    """What a node is billed: its price over its life, by the second, a minute at least."""
    whole_seconds = -(-(life.stop - life.start) // 1_000_000) * 1_000_000
    stop = life.start + max(LEAST_BILLED_MICROSECONDS, whole_seconds)
    amount = price_integral(prices, life.offering_key, unit, life.start, stop)
    with localcontext() as context:
        context.prec = 60
        mean = amount / (Decimal(stop - life.start) / MICROSECONDS_PER_HOUR)
    return NodeBill(life.node, life.start, stop, round_nano(amount), mean, life.shape)


def settle(
    bills: Iterable[NodeBill],
    holdings: Mapping[str, Sequence[Holding]],
    commitments: Iterable[tuple[Commitment, Sequence[Covered]]] = (),
    overhead: Mapping[str, int] | None = None,
    rule: Rule = gpu_anchored,
) -> list[Settled]:
    """All parts of an invoice.

    Args:
        bills: of nodes by the hour.
        holdings: who held what of each of those nodes, by its name.
        commitments: with what ran on each.
        overhead: nano-units by what they are for (control plane, NAT, head nodes), in one currency.
        rule: how nodes are shared.
    """
    parts: dict[tuple[str, str, str], int] = defaultdict(int)
    for bill in bills:
        for share in attribute(bill, holdings.get(bill.node, ()), rule):
            scope = "idle" if share.run_id == IDLE else "direct"
            parts[scope, share.run_id, bill.node] += share.amount_nano
    for commitment, covered in commitments:
        for run_id, amount in split_commitment(commitment, covered).items():
            scope = "unused" if run_id == UNUSED else "direct"
            parts[scope, run_id, commitment.name] += amount
    for what, amount in (overhead or {}).items():
        parts["overhead", "", what] += amount
    return [Settled(*key, amount) for key, amount in parts.items()]
