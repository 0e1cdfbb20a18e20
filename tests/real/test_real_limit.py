"""A batch chosen from a prediction runs within it; one that needs a quarter more is killed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks" / "memory"))
import limit_cases

pytestmark = pytest.mark.real


def test_the_chosen_batch_runs_within_its_prediction_and_a_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limit_cases, "CAPACITY_BYTES", 240 * 2**20)
    fits, size, over, more = limit_cases.chosen()
    assert size <= limit_cases.CAPACITY_BYTES
    assert over > fits
    assert more >= 1.25 * size
    allowed = round(size * (1 + limit_cases.MARGIN))
    good = limit_cases.run_limited(fits, allowed)
    assert good.code == 0, good.error
    bad = limit_cases.run_limited(over, allowed)
    assert bad.code != 0, bad.said
