"""A plan's rows and document: intervals that can be, values that a machine can read."""

from __future__ import annotations

import json
import re
from decimal import Decimal

import pytest

from headway.messages import text
from headway.planner.types import Prediction, Range, Recipe
from headway.reports import plan as module


def prediction(expected, low, high):
    return Prediction(
        nodes=1,
        recipe=Recipe("ddp", recompute=False, micro_batch=1),
        memory_bytes=1,
        seconds=Range(expected, low, high),
        cost=None,
        cost_low=None,
        cost_high=None,
        kwh=1.0,
        grams_co2e=None,
        interruptions=0.0,
        checkpoint_every_seconds=None,
    )


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        ((43_560, 30_600, 76_320), "12.1 h (8.5–21.2 h)"),
        ((100_000, 50_000, 900_000), "1.2 d (13.9 h–10.4 d)"),
        ((72, 61, 90), "1m 12s (1m 01s–1m 30s)"),
        ((72, 48, 90), "1m 12s (48 s–1m 30s)"),
        ((48, 5.0, 59), "48 s (5.0–59 s)"),
    ],
)
def test_time_is_expected_low_and_high(seconds, shown):
    found = module._time(prediction(*seconds))
    assert found == shown
    assert not re.search(r"[±-]", found)


def test_values_of_reasons_are_rounded_and_are_json():
    values = {
        "worth": Decimal("0.07380706331402376657854463846"),
        "seconds": 261074.6058991169,
        "devices": 8,
        "wanted": "9..15",
    }
    plain = {key: module._plain(value) for key, value in values.items()}
    assert json.loads(json.dumps(plain)) == {
        "worth": "0.073807063",
        "seconds": 261074.6,
        "devices": 8,
        "wanted": "9..15",
    }


def test_the_heading_promises_only_what_is_below():
    assert "below" in text("plan.nothing_but")
    assert "below" not in text("plan.nothing")
