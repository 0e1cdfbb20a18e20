"""PURE. Throughput of a setup: physics, corrected for stack and device, with an honest interval.

    model = model_of(throughput_fit())
    answer = predicted(setup, model, model.correction("headway", "a100-80"))

Own measured rows correct further: `calibrated(correction, ratios)`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from headway.planner.throughput.constants import Constants, from_mapping
from headway.planner.throughput.fit import NOISE, SPREADS, Fit, keys_of
from headway.planner.throughput.linear import variance
from headway.planner.throughput.loads import load_of
from headway.planner.throughput.setups import Setup
from headway.planner.throughput.spreads import FAMILY_SPREAD
from headway.planner.throughput.step import step_seconds

# Nine of ten lie within so many standard deviations (Student's t of about ten degrees).
_NINE_TENTHS = 1.8


@dataclass(frozen=True, slots=True)
class Correction:
    """What multiplies the physics, as a logarithm: its mean and how sure it is.

    `noise` is of one row, `family_spread` of one model around the rest; `families` are models measured
    already, as (mean, deviation) of what is theirs alone. `samples` are own rows in it.
    """

    mean: float
    deviation: float
    noise: float = NOISE
    family_spread: float = FAMILY_SPREAD
    samples: int = 0
    basis: str = "physics"
    families: Mapping[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])


@dataclass(frozen=True, slots=True)
class Measured:
    """An own row: what was measured over what the physics alone says, and the model's name."""

    ratio: float
    family: str = ""


@dataclass(frozen=True, slots=True)
class Throughput:
    """Tokens per second of the whole job, nine-tenths interval, and the seconds of one step."""

    tokens_per_second: float
    low: float
    high: float
    step_seconds: float
    basis: str


@dataclass(frozen=True, slots=True)
class ThroughputModel:
    """Fitted constants, and corrections as (mean, deviation) of sums: see `model_mapping`."""

    constants: Constants
    corrections: Mapping[str, tuple[float, float]]
    noise: Mapping[str, float]
    family_spreads: Mapping[str, float]

    def correction(self, stack: str, device: str) -> Correction:
        """What is known of a stack on a device; the prior's spread for what is not."""
        project, software, hardware, pair = keys_of(stack, device)
        noise, spread = self.noise.get(stack, NOISE), self.family_spreads.get(stack, FAMILY_SPREAD)
        if pair in self.corrections:
            mean, deviation = self.corrections[pair]
            return Correction(mean, deviation, noise, spread, basis="published rows of stack and device")
        known: list[str] = []
        mean, total = 0.0, SPREADS["pair"] ** 2
        if software in self.corrections:
            mean, deviation = self.corrections[software]
            total += deviation**2
            known.append("stack")
        elif project in self.corrections:
            mean, deviation = self.corrections[project]
            total += deviation**2 + SPREADS["stack"] ** 2
            known.append("project")
        else:
            total += SPREADS["project"] ** 2 + SPREADS["stack"] ** 2
        if hardware in self.corrections:
            more, deviation = self.corrections[hardware]
            mean, total = mean + more, total + deviation**2
            known.append("device")
        else:
            total += SPREADS["device"] ** 2
        basis = f"published rows of {' and '.join(known)}" if known else "physics"
        return Correction(mean, math.sqrt(total), noise, spread, basis=basis)


def calibrated(correction: Correction, rows: Sequence[Measured]) -> Correction:
    """A correction after own rows: each model counts as much as its rows and its own spread allow.

    A few rows move it part of the way only (shrinkage); with many it is theirs. Its deviation only falls.
    """
    ratios: dict[str, list[float]] = {}
    for row in rows:
        ratios.setdefault(row.family, []).append(math.log(row.ratio))
    weight = correction.deviation**-2
    total = weight * correction.mean
    for values in ratios.values():
        size = 1.0 / (correction.family_spread**2 + correction.noise**2 / len(values))
        weight += size
        total += size * sum(values) / len(values)
    mean = total / weight
    families = dict(correction.families)
    for family, values in ratios.items():
        precision = correction.family_spread**-2 + len(values) / correction.noise**2
        above = (sum(values) - len(values) * mean) / correction.noise**2
        families[family] = (above / precision, precision**-0.5)
    samples = correction.samples + len(rows)
    basis = f"{correction.basis}, {samples} own rows" if rows else correction.basis
    return replace(
        correction, mean=mean, deviation=weight**-0.5, samples=samples, families=families, basis=basis
    )


def predicted(
    setup: Setup, model: ThroughputModel, correction: Correction | None = None, family: str = ""
) -> Throughput:
    """Throughput of a setup; without a correction, by the physics alone."""
    known = correction or model.correction("", setup.device.key)
    own, own_deviation = known.families.get(family, (0.0, known.family_spread))
    load = load_of(setup)
    seconds = step_seconds(load, model.constants) * math.exp(-known.mean - own)
    spread = math.sqrt(known.deviation**2 + known.noise**2 + own_deviation**2)
    factor = math.exp(_NINE_TENTHS * spread)
    rate = load.tokens_per_step / seconds
    return Throughput(rate, rate / factor, rate * factor, seconds, known.basis)


def model_of(mapping: Mapping[str, object]) -> ThroughputModel:
    """The model read from the fit's file."""
    corrections = cast("Mapping[str, Sequence[float]]", mapping["corrections"])
    return ThroughputModel(
        constants=from_mapping(cast("Mapping[str, float]", mapping["constants"])),
        corrections={key: (pair[0], pair[1]) for key, pair in corrections.items()},
        noise=dict(cast("Mapping[str, float]", mapping["noise"])),
        family_spreads=dict(cast("Mapping[str, float]", mapping["family_spreads"])),
    )


def model_from(fit: Fit, family_spreads: Mapping[str, float]) -> ThroughputModel:
    """The model of a fit: for a pair its whole correction, for a stack that of its project with it."""
    corrections: dict[str, tuple[float, float]] = {}
    for key in fit.columns:
        kind, name = key.split(":", maxsplit=1)
        parts: tuple[str, ...] = (key,)
        if kind == "pair":
            stack, device = name.rsplit("|", maxsplit=1)
            parts = keys_of(stack, device)
        elif kind == "stack":
            parts = keys_of(name, "")[:2]
        deviation = math.sqrt(variance(fit.factor, [fit.columns[part] for part in parts]))
        corrections[key] = (sum(fit.effects[part] for part in parts), deviation)
    return ThroughputModel(fit.constants, corrections, fit.noise, dict(family_spreads))
