"""PURE. What a unit of kept work costs: per step, 1,000 samples, 1 M tokens, and point of loss.

Only work that the run kept divides its cost: steps that were lost and done again count once.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Kept:
    """What a run kept; None is not known. Losses are held-out, first and last."""

    steps: int | None = None
    samples: int | None = None
    tokens: int | None = None
    first_loss: Decimal | None = None
    last_loss: Decimal | None = None


def per_unit(cost: Decimal, kept: Kept) -> dict[str, Decimal]:
    """Cost by unit, of those units that are known and not zero; a loss that did not fall has none.

    >>> per_unit(Decimal(5), Kept(steps=10, samples=2000))
    {'step': Decimal('0.5'), '1k_samples': Decimal('2.5')}
    """
    found: dict[str, Decimal] = {}
    for name, count, unit in (
        ("step", kept.steps, 1),
        ("1k_samples", kept.samples, 1000),
        ("1m_tokens", kept.tokens, 1_000_000),
    ):
        if count:
            found[name] = cost * unit / count
    if kept.first_loss is not None and kept.last_loss is not None and kept.last_loss < kept.first_loss:
        found["point_of_loss"] = cost / (kept.first_loss - kept.last_loss)
    return found
