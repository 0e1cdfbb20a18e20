"""PURE. What would make an alternative win: a price of time, of carbon, or money alone.

Each sentence is checked against every plan in the race, not against the chosen one only: at the figure that
it names, the alternative really is the best of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal

from headway.planner.types import Prediction, Rival

Measure = Callable[[Prediction], Decimal]
GRAMS_PER_KG = 1000


def turning_point(rival: Rival, chosen: Rival, race: Sequence[Rival]) -> tuple[str, dict[str, object]]:
    """The message and its values for an alternative to the chosen plan, in the chosen one's currency.

    Args:
        rival: the alternative.
        chosen: what won.
        race: all plans that meet the limits, the two among them; those in another currency are left out.
    """
    mine, best = rival.prediction, chosen.prediction
    assert mine is not None
    assert best is not None
    currency = rival.offering.currency
    others = [
        found
        for other in race
        if other is not rival
        and other.offering.currency == currency
        and (found := other.prediction) is not None
    ]
    if _hours(mine) < _hours(best) and _cost(mine) >= _cost(best):
        return _priced("time", "plan.faster", _worth(mine, others, _hours), currency)
    if _cost(mine) < _cost(best):
        cheapest = all(_cost(mine) <= _cost(other) for other in others)
        saved: dict[str, object] = {"saved": _cost(best) - _cost(mine), "currency": currency}
        return ("plan.wins_if_cost" if cheapest else "plan.cheaper"), saved
    if mine.grams_co2e is not None and best.grams_co2e is not None and mine.grams_co2e < best.grams_co2e:
        known = [other for other in others if other.grams_co2e is not None]
        return _priced("carbon", "plan.less_carbon", _worth(mine, known, _kilograms), currency)
    return "plan.alternative", {}


def _priced(
    what: str, otherwise: str, prices: tuple[Decimal, Decimal | None], currency: str
) -> tuple[str, dict[str, object]]:
    """The price from which (and up to which) it wins; `otherwise` where no price makes it the best."""
    worth, most = prices
    values: dict[str, object] = {"worth": worth, "currency": currency}
    if most is None:
        return f"plan.wins_if_{what}", values
    if worth <= most:
        return f"plan.wins_if_{what}_between", {**values, "most": most}
    return otherwise, {}


def _worth(
    mine: Prediction, others: Sequence[Prediction], measure: Measure
) -> tuple[Decimal, Decimal | None]:
    """From which price of a unit, and to which (None: any higher), cost plus price × measure is least."""

    def prices(*, more: bool) -> Iterator[Decimal]:
        for other in others:
            saved = measure(other) - measure(mine)
            if saved > 0 if more else saved < 0:
                yield (_cost(mine) - _cost(other)) / saved

    return max(prices(more=True), default=Decimal(0)), min(prices(more=False), default=None)


def _cost(found: Prediction) -> Decimal:
    return found.cost or Decimal(0)


def _hours(found: Prediction) -> Decimal:
    return Decimal(repr(found.seconds.expected)) / 3600


def _kilograms(found: Prediction) -> Decimal:
    return Decimal(repr(found.grams_co2e or 0.0)) / GRAMS_PER_KG
