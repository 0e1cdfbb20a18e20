"""PURE. Splitting whole numbers so that the parts always add up (largest remainder)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from headway.errors import DataError

K = TypeVar("K")


def split(total: int, weights: Mapping[K, int]) -> dict[K, int]:
    """Split `total` in proportion to whole weights; the parts sum to it exactly.

    Each part is the floor of its exact share; what is left goes, one unit each, to the largest remainders
    (the first named wins a tie). A weight of zero gets zero.

    >>> split(100, {"a": 1, "b": 1, "c": 1})
    {'a': 34, 'b': 33, 'c': 33}

    Raises:
        DataError: a weight is negative, or all are zero while there is something to split.
    """
    whole = sum(weights.values())
    if any(weight < 0 for weight in weights.values()) or (whole == 0 and total != 0):
        raise DataError("costing.bad_weights")
    if whole == 0:
        return dict.fromkeys(weights, 0)
    sign = -1 if total < 0 else 1
    parts = {key: abs(total) * weight // whole for key, weight in weights.items()}
    remainders = sorted(
        (key for key, weight in weights.items() if weight),
        key=lambda key: -(abs(total) * weights[key] % whole),
    )
    for key in remainders[: abs(total) - sum(parts.values())]:
        parts[key] += 1
    return {key: sign * part for key, part in parts.items()}
