"""PURE. The most likely constants and corrections, given measured rows and what is believed before them.

Maximum a posteriori by Gauss-Newton on logarithms: log(measured) = log(predicted) + corrections of the
project, the software stack, the device and the pair of both + noise. Noise has heavy tails (Student, four
degrees) so that one odd row moves nothing, and a width of its own in each stack; constants and corrections
have normal priors. Sums run in the order of the rows: the same rows give the same constants.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from headway.planner.throughput.constants import NAMES, PRIORS, Constants, typical
from headway.planner.throughput.linear import Matrix, lower, substitute
from headway.planner.throughput.loads import Load
from headway.planner.throughput.step import tokens_per_second_per_device

# Spreads of logarithms, before any row: of one row around the physics, and of corrections around none.
NOISE = 0.05
SPREADS = {"project": 0.20, "stack": 0.15, "device": 0.08, "pair": 0.06}
# A stack's noise is estimated as if so many rows had shown the usual one; wider where batches were assumed.
_NOISE_ROWS, _ASSUMED_NOISE = 10.0, 2.0
_DEGREES = 4.0
_STEP = 1e-4
_ITERATIONS, _ENOUGH = 60, 1e-5
_LONGEST = 1.0


@dataclass(frozen=True, slots=True)
class Observation:
    """One measured row: tokens per second of a device, and what is corrected together.

    `assumed`: its batch was not stated, so that the load is a guess and the row counts less.
    """

    load: Load
    measured: float
    stack: str
    device: str
    family: str
    assumed: bool = False


@dataclass(frozen=True, slots=True)
class Fit:
    """Constants, corrections of logarithms by key, noise by stack; and how sure they are, as a factor.

    `factor` is Cholesky's, of the inverse covariance of constants (first) and corrections (by `columns`).
    """

    constants: Constants
    effects: dict[str, float]
    noise: dict[str, float]
    columns: dict[str, int]
    factor: Matrix


@dataclass(slots=True)
class Equations:
    """The linearised problem around some values, and the noise that its errors show."""

    matrix: Matrix
    right: list[float]
    noise: dict[str, float]


def keys_of(stack: str, device: str) -> tuple[str, str, str, str]:
    """The keys of the corrections of a stack on a device; a project is the stack's first word."""
    project = stack.split(" ", maxsplit=1)[0]
    return f"project:{project}", f"stack:{stack}", f"device:{device}", f"pair:{stack}|{device}"


def spread_of(key: str) -> float:
    """The standard deviation of a correction before any row."""
    return SPREADS[key.split(":", maxsplit=1)[0]]


def fitted(rows: Sequence[Observation], *, width: float = 1.0) -> Fit:
    """The fit to rows; `width` multiplies the spreads of the constants' priors."""
    names = sorted({key for row in rows for key in keys_of(row.stack, row.device)})
    columns = {name: len(NAMES) + place for place, name in enumerate(names)}
    values = _distances(typical()) + [0.0] * len(names)
    found = equations(rows, values, columns, {row.stack: NOISE for row in rows}, width)
    for _ in range(_ITERATIONS):
        change = substitute(lower(found.matrix), found.right)
        longest = max(abs(step) for step in change[: len(NAMES)])
        scale = min(1.0, _LONGEST / longest) if longest > 0 else 1.0
        values = [value + scale * step for value, step in zip(values, change, strict=True)]
        found = equations(rows, values, columns, found.noise, width)
        if max(abs(step) for step in change) < _ENOUGH:
            break
    effects = {name: values[place] for name, place in columns.items()}
    return Fit(constants_at(values), effects, found.noise, columns, lower(found.matrix))


def _distances(constants: Constants) -> list[float]:
    """Constants as distances from their priors, in standard deviations."""
    return [math.log(getattr(constants, name) / PRIORS[name].typical) / PRIORS[name].spread for name in NAMES]


def constants_at(values: Sequence[float]) -> Constants:
    """Constants at so many standard deviations from their priors."""
    pairs = zip(NAMES, values[: len(NAMES)], strict=True)
    return Constants(**{name: PRIORS[name].typical * math.exp(PRIORS[name].spread * v) for name, v in pairs})


def values_of(fit: Fit) -> list[float]:
    """A fit's unknowns in the order of its columns."""
    ordered = sorted(fit.columns, key=lambda name: fit.columns[name])
    return _distances(fit.constants) + [fit.effects[name] for name in ordered]


def error_of(row: Observation, constants: Constants, effects: float) -> float:
    """Logarithm of measured over predicted."""
    return math.log(row.measured / tokens_per_second_per_device(row.load, constants)) - effects


def slopes_of(row: Observation, base: Constants, moved: Sequence[Constants]) -> list[float]:
    """How a prediction's logarithm changes with each constant."""
    level = math.log(tokens_per_second_per_device(row.load, base))
    return [(math.log(tokens_per_second_per_device(row.load, one)) - level) / _STEP for one in moved]


def moved_constants(values: Sequence[float]) -> list[Constants]:
    """The constants with one of them a little larger, for each of them."""
    return [constants_at([v + _STEP * (i == j) for j, v in enumerate(values)]) for i in range(len(NAMES))]


def equations(
    rows: Sequence[Observation],
    values: Sequence[float],
    columns: dict[str, int],
    noise: dict[str, float],
    width: float = 1.0,
) -> Equations:
    """Normal equations of the change that fits rows and priors best, at the weights that errors now have."""
    matrix = [[0.0] * len(values) for _ in values]
    right = [0.0] * len(values)
    base, moved = constants_at(values), moved_constants(values)
    counts = dict.fromkeys(noise, _NOISE_ROWS)
    squares = dict.fromkeys(noise, _NOISE_ROWS * NOISE**2)
    for row in rows:
        places = [columns[key] for key in keys_of(row.stack, row.device)]
        error = error_of(row, base, sum(values[place] for place in places))
        wide = _ASSUMED_NOISE if row.assumed else 1.0
        size = noise[row.stack] * wide
        trust = (_DEGREES + 1) / (_DEGREES + (error / size) ** 2)
        counts[row.stack] += 1
        squares[row.stack] += trust * (error / wide) ** 2
        weight = trust / size**2
        slopes = [(i, slope) for i, slope in enumerate(slopes_of(row, base, moved)) if slope]
        slopes += [(place, 1.0) for place in places]
        for i, a in slopes:
            right[i] += weight * a * error
            line = matrix[i]
            for j, b in slopes:
                line[j] += weight * a * b
    precisions = [width**-2] * len(NAMES) + [0.0] * len(columns)
    for name, place in columns.items():
        precisions[place] = 1.0 / spread_of(name) ** 2
    for i, precision in enumerate(precisions):
        matrix[i][i] += precision
        right[i] -= precision * values[i]
    return Equations(matrix, right, {stack: math.sqrt(squares[stack] / counts[stack]) for stack in counts})
