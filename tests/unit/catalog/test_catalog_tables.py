"""The packaged data: prices in force at a time, the guard against wrong ones, honest blanks."""

from __future__ import annotations

import csv
from decimal import Decimal
from pathlib import Path

import pytest

from headway.catalog.guard import refuse_price
from headway.catalog.snapshot import snapshot_info
from headway.catalog.tables import (
    accelerators,
    grid_factors,
    instance_types,
    microseconds,
    on_demand_prices,
    published_efficiencies,
    spot_observations,
)
from headway.costing.market import UNIT, market_prices, offering_key
from headway.costing.prices import price_in_force
from headway.errors import DataError

ANOMALIES = list(
    csv.DictReader(
        (Path(__file__).parent / "data" / "aws_ec2_price_table_anomalies.csv").read_text().splitlines()
    )
)
PRICES = market_prices(on_demand_prices(), snapshot_info().sha256)


@pytest.mark.parametrize(
    ("day", "price"), [("2025-05-01", "98.32"), ("2025-07-01", "55.04"), ("2026-07-20", "55.04")]
)
def test_a_p5_hour_costs_what_it_cost_that_day(day, price):
    key = offering_key("us-east-1", "p5.48xlarge", "on-demand")
    assert price_in_force(PRICES, key, UNIT, microseconds(day)).price_text == price


def test_a_region_without_a_price_borrows_none():
    with pytest.raises(DataError):
        price_in_force(
            PRICES, offering_key("eu-west-3", "p5.48xlarge", "on-demand"), UNIT, microseconds("2026-01-01")
        )


def test_prices_of_one_offering_never_overlap():
    last = {}
    for price in on_demand_prices():
        key = (price.instance, price.region)
        if key in last:
            assert last[key].effective_to == price.effective_from
        last[key] = price


def test_undated_spot_observations_never_become_prices_that_can_be_billed():
    assert spot_observations()
    assert market_prices(spot_observations(), "x") == []


@pytest.mark.parametrize("row", ANOMALIES, ids=lambda row: row["instance_type"])
def test_the_guard_refuses_every_wrong_price_that_a_real_table_once_held(row):
    reason = refuse_price(
        row["table_value"], "USD", known_price_text=row["true_usd_per_hour"], known_currency="USD"
    )
    assert reason == "guard.rise"


def test_the_guard_lets_every_real_change_pass():
    last = {}
    changes = 0
    for price in on_demand_prices():
        key = (price.instance, price.region)
        if key in last:
            changes += 1
            known = last[key]
            assert (
                refuse_price(
                    price.price_text,
                    price.currency,
                    known_price_text=known.price_text,
                    known_currency=known.currency,
                )
                is None
            )
        last[key] = price
    assert changes >= 6


@pytest.mark.parametrize(
    ("price", "currency", "on_demand", "reason"),
    [
        ("0", "USD", None, "guard.not_positive"),
        ("-1", "USD", None, "guard.not_positive"),
        ("NaN", "USD", None, "guard.not_positive"),
        ("cheap", "USD", None, "guard.not_a_number"),
        ("0.00001", "USD", None, "guard.placeholder"),
        ("10", "CNY", None, "guard.other_currency"),
        ("10", "USD", "9.5", "guard.above_on_demand"),
        ("3", "USD", None, "guard.fall"),
        ("10", "USD", "55", None),
    ],
)
def test_the_guards_other_rules(price, currency, on_demand, reason):
    found = refuse_price(
        price, currency, known_price_text="10", known_currency="USD", on_demand_price_text=on_demand
    )
    assert found == reason


def test_blank_cells_are_unknown_not_zero():
    for device in accelerators().values():
        assert all(value > 0 for value in device.peak_flops.values())
        assert device.tdp_watts is None or device.tdp_watts > 0
    assert "bf16" not in accelerators()["v100-16"].peak_flops


def test_kinds_of_devices():
    kinds = {device.kind for device in accelerators().values()}
    assert {"GPU", "CPU", "TPU", "NPU"} <= kinds


def test_every_instance_names_a_known_device():
    known = accelerators()
    assert [kind.name for kind in instance_types().values() if kind.accelerator not in {None, *known}] == []


def test_several_sources_for_one_grid_are_kept():
    assert len(grid_factors()["us-east-1"]) >= 1
    assert grid_factors()["fra"][0].grams_per_kwh < Decimal(100)


def test_efficiencies_are_shares():
    for values in published_efficiencies().values():
        assert all(0 < value < 1 for value in values)
