"""Which price is in force, what its id proves, and what an owned machine costs."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.catalog.here import here_figures
from headway.costing.here import core_hour_price, here_prices, here_rates
from headway.costing.owned import OwnedServer, cost_per_delivered_hour, fixed_cost_per_hour
from headway.costing.prices import Price, change_points, price_in_force
from headway.costing.usage import Metric
from headway.errors import DataError, UserError

PRICE = Price("s" * 64, "here/core", "core-hour", "0.012", "USD", 100, 200, "sku")


def at(prices, moment):
    return price_in_force(prices, "here/core", "core-hour", moment)


@pytest.mark.parametrize("moment", [100, 150, 199])
def test_a_price_holds_from_its_start_until_just_before_its_end(moment):
    assert at([PRICE], moment) is PRICE


@pytest.mark.parametrize("moment", [-1, 0, 99, 200, 10**15])
def test_no_price_is_borrowed_from_another_time(moment):
    with pytest.raises(DataError) as caught:
        at([PRICE], moment)
    assert caught.value.message == "costing.no_price"


def test_an_open_end_holds_for_ever():
    assert at([replace(PRICE, effective_to=None)], 10**18).amount == Decimal("0.012")


@pytest.mark.parametrize("other", [{"offering_key": "here/energy"}, {"unit": "kWh"}])
def test_no_price_is_borrowed_from_another_offering_or_unit(other):
    with pytest.raises(DataError):
        at([replace(PRICE, **other)], 150)


def test_two_prices_at_once_are_a_contradiction():
    second = replace(PRICE, price_text="0.013", effective_from=150, effective_to=None)
    assert at([PRICE, second], 149) is PRICE
    assert at([PRICE, second], 200) is second
    with pytest.raises(DataError) as caught:
        at([PRICE, second], 150)
    assert caught.value.message == "costing.two_prices"


def test_the_same_price_twice_is_one():
    assert at([PRICE, replace(PRICE)], 150) == PRICE


@pytest.mark.parametrize(
    "change",
    [
        {"snapshot_sha": "t" * 64},
        {"offering_key": "here/cord"},
        {"unit": "core-second"},
        {"price_text": "0.0120"},
        {"currency": "EUR"},
        {"effective_from": 101},
        {"effective_to": 201},
        {"effective_to": None},
        {"sku": "other"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_every_field_of_a_price_is_in_its_id(change):
    assert replace(PRICE, **change).id != PRICE.id


def test_fields_cannot_run_into_each_other():
    left = replace(PRICE, offering_key="ab", unit="c")
    right = replace(PRICE, offering_key="a", unit="bc")
    assert left.id != right.id


@given(st.integers(-10, 310), st.integers(-10, 310))
def test_change_points_lie_strictly_inside(start, stop):
    points = change_points(
        [PRICE, replace(PRICE, effective_from=200, effective_to=None)], "here/core", start, stop
    )
    assert points == [point for point in (100, 200) if start < point < stop]


@pytest.mark.parametrize(
    ("price", "per_hour"),
    [("300000", "12.90"), ("400000", "16.44"), ("500000", "19.98"), ("833806", "31.80")],
)
def test_an_owned_server_costs_the_reference_value(price, per_hour):
    server = OwnedServer(*map(Decimal, (price, "0.2", "0.1", "0.08", "5", "0.03", "20000")))
    assert round(fixed_cost_per_hour(server), 2) == Decimal(per_hour)


def test_without_cost_of_capital_the_price_is_spread_evenly():
    server = OwnedServer(*map(Decimal, ("87600", "0", "0.1", "0", "5", "0")))
    assert fixed_cost_per_hour(server) == Decimal(87600) * Decimal("0.9") / 5 / 8760


def test_cost_of_capital_near_zero_is_near_none():
    one = OwnedServer(*map(Decimal, ("1000000", "0.2", "0.1", "1e-9", "5", "0.03")))
    assert fixed_cost_per_hour(one) == pytest.approx(
        fixed_cost_per_hour(replace(one, cost_of_capital=Decimal(0))), rel=Decimal("1e-6")
    )


@pytest.mark.parametrize(
    "change", [{"life_years": Decimal(0)}, {"life_years": Decimal(-1)}, {"price": Decimal(-1)}]
)
def test_a_server_that_cannot_be_is_refused(change):
    server = OwnedServer(*map(Decimal, ("1", "0", "0", "0", "5", "0")))
    with pytest.raises(UserError):
        fixed_cost_per_hour(replace(server, **change))


def test_an_idle_hour_is_paid_by_the_used_ones():
    assert cost_per_delivered_hour(Decimal(3), Decimal("0.5")) == 6
    for bad in ("0", "-0.1", "1.01"):
        with pytest.raises(UserError):
            cost_per_delivered_hour(Decimal(3), Decimal(bad))


def test_a_stated_core_price_is_taken_as_it_is():
    figures = here_figures({"core_price": "0.0500"}, origin="sites.yaml")
    core, energy = here_prices(figures)
    assert (core.price_text, core.sku) == ("0.0500", "stated in sites.yaml")
    assert energy.price_text == "0.146"
    assert core.snapshot_sha == energy.snapshot_sha == figures.snapshot.sha256


def test_the_assumed_core_price_is_the_servers_share():
    figures = here_figures()
    price = core_hour_price(figures)
    assert price == price.quantize(Decimal("0.000001"))
    server = OwnedServer(*map(Decimal, ("22000", "0.2", "0.1", "0.08", "5", "0.03")))
    assert price == round(fixed_cost_per_hour(server) / Decimal("0.5") / 128, 6)


def test_energy_is_priced_at_the_wall_of_the_building():
    rates = {rate.metric: rate for rate in here_rates(here_figures({"pue": "1.5"}))}
    assert rates[Metric.ENERGY].quantity(3_600_000 * 10**6) == Decimal("1.5")
    assert rates[Metric.CORE_HELD].quantity(3_600_000_000) == 1
    assert Metric.CORE_USED not in rates
