"""PURE. What runs of one's own say of a device's efficiency, beside what was published of it.

Shrinkage: n own runs move the published (or assumed) share of peak by n / (n + k) of the way to their mean,
in logarithms; k published runs' worth of trust stays with it. The interval narrows to the runs' own spread.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, pstdev

from headway.planner.types import Efficiency

PRIOR_RUNS = 2.0
LEAST_SPREAD = 0.05


def corrected(prior: Efficiency, measured: Sequence[float]) -> Efficiency:
    """An efficiency that own runs have corrected; the prior itself where there are none.

    >>> prior = Efficiency(0.5, 0.2, 0.8, "assumed")
    >>> round(corrected(prior, [0.125, 0.125]).expected, 3)
    0.25
    """
    usable = [share for share in measured if 0 < share <= 1]
    if not usable:
        return prior
    logs = [math.log(share) for share in usable]
    trust = len(logs) / (len(logs) + PRIOR_RUNS)

    def between(before: float, found: float) -> float:
        return math.exp((1 - trust) * math.log(before) + trust * found)

    mean, spread = fmean(logs), max(LEAST_SPREAD, 2 * pstdev(logs))
    expected = between(prior.expected, mean)
    return Efficiency(
        expected,
        min(expected, between(prior.low, mean - spread)),
        min(1.0, max(expected, between(prior.high, mean + spread))),
        f"{len(usable)} own runs, weighed with: {prior.basis}",
    )
