"""PURE. Owned against rented, as a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from headway.planner.uncertainty import Outcome, Spread, Swing


def break_even_row(
    name: str,
    per_hour: Decimal,
    basis: str,
    figures: Mapping[str, Decimal | None],
    uncertain: Outcome,
    swings: Sequence[Swing],
) -> dict[str, Any]:
    """One rented machine; None is never: it does not break even."""
    return {
        "rented": name,
        "rented_per_hour": f"{per_hour:.6f}",
        "basis": basis,
        **{key: None if value is None else f"{value:.6f}" for key, value in figures.items()},
        "saved_share": {"p10": uncertain.p10, "p50": uncertain.p50, "p90": uncertain.p90},
        "tornado": [{"input": one.name, "at_low": one.at_low, "at_high": one.at_high} for one in swings],
    }


def spread_rows(spreads: Mapping[str, Spread]) -> dict[str, list[float]]:
    """The ranges that were put through."""
    return {name: [one.low, one.typical, one.high] for name, one in spreads.items()}
