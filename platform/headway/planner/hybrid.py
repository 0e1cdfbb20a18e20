"""PURE. One run on two sites: own machines first, rented ones for what the deadline does not leave them.

The run starts on own machines, saves a checkpoint after a share x of its samples, and goes on elsewhere:

    start_own + x·T_own + move + start_rented + (1 − x)·T_rented ≤ deadline

T are the training times of the whole run. The largest such x is cheapest wherever own machines cost less for
the same work; what moves (data in, checkpoint out, weights back) is priced on both ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from headway.planner.predict import leaving_cost, moving_cost
from headway.planner.types import Limits, Offering, Prediction, Rival, Verdict, Work

# Between sites, assumed: a gigabit a second.
WIDE_AREA_BYTES_PER_SECOND = 125e6
LEAST_SHARE, MOST_SHARE = 0.02, 0.98


@dataclass(frozen=True, slots=True)
class Hybrid:
    """A plan over two sites; `share` of the samples are trained on the first."""

    first: Offering
    second: Offering
    first_plan: Prediction
    second_plan: Prediction
    share: float
    seconds: float
    cost: Decimal
    moving_cost: Decimal | None
    kwh: float
    saved: Decimal


def hybrids(work: Work, rivals: Sequence[Rival], limits: Limits) -> list[Hybrid]:
    """Worthwhile plans over an own and a rented site, cheapest first; none without a deadline.

    Own pools that are in time by themselves need no help; a hybrid is worthwhile where it costs less than
    its rented half alone would for the whole run.
    """
    if limits.deadline_seconds is None:
        return []
    own = [one for one in rivals if one.verdict is Verdict.TOO_SLOW and one.offering.capacity == "owned"]
    feasible = {Verdict.CHOSEN, Verdict.ALTERNATIVE, Verdict.DOMINATED}
    rented = [one for one in rivals if one.verdict in feasible and one.offering.capacity != "owned"]
    found = [
        plan
        for first in own
        for second in rented
        if (plan := _both(work, first, second, limits.deadline_seconds)) is not None
    ]
    return sorted(found, key=lambda plan: (plan.cost, plan.seconds))


def _both(work: Work, first: Rival, second: Rival, deadline: float) -> Hybrid | None:
    slow, quick = first.prediction, second.prediction
    if slow is None or quick is None or slow.cost is None or quick.cost is None:
        return None
    if first.offering.currency != second.offering.currency:
        return None
    starts = first.offering.start_seconds + second.offering.start_seconds
    slow_training = slow.seconds.expected - first.offering.start_seconds
    quick_training = quick.seconds.expected - second.offering.start_seconds
    state_bytes = work.profile.weight_bytes + work.profile.state_bytes
    move = state_bytes / WIDE_AREA_BYTES_PER_SECOND
    room = deadline - starts - move - quick_training
    if slow_training <= quick_training or room <= 0:
        return None
    share = min(MOST_SHARE, room / (slow_training - quick_training))
    if share < LEAST_SHARE:
        return None
    moving = _moving(work, first.offering, second.offering, state_bytes)
    part = Decimal(repr(share))
    moved_before = quick.moving_cost or Decimal(0)
    cost = slow.cost * part + (quick.cost - moved_before) * (1 - part) + (moving or Decimal(0))
    if cost >= quick.cost:
        return None
    return Hybrid(
        first.offering,
        second.offering,
        slow,
        quick,
        share,
        starts + share * slow_training + move + (1 - share) * quick_training,
        cost,
        moving,
        slow.kwh * share + quick.kwh * (1 - share),
        quick.cost - cost,
    )


def _moving(work: Work, first: Offering, second: Offering, state_bytes: int) -> Decimal | None:
    """The checkpoint out of the first site, the data into the second, the weights back; None: not known."""
    if first.egress is None or second.egress is None:
        return None
    return leaving_cost(state_bytes, first.egress) + (moving_cost(work, second) or Decimal(0))
