"""Devices that no row was fitted on, with three rows of them to calibrate with.

The three rows: those of the device in the source, sorted by weights, sequence length and row id, at one
sixth, one half and five sixths. A user would measure a small, a middle and a large model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cases import Case, Outcome, fit_on, mfu, outcome, percent

from headway.planner.throughput.loads import load_of
from headway.planner.throughput.model import Measured, ThroughputModel, calibrated, predicted
from headway.planner.throughput.step import tokens_per_second_per_device

LEAST_ROWS = 8


@dataclass(frozen=True)
class Trial:
    """One device in one source, and the rows that are left after calibration."""

    source: str
    device: str
    calibration: tuple[str, ...]
    calibrated: list[Outcome]
    uncalibrated: list[Outcome]
    others_mfu: list[Outcome]
    mean_mfu: list[Outcome]


def calibration_rows(some: list[Case]) -> list[Case]:
    ordered = sorted(some, key=lambda c: (c.setup.shape.parameters, c.setup.seq_len, c.row.row_id))
    count = len(ordered)
    return [ordered[count // 6], ordered[count // 2], ordered[5 * count // 6]]


def _constant(case: Case, share: float) -> Outcome:
    value = case.seen.measured * share / mfu(case)
    return Outcome(case, value, value, value)


def _calibrated(case: Case, model: ThroughputModel, known: list[Case]) -> Outcome:
    rows = [
        Measured(
            one.seen.measured / tokens_per_second_per_device(load_of(one.setup), model.constants),
            one.row.model,
        )
        for one in known
    ]
    correction = calibrated(model.correction(case.seen.stack, case.seen.device), rows)
    # Families are not corrected one by one: rows of a family that was calibrated gain nothing from that.
    found = predicted(case.setup, model, replace(correction, families={}))
    count = case.row.count
    return Outcome(case, found.tokens_per_second / count, found.low / count, found.high / count)


def trial(source: str, device: str, inside: list[Case], training: list[Case]) -> Trial:
    model = fit_on(training)
    known = calibration_rows(inside)
    rest = [case for case in inside if case not in known]
    beside = [mfu(case) for case in training if case.row.source == source]
    others = sum(beside) / len(beside) if beside else 0.0
    mean = sum(mfu(case) for case in known) / len(known)
    return Trial(
        source,
        device,
        tuple(case.row.row_id for case in known),
        [_calibrated(case, model, known) for case in rest],
        [outcome(case, model) for case in rest],
        [_constant(case, others) for case in rest] if others else [],
        [_constant(case, mean) for case in rest],
    )


def _devices(everything: list[Case], source: str) -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for case in everything:
        if case.row.source == source:
            found.setdefault(case.row.accelerator, []).append(case)
    return {device: rows for device, rows in sorted(found.items()) if len(rows) >= LEAST_ROWS}


def unseen_everywhere(everything: list[Case]) -> list[Trial]:
    """The device's rows in all sources are kept from the fit."""
    found: list[Trial] = []
    for source in sorted({case.row.source for case in everything}):
        for device, inside in _devices(everything, source).items():
            training = [case for case in everything if case.row.accelerator != device]
            found.append(trial(source, device, inside, training))
    return found


def pairs(everything: list[Case]) -> list[tuple[str, Trial]]:
    """From one device of a source alone to another."""
    found: list[tuple[str, Trial]] = []
    for source in sorted({case.row.source for case in everything}):
        by_device = _devices(everything, source)
        for known, training in by_device.items():
            found += [
                (known, trial(source, device, inside, training))
                for device, inside in by_device.items()
                if device != known
            ]
    return found


def show(trial_: Trial, start: str) -> str:
    texts = [
        f"calibrated {percent(trial_.calibrated):5.1f} %",
        f"uncalibrated {percent(trial_.uncalibrated):5.1f} %",
    ]
    if trial_.others_mfu:
        texts.append(f"other devices' MFU {percent(trial_.others_mfu):5.1f} %")
    texts.append(f"mean MFU of three {percent(trial_.mean_mfu):5.1f} %")
    return f"    {start:>12} -> {trial_.device:9} {len(trial_.calibrated):3} rows  " + "  ".join(texts)
