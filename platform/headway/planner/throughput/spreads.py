"""PURE. How far a model that was not among the rows lies from the physics, for each stack.

Each family is left out in turn: from the fit of all rows, one linear step to the fit without it, and the
mean error of its rows there. That costs one solution a family instead of one fit, and is within a few parts
in a hundred of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from headway.planner.throughput.constants import NAMES
from headway.planner.throughput.fit import (
    Fit,
    Observation,
    constants_at,
    equations,
    error_of,
    keys_of,
    moved_constants,
    slopes_of,
    values_of,
)
from headway.planner.throughput.linear import lower, substitute

# As if so many families had shown the usual spread.
FAMILY_SPREAD, _FAMILIES = 0.10, 3.0


def family_spreads(rows: Sequence[Observation], fit: Fit) -> dict[str, float]:
    """The spread of families around the physics in each stack that has several of them."""
    values = values_of(fit)
    base, moved = constants_at(values), moved_constants(values)
    by_stack: dict[str, dict[str, list[Observation]]] = {}
    for row in rows:
        by_stack.setdefault(row.stack, {}).setdefault(row.family, []).append(row)
    found: dict[str, float] = {}
    for stack, families in by_stack.items():
        if len(families) < 2:
            continue
        total = _FAMILIES * FAMILY_SPREAD**2
        for family, members in families.items():
            rest = [row for row in rows if (row.stack, row.family) != (stack, family)]
            without = equations(rest, values, fit.columns, fit.noise)
            change = substitute(lower(without.matrix), without.right)
            errors: list[float] = []
            for row in members:
                places = [fit.columns[key] for key in keys_of(row.stack, row.device)]
                effects = sum(values[place] + change[place] for place in places)
                shift = sum(
                    a * b for a, b in zip(slopes_of(row, base, moved), change[: len(NAMES)], strict=True)
                )
                errors.append(error_of(row, base, effects) - shift)
            total += (sum(errors) / len(errors)) ** 2
        found[stack] = math.sqrt(total / (_FAMILIES + len(families)))
    return found
