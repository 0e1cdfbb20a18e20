"""PURE, torch-free. What a technique says of itself, and what applying it did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["layers", "recompute", "optimizer", "step", "precision", "sharding", "exchange", "method"]


@dataclass(frozen=True, slots=True)
class Technique:
    """One way to need less memory.

    `saves` is a formula in B (batch), S (sequence), h (hidden), V (vocabulary), N (parameters), W (workers),
    e (bytes an element); `exact` means that gradients are those of the plain model but for rounding;
    `apply` changes a model in place where the technique works on modules.
    """

    name: str
    kind: Kind
    does: str
    saves: str
    costs: str
    exact: bool
    needs: str
    source: str
    apply: Callable[[Any], Change] | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """What a technique changed: names of modules, and names with the reason where it could not."""

    technique: str
    changed: tuple[str, ...]
    unchanged: tuple[tuple[str, str], ...] = ()
