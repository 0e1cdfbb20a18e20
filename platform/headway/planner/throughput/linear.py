"""PURE. Symmetric positive definite systems of some dozens of unknowns."""

from __future__ import annotations

import math
from collections.abc import Sequence

Matrix = list[list[float]]


def lower(matrix: Sequence[Sequence[float]]) -> Matrix:
    """Cholesky's factor."""
    size = len(matrix)
    found = [[0.0] * size for _ in range(size)]
    for i in range(size):
        mine = found[i]
        for j in range(i + 1):
            other = found[j]
            rest = matrix[i][j] - sum(a * b for a, b in zip(mine[:j], other[:j], strict=True))
            mine[j] = math.sqrt(rest) if i == j else rest / other[j]
    return found


def forward(factor: Matrix, right: Sequence[float]) -> list[float]:
    """The solution with the factor itself."""
    found: list[float] = []
    for i, value in enumerate(right):
        line = factor[i]
        found.append((value - sum(a * b for a, b in zip(line[:i], found, strict=True))) / line[i])
    return found


def substitute(factor: Matrix, right: Sequence[float]) -> list[float]:
    """The solution of the system whose factor it is."""
    found = forward(factor, right)
    size = len(found)
    for i in reversed(range(size)):
        found[i] = (found[i] - sum(factor[j][i] * found[j] for j in range(i + 1, size))) / factor[i][i]
    return found


def variance(factor: Matrix, places: Sequence[int]) -> float:
    """Variance of the sum of some unknowns, where the system is their inverse covariance."""
    right = [0.0] * len(factor)
    for place in places:
        right[place] += 1.0
    return sum(value * value for value in forward(factor, right))
