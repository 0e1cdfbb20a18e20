"""Data between sites: priced both ways in one currency, timed, never silently nothing; two-site runs."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_planner_advise import H100
from test_planner_search import BASE, LIMITS, WORK

from headway.costing.tiers import Tier
from headway.planner.hybrid import hybrids
from headway.planner.predict import predict
from headway.planner.search import plan
from headway.planner.types import Egress, Recipe, Verdict

D = Decimal
DDP = Recipe("ddp", False, 32)
GB = 10**9


def egress(price: str, currency: str = "USD") -> Egress:
    return Egress((Tier(D(0), None, D(price)),), currency)


RENTED = replace(H100, site="cloud", max_nodes=1, egress=egress("0.09"))
AWAY = replace(WORK, data_site="dc", data_bytes=1000 * GB, data_egress=egress("0.02"))


def verdict(work, offering, limits=LIMITS):
    (rival,) = plan(work, [offering], limits).rivals
    return rival.verdict, rival.message


def test_data_and_weights_are_priced_both_ways_and_take_their_time() -> None:
    plain, away = (predict(work, DDP, RENTED, 1) for work in (WORK, AWAY))
    weights = WORK.profile.weight_bytes
    assert away.moving_cost == D(1000) * D("0.02") + D(weights) / GB * D("0.09")
    assert away.cost == plain.cost + away.moving_cost
    assert away.moving_seconds == pytest.approx((1000 * GB + weights) / 125e6)
    assert away.seconds.expected == pytest.approx(plain.seconds.expected + away.moving_seconds)
    assert away.kwh == plain.kwh, "nothing is rented while data move"
    at_home = predict(replace(AWAY, data_site="cloud"), DDP, RENTED, 1)
    assert (at_home.moving_cost, at_home.moving_seconds, at_home.cost) == (None, 0.0, plain.cost)


@pytest.mark.parametrize(
    ("work", "offering", "said"),
    [
        ({"data_bytes": None}, {}, (Verdict.UNPRICED, "plan.data_size_unknown")),
        ({"data_egress": None}, {}, (Verdict.UNPRICED, "plan.data_egress_unknown")),
        ({"data_egress": egress("0.02", "EUR")}, {}, (Verdict.UNSUITED, "plan.moving_currency")),
        ({}, {"currency": "EUR", "egress": egress("0.1", "EUR")}, (Verdict.UNSUITED, "plan.moving_currency")),
        ({"data_bytes": 0, "data_egress": None}, {}, (Verdict.CHOSEN, "plan.chosen_cheapest")),
        ({"data_egress": egress("0")}, {}, (Verdict.CHOSEN, "plan.chosen_cheapest")),
        ({"data_site": "cloud", "data_egress": None}, {}, (Verdict.CHOSEN, "plan.chosen_cheapest")),
    ],
)
def test_what_moving_costs_is_known_in_one_currency_or_there_is_no_price(work, offering, said) -> None:
    assert verdict(replace(AWAY, **work), replace(RENTED, **offering)) == said


def test_a_queue_takes_time_and_no_money_and_data_move_meanwhile() -> None:
    plain = predict(WORK, DDP, RENTED, 1)
    queued = replace(RENTED, queue_seconds=7200.0)
    found = predict(WORK, DDP, queued, 1)
    assert found.seconds.expected == pytest.approx(plain.seconds.expected + 7200)
    assert (found.cost, found.kwh) == (plain.cost, plain.kwh)
    away = predict(AWAY, DDP, queued, 1)
    back = WORK.profile.weight_bytes / 125e6
    assert away.waiting_seconds == pytest.approx(8000 + back), "1,000 GB take longer than the queue"
    longer = predict(AWAY, DDP, replace(RENTED, queue_seconds=9000.0), 1)
    assert longer.waiting_seconds == pytest.approx(9000 + back)
    limits = replace(LIMITS, deadline_seconds=plain.seconds.expected + 60)
    assert verdict(WORK, RENTED, limits)[0] is Verdict.CHOSEN
    assert verdict(WORK, queued, limits)[0] is Verdict.TOO_SLOW


def test_an_unknown_way_back_is_named() -> None:
    found = predict(AWAY, DDP, replace(RENTED, egress=None), 1)
    assert found.unknown_egress == "cloud"
    assert found.moving_cost == 20


def test_machines_at_the_data_are_near_it_whatever_their_site_states() -> None:
    limits = replace(LIMITS, latency_seconds=0.001, data_site="cloud")
    at = replace(RENTED, latency_seconds=None)
    assert verdict(WORK, at, limits)[0] is Verdict.CHOSEN
    assert verdict(WORK, at, replace(limits, data_site="dc"))[0] is Verdict.FORBIDDEN


def test_a_site_without_a_region_is_told_so() -> None:
    limits = replace(LIMITS, regions=("eu-*",))
    assert verdict(WORK, replace(BASE, region=None), limits) == (Verdict.FORBIDDEN, "plan.region_unknown")
    assert verdict(WORK, BASE, limits) == (Verdict.FORBIDDEN, "plan.region_not_allowed")
    assert verdict(WORK, replace(BASE, region="eu-west-3"), limits)[0] is Verdict.CHOSEN


OWN = replace(
    BASE, key="dc/own", site="dc", capacity="owned", price_per_hour=D("4"), max_nodes=1,
    peak_flops={"bf16": 100e12}, egress=egress("0.01"),
)  # fmt: skip


def tight(work, *offerings):
    """Limits between what the quickest and the own machine take, and the rivals under them."""
    alone = {rival.offering.key: rival for rival in plan(work, offerings, LIMITS).rivals}
    quick, slow = (alone[key].prediction.seconds.expected for key in ("s/h100", "dc/own"))
    return replace(LIMITS, deadline_seconds=(quick + slow) / 2)


def both(work, limits, *offerings):
    return hybrids(work, plan(work, offerings, limits).rivals, limits)


def test_own_machines_first_and_rented_ones_for_the_rest_of_the_deadline() -> None:
    limits = tight(WORK, OWN, RENTED)
    rivals = plan(WORK, [OWN, RENTED], limits).rivals
    assert {rival.verdict for rival in rivals} == {Verdict.CHOSEN, Verdict.TOO_SLOW}
    (found,) = hybrids(WORK, rivals, limits)
    assert 0.3 < found.share < 0.6
    assert found.seconds == pytest.approx(limits.deadline_seconds)
    chosen = next(rival for rival in rivals if rival.verdict is Verdict.CHOSEN)
    assert found.cost < chosen.prediction.cost
    assert (found.alone, found.saved) == ("s/h100", chosen.prediction.cost - found.cost)
    assert found.moving_cost > 0
    assert hybrids(WORK, rivals, LIMITS) == []
    assert both(WORK, limits, replace(OWN, price_per_hour=D(400)), RENTED) == []


def test_the_first_sites_queue_is_waited_for_and_the_seconds_is_not() -> None:
    limits = tight(WORK, OWN, RENTED)
    (plain,) = both(WORK, limits, OWN, RENTED)
    (later,) = both(WORK, limits, replace(OWN, queue_seconds=60.0), RENTED)
    assert later.share < plain.share
    assert later.seconds == pytest.approx(limits.deadline_seconds)


def test_two_sites_are_measured_against_the_cheapest_alone_not_their_rented_half() -> None:
    limits = tight(WORK, OWN, RENTED)
    cheap = replace(RENTED, key="s/cheap", price_per_hour=D("5"))
    assert plan(WORK, [OWN, RENTED, cheap], limits).chosen.offering.key == "s/cheap"
    for found in both(WORK, limits, OWN, RENTED, cheap):
        assert found.second.key == "s/cheap"
        assert found.alone == "s/cheap"


def test_two_sites_keep_to_the_budget_and_may_be_all_that_does() -> None:
    limits = tight(WORK, OWN, RENTED)
    (free,) = both(WORK, limits, OWN, RENTED)
    alone = free.cost + free.saved
    between = replace(limits, budget=(free.cost + alone) / 2, budget_currency="USD")
    (only,) = both(WORK, between, OWN, RENTED)
    assert (only.alone, only.saved, only.cost) == (None, None, free.cost)
    assert both(WORK, replace(between, budget=free.cost - 1), OWN, RENTED) == []
    assert both(WORK, replace(between, budget_currency="EUR"), OWN, RENTED) == []


def test_what_moves_for_two_sites_is_whole_and_its_unknown_named() -> None:
    limits = tight(WORK, OWN, RENTED)
    state = D(WORK.profile.weight_bytes + WORK.profile.state_bytes - WORK.profile.gradient_bytes) / GB
    back = D(WORK.profile.weight_bytes) / GB * D("0.09")
    at_own = replace(WORK, data_site="dc", data_bytes=50 * GB, data_egress=egress("0.01"))
    late = replace(limits, deadline_seconds=limits.deadline_seconds * 1.3)
    (found,) = both(at_own, late, OWN, RENTED)
    assert found.moving_cost == (50 + state) * D("0.01") + back
    elsewhere = replace(at_own, data_site="store")
    late = replace(limits, deadline_seconds=limits.deadline_seconds + 2000)
    rivals = plan(elsewhere, [OWN, RENTED], late).rivals
    found = next(iter(hybrids(elsewhere, rivals, late)), None)
    if found is not None:
        assert found.moving_cost == (100 + state) * D("0.01") + back, "to the first site, and to the second"
    (blind,) = both(WORK, limits, replace(OWN, egress=None), RENTED)
    assert blind.unknown_egress == ("dc",)
    mixed = replace(at_own, data_egress=egress("0.01", "EUR"))
    assert both(mixed, late, OWN, RENTED) == []


@given(
    price=st.decimals("0.5", "60", places=2),
    size=st.integers(0, 500),
    stretch=st.floats(0.2, 0.95),
)
def test_no_two_sites_are_praised_that_cost_more_or_come_late(price, size, stretch) -> None:
    work = replace(WORK, data_site="dc", data_bytes=size * GB, data_egress=egress("0.01"))
    own = replace(OWN, price_per_hour=price)
    alone = {rival.offering.key: rival for rival in plan(work, [own, RENTED], LIMITS).rivals}
    quick, slow = (alone[key].prediction.seconds.expected for key in ("s/h100", "dc/own"))
    limits = replace(LIMITS, deadline_seconds=quick + (slow - quick) * stretch)
    rivals = plan(work, [own, RENTED], limits).rivals
    costs = [r.prediction.cost for r in rivals if r.verdict in {Verdict.CHOSEN, Verdict.ALTERNATIVE}]
    for found in hybrids(work, rivals, limits):
        assert found.seconds <= limits.deadline_seconds * (1 + 1e-9)
        assert all(found.cost < cost for cost in costs)
