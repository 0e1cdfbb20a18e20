"""What would make an alternative win: each sentence holds at the figure that it names."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given, settings
from test_planner_search import BASE, LIMITS, WORK, offerings

from headway.planner.search import plan
from headway.planner.types import Verdict

GOALS = ("cheapest", "fastest", "greenest", "balanced")
SLACK = 1 + 1e-9


def cost(rival):
    return float(rival.prediction.cost)


def hours(rival):
    return rival.prediction.seconds.expected / 3600


def kilograms(rival):
    return rival.prediction.grams_co2e / 1000


def check(rival, chosen, race):
    """The sentence about one alternative, weighed against every plan that meets the limits."""
    said = {key: float(value) for key, value in rival.values.items() if key != "currency"}
    if rival.message in {"plan.wins_if_time", "plan.wins_if_time_between"}:
        assert hours(rival) < hours(chosen)
        assert cost(rival) >= cost(chosen)
        for worth in said.values():
            best = min(cost(one) + worth * hours(one) for one in race)
            assert cost(rival) + worth * hours(rival) <= best * SLACK
    elif rival.message in {"plan.wins_if_carbon", "plan.wins_if_carbon_between"}:
        assert kilograms(rival) < kilograms(chosen)
        assert cost(rival) >= cost(chosen)
        known = [one for one in race if one.prediction.grams_co2e is not None]
        for worth in said.values():
            best = min(cost(one) + worth * kilograms(one) for one in known)
            assert cost(rival) + worth * kilograms(rival) <= best * SLACK
    elif rival.message == "plan.wins_if_cost":
        assert cost(rival) == min(cost(one) for one in race)
        assert said["saved"] == pytest.approx(cost(chosen) - cost(rival))
    elif rival.message == "plan.cheaper":
        assert min(cost(one) for one in race) < cost(rival) < cost(chosen)
    elif rival.message == "plan.faster":
        assert hours(rival) < hours(chosen)
    elif rival.message == "plan.less_carbon":
        assert kilograms(rival) < kilograms(chosen)
    else:
        assert rival.message == "plan.alternative"
        assert hours(rival) >= hours(chosen) or cost(rival) < cost(chosen)


@pytest.mark.parametrize("goal", GOALS)
@given(found=offerings)
@settings(max_examples=80, deadline=None)
def test_what_an_alternative_is_said_to_win_by_is_true(goal, found):
    result = plan(WORK, found, LIMITS, goal)
    meets = {Verdict.CHOSEN, Verdict.ALTERNATIVE, Verdict.DOMINATED}
    race = [rival for rival in result.rivals if rival.verdict in meets]
    for rival in result.rivals:
        if rival.verdict is Verdict.ALTERNATIVE:
            check(rival, result.chosen, race)


def reason(goal, change):
    other = replace(BASE, key="site/other", **change)
    result = plan(WORK, [BASE, other], LIMITS, goal)
    return next((one.message for one in result.rivals if one.verdict is Verdict.ALTERNATIVE), None)


FAST = {"peak_flops": {"bf16": 900e12}, "price_per_hour": Decimal(200), "grams_per_kwh": 9000.0}
GREEN = {"price_per_hour": Decimal(30), "grams_per_kwh": 10.0}


@pytest.mark.parametrize(
    ("goal", "change", "message"),
    [
        ("cheapest", FAST, "plan.wins_if_time"),
        ("fastest", FAST, "plan.wins_if_cost"),
        ("greenest", FAST, "plan.wins_if_time"),
        ("cheapest", GREEN, "plan.wins_if_carbon"),
        ("fastest", GREEN, "plan.wins_if_carbon"),
        ("greenest", GREEN, "plan.wins_if_cost"),
        ("balanced", GREEN, "plan.wins_if_carbon"),
    ],
)
def test_each_goal_has_its_own_reason(goal, change, message):
    assert reason(goal, change) == message


def test_carbon_that_is_not_known_wins_nothing():
    dearer = {"price_per_hour": Decimal(30), "grams_per_kwh": None, "peak_flops": {"bf16": 100e12}}
    assert reason("cheapest", dearer) is None, "slower and dearer is dominated where no carbon counts"
    blind = replace(BASE, grams_per_kwh=None)
    other = replace(BASE, key="site/other", price_per_hour=Decimal(30), grams_per_kwh=1.0)
    messages = {rival.message for rival in plan(WORK, [blind, other], LIMITS).rivals}
    assert not any("carbon" in message for message in messages)
