"""Own runs correct what was published, by as much as there are of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.planner.efficiency import corrected
from headway.planner.types import Efficiency

PRIOR = Efficiency(0.4, 0.2, 0.6, "published")
shares = st.lists(st.floats(0.001, 1.0), min_size=1, max_size=40)


@given(shares)
def test_a_corrected_share_lies_between_the_prior_and_the_runs(measured: list[float]) -> None:
    found = corrected(PRIOR, measured)
    assert min(PRIOR.expected, *measured) - 1e-9 <= found.expected <= max(PRIOR.expected, *measured) + 1e-9
    assert 0 < found.low <= found.expected <= found.high <= 1
    assert f"{len(measured)} own runs" in found.basis


def test_many_runs_outweigh_what_was_published_and_no_run_changes_nothing() -> None:
    few, many = corrected(PRIOR, [0.1]).expected, corrected(PRIOR, [0.1] * 40).expected
    assert 0.1 < many < few < PRIOR.expected
    assert many == pytest.approx(0.1, rel=0.1)
    assert corrected(PRIOR, []) == PRIOR
    assert corrected(PRIOR, [0.0, 2.0, float("nan")]) == PRIOR
    narrow = corrected(PRIOR, [0.1] * 40)
    assert narrow.high - narrow.low < PRIOR.high - PRIOR.low
