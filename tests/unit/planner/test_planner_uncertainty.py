"""Quantiles over ranges, and which uncertain figure matters most."""

from __future__ import annotations

from headway.planner.uncertainty import Spread, outcome, tornado


def test_quantiles_and_what_matters_most() -> None:
    spreads = {"price": Spread(250, 310, 830), "hours": Spread(4, 5, 6), "fixed": Spread(1, 1, 1)}

    def figure(values) -> float | None:
        return values["price"] / values["hours"] if values["price"] < 800 else None

    found = outcome(spreads, figure)
    assert found == outcome(spreads, figure)
    assert found.p10 is not None
    assert found.p90 is not None
    assert 50 < found.p10 < (found.p50 or 0) < found.p90
    assert [swing.name for swing in tornado(spreads, figure)] == ["price", "hours", "fixed"]
    assert tornado(spreads, figure)[0].at_high is None
