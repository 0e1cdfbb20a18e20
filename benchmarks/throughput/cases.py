"""Published rows as cases, and fits that have not seen some of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from headway.catalog.tables import accelerators
from headway.catalog.throughput import parse_rows, throughput_rows
from headway.catalog.types import ThroughputRow
from headway.planner.throughput.fit import Observation, fitted
from headway.planner.throughput.model import ThroughputModel, model_from, predicted
from headway.planner.throughput.published import observation_of, setup_of
from headway.planner.throughput.setups import Setup
from headway.planner.throughput.spreads import family_spreads

ENOUGH_FAMILIES, ENOUGH_ROWS = 5, 100


@dataclass(frozen=True)
class Case:
    """A row, what the model makes of it, and its throughput per device."""

    row: ThroughputRow
    setup: Setup
    seen: Observation

    @property
    def family(self) -> tuple[str, str]:
        return self.row.source, self.row.model


@dataclass(frozen=True)
class Outcome:
    """A case and its prediction by a fit that has not seen it; tokens per second of a device."""

    case: Case
    value: float
    low: float
    high: float

    @property
    def error(self) -> float:
        return self.value / self.case.seen.measured - 1

    @property
    def covered(self) -> bool:
        return self.low <= self.case.seen.measured <= self.high


def cases(path: Path | None = None) -> list[Case]:
    rows = throughput_rows() if path is None else parse_rows(path.read_text(encoding="utf-8").splitlines())
    found: list[Case] = []
    for row in rows:
        device = accelerators().get(row.accelerator)
        setup = None if device is None else setup_of(row, device)
        seen = None if device is None else observation_of(row, device)
        if setup is None or seen is None:
            print(f"    left out, not enough is known: {row.row_id} {row.model} on {row.accelerator}")
            continue
        found.append(Case(row, setup, seen))
    return found


def fit_on(some: Iterable[Case], *, intervals: bool = True, width: float = 1.0) -> ThroughputModel:
    rows = [case.seen for case in some]
    fit = fitted(rows, width=width)
    return model_from(fit, family_spreads(rows, fit) if intervals else {})


def outcome(case: Case, model: ThroughputModel) -> Outcome:
    found = predicted(case.setup, model, model.correction(case.seen.stack, case.seen.device))
    count = case.row.count
    return Outcome(case, found.tokens_per_second / count, found.low / count, found.high / count)


def left_out(
    everything: list[Case], key: Callable[[Case], object], *, intervals: bool = True, width: float = 1.0
) -> list[Outcome]:
    """Each group predicted by a fit of all others."""
    found: list[Outcome] = []
    for group in sorted({key(case) for case in everything}, key=repr):
        inside = [case for case in everything if key(case) == group]
        model = fit_on((c for c in everything if key(c) != group), intervals=intervals, width=width)
        found += [outcome(case, model) for case in inside]
    return found


def percent(outcomes: Iterable[Outcome]) -> float:
    errors = [abs(one.error) for one in outcomes]
    return 100 * sum(errors) / len(errors)


def bias_percent(outcomes: Iterable[Outcome]) -> float:
    errors = [one.error for one in outcomes]
    return 100 * sum(errors) / len(errors)


def coverage_percent(outcomes: Iterable[Outcome]) -> float:
    inside = [one.covered for one in outcomes]
    return 100 * sum(inside) / len(inside)


def big_sources(everything: list[Case]) -> list[str]:
    """Sources with enough rows of enough families for a bar."""
    found: list[str] = []
    for source in sorted({case.row.source for case in everything}):
        rows = [case for case in everything if case.row.source == source]
        enough = len(rows) >= ENOUGH_ROWS and len({case.row.model for case in rows}) >= ENOUGH_FAMILIES
        found += [source] if enough else []
    return found


def mfu(case: Case) -> float:
    """Utilisation as most sources count it: six FLOPs a weight, attention in full."""
    setup = case.setup
    shape = setup.shape
    per_token = 6 * shape.matmul_parameters + 12 * shape.layers * shape.hidden * setup.seq_len
    peak = setup.device.peak_flops.get(setup.precision) or setup.device.half_flops
    return case.seen.measured * per_token / peak
