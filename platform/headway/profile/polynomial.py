"""PURE. Bytes as an exact function of micro-batch and length, fitted on a few values, checked on others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

TERMS: tuple[str, ...] = ("1", "S", "S²", "B", "B·S", "B·S²")
Point = tuple[int, int]


def _values(point: Point) -> tuple[int, ...]:
    b, s = point
    return (1, s, s * s, b, b * s, b * s * s)


@dataclass(frozen=True, slots=True)
class SavedBytes:
    """Coefficients of `TERMS` in their order; `exact` when every value that was checked came out to the byte.

    `error_percent` is the largest difference among the checked ones.
    """

    coefficients: tuple[Fraction, ...]
    exact: bool
    error_percent: float = 0.0

    def at(self, micro_batch: int, seq_len: int) -> int:
        """Bytes for a micro-batch of samples of a length."""
        values = _values((micro_batch, seq_len))
        return round(sum(c * v for c, v in zip(self.coefficients, values, strict=True)))

    def to_data(self) -> dict[str, Any]:
        """As JSON holds it; coefficients are fractions as text, zeros left out."""
        named = zip(TERMS, self.coefficients, strict=True)
        return {
            "terms": {name: str(value) for name, value in named if value},
            "exact": self.exact,
            "error_percent": self.error_percent,
        }


def saved_bytes_of(data: Mapping[str, Any]) -> SavedBytes:
    """Such a function from JSON.

    Raises:
        KeyError, TypeError, ValueError: the data is not one.
    """
    terms = cast("Mapping[str, str]", data["terms"])
    coefficients = tuple(Fraction(terms.get(name, "0")) for name in TERMS)
    return SavedBytes(coefficients, bool(data["exact"]), float(data["error_percent"]))


def fit(known: Mapping[Point, int], checks: Mapping[Point, int]) -> SavedBytes:
    """The function through six values, tried on others; it is called exact only if all of those are met.

    Args:
        known: bytes by (micro-batch, sequence), of two batches times three lengths.
        checks: bytes at other points.

    Raises:
        ValueError: the points do not determine a function.
    """
    rows = [[Fraction(value) for value in (*_values(point), size)] for point, size in known.items()]
    coefficients = _solved(rows)
    function = SavedBytes(coefficients, exact=True)
    worst = 0.0
    for (b, s), size in checks.items():
        worst = max(worst, 100.0 * abs(function.at(b, s) - size) / max(1, size))
    return SavedBytes(coefficients, worst == 0.0, worst)


def _solved(rows: list[list[Fraction]]) -> tuple[Fraction, ...]:
    """Gauss-Jordan elimination in fractions."""
    size = len(TERMS)
    if len(rows) != size:
        raise ValueError(f"{size} points are needed, not {len(rows)}")
    for column in range(size):
        pivot = next((row for row in range(column, size) if rows[row][column]), None)
        if pivot is None:
            raise ValueError("the points do not determine a function")
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [value / rows[column][column] for value in rows[column]]
        for row in range(size):
            if row != column and rows[row][column]:
                rows[row] = _less(rows[row], rows[column], rows[row][column])
    return tuple(row[-1] for row in rows)


def _less(row: Sequence[Fraction], other: Sequence[Fraction], times: Fraction) -> list[Fraction]:
    return [value - times * taken for value, taken in zip(row, other, strict=True)]
