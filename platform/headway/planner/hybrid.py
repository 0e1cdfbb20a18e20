"""PURE. One run on two sites: own machines first, rented ones for what the deadline does not leave them.

The run starts on own machines, saves a checkpoint after a share x of its samples, and goes on elsewhere:

    waits + start_own + x·T_own + start_rented + (1 − x)·T_rented ≤ deadline

T are the training times of the whole run. The largest such x is cheapest wherever own machines cost less for
the same work. What moves: the data to either site where they are not (to the second while the first trains),
the checkpoint from the first to the second, the weights back to the data. The second site's queue is waited
for while the first trains, if it is no longer than that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from headway.planner.moving import Leg, Moved, legs, moved, other_currency, unpriced
from headway.planner.types import Limits, Offering, Prediction, Rival, Verdict, Work

LEAST_SHARE, MOST_SHARE = 0.02, 0.98
_ALONE = frozenset({Verdict.CHOSEN, Verdict.ALTERNATIVE, Verdict.DOMINATED})


@dataclass(frozen=True, slots=True)
class Hybrid:
    """A plan over two sites; `share` of the samples are trained on the first.

    `alone` is the cheapest offering that meets the limits by itself, which it saves `saved` of; None where
    there is none. Leaving the sites in `unknown_egress` is not in `cost`, its price not being known.
    """

    first: Offering
    second: Offering
    first_plan: Prediction
    second_plan: Prediction
    share: float
    seconds: float
    cost: Decimal
    moving_cost: Decimal
    unknown_egress: tuple[str, ...]
    kwh: float
    alone: str | None
    saved: Decimal | None


def hybrids(work: Work, rivals: Sequence[Rival], limits: Limits) -> list[Hybrid]:
    """Worthwhile plans over an own and a rented site, cheapest first; none without a deadline.

    Own pools that are in time by themselves need no help. A hybrid is worthwhile where it is within the
    budget and costs less than every offering that meets the limits alone.
    """
    if limits.deadline_seconds is None:
        return []
    own = [one for one in rivals if one.verdict is Verdict.TOO_SLOW and one.offering.capacity == "owned"]
    timely = {*_ALONE, Verdict.OVER_BUDGET}
    rented = [one for one in rivals if one.verdict in timely and one.offering.capacity != "owned"]
    found: list[Hybrid] = []
    for first in own:
        best = _cheapest(rivals, first.offering.currency)
        for second in rented:
            plan = _both(work, first, second, limits.deadline_seconds, best)
            if plan is not None and _within(plan, limits):
                found.append(plan)
    return sorted(found, key=lambda plan: (plan.cost, plan.seconds, plan.first.key, plan.second.key))


def _cheapest(rivals: Sequence[Rival], currency: str) -> tuple[str, Decimal] | None:
    costs = [
        (one.prediction.cost, one.offering.key)
        for one in rivals
        if one.verdict in _ALONE and one.offering.currency == currency
        if one.prediction is not None and one.prediction.cost is not None
    ]
    cost, key = min(costs, default=(None, ""))
    return None if cost is None else (key, cost)


def _within(plan: Hybrid, limits: Limits) -> bool:
    if plan.saved is not None and plan.saved <= 0:
        return False
    if limits.budget is None:
        return True
    return limits.budget_currency == plan.first.currency and plan.cost <= limits.budget


def _both(
    work: Work, first: Rival, second: Rival, deadline: float, best: tuple[str, Decimal] | None
) -> Hybrid | None:
    slow, quick = first.prediction, second.prediction
    if slow is None or quick is None or slow.cost is None or quick.cost is None:
        return None
    if first.offering.currency != second.offering.currency or _cannot_move(work, first, second):
        return None
    ways, before, after = _ways(work, first.offering, second.offering)
    waits = max(sum(leg.seconds for leg in before), first.offering.queue_seconds)
    waits += sum(leg.seconds for leg in after)
    starts = first.offering.start_seconds + second.offering.start_seconds
    slow_training = _busy(slow) - first.offering.start_seconds
    quick_training = _busy(quick) - second.offering.start_seconds
    room = deadline - starts - waits - quick_training
    if slow_training <= quick_training or room <= 0:
        return None
    share = min(MOST_SHARE, room / (slow_training - quick_training))
    if share < LEAST_SHARE:
        return None
    mine = (first.offering.start_seconds + share * slow_training) / _busy(slow)
    rest = (second.offering.start_seconds + (1 - share) * quick_training) / _busy(quick)
    moving = moved(ways)
    cost = _running(slow) * Decimal(repr(mine)) + _running(quick) * Decimal(repr(rest)) + moving.cost
    return Hybrid(
        first=first.offering,
        second=second.offering,
        first_plan=slow,
        second_plan=quick,
        share=share,
        seconds=starts + waits + share * slow_training + (1 - share) * quick_training,
        cost=cost,
        moving_cost=moving.cost,
        unknown_egress=_each_once(moving),
        kwh=slow.kwh * mine + quick.kwh * rest,
        alone=None if best is None else best[0],
        saved=None if best is None else best[1] - cost,
    )


def _cannot_move(work: Work, first: Rival, second: Rival) -> bool:
    """Whether a price is missing or in another currency; that of a checkpoint is its site's own."""
    return any(
        unpriced(work, one.offering) is not None or other_currency(work, one.offering) is not None
        for one in (first, second)
    )


def _ways(
    work: Work, first: Offering, second: Offering
) -> tuple[tuple[Leg, ...], tuple[Leg, ...], tuple[Leg, ...]]:
    """All legs; those before the run starts; and those that it waits for later."""
    data_in = legs(work, first)[:1]
    data_on, back = legs(work, second)[:1], legs(work, second)[1:]
    state_bytes = work.profile.weight_bytes + work.profile.state_bytes - work.profile.gradient_bytes
    checkpoint = Leg(first.site, state_bytes, first.egress)
    return (*data_in, *data_on, checkpoint, *back), data_in, (checkpoint, *back)


def _busy(found: Prediction) -> float:
    return found.seconds.expected - found.waiting_seconds


def _running(found: Prediction) -> Decimal:
    return (found.cost or Decimal(0)) - (found.moving_cost or Decimal(0))


def _each_once(moving: Moved) -> tuple[str, ...]:
    return tuple(dict.fromkeys(moving.unknown))
