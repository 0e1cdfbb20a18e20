"""Throughput of training steps: families, devices and whole sources that the fit has not seen; choices.

Prints tables and writes benchmarks/out/throughput.json; all fits are made in this run, beside the baselines.
`--rows FILE` predicts rows of another table of the same columns by a fit of all rows in the package.
Takes about three minutes on one core.
"""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path
from typing import Any

from cases import (
    Case,
    Outcome,
    bias_percent,
    big_sources,
    cases,
    coverage_percent,
    fit_on,
    left_out,
    mfu,
    outcome,
    percent,
)
from nested import nested, two_left_out
from unseen import pairs, show, unseen_everywhere

from plans import Choice, choices

OUT = Path(__file__).resolve().parents[1] / "out"
# Published figures for a device that a predictor has not seen, in percent.
PUBLISHED_UNCALIBRATED, PUBLISHED_NAIVE = 41.6, 12.3


def figure(
    name: str,
    value: float,
    goal: float,
    better: str = "lower",
    baselines: dict[str, float] | None = None,
    details: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """One row of the result, printed when it is known."""
    row: dict[str, Any] = {"name": name, "value": value, "unit": "%", "goal": goal, "better": better}
    row["baselines"] = {key: round(item, 2) for key, item in (baselines or {}).items()}
    if details:
        row["details"] = details
    met = value <= goal if better == "lower" else value >= goal
    beside = "   ".join(f"{key} {item}" for key, item in row["baselines"].items())
    print(f"{'ok ' if met else 'NOT'} {name:34} {value:8.3g} %  goal {goal:g}   {beside}", flush=True)
    return row


def by(outcomes: list[Outcome], key: Any) -> dict[str, list[Outcome]]:
    found: dict[str, list[Outcome]] = {}
    for one in outcomes:
        found.setdefault(key(one.case), []).append(one)
    return dict(sorted(found.items()))


def table(outcomes: list[Outcome], title: str) -> dict[str, float]:
    print(f"\n{title}")
    found: dict[str, float] = {}
    for source, inside in by(outcomes, lambda case: case.row.source).items():
        found[source] = round(percent(inside), 2)
        print(
            f"  {source[-58:]:58} {len(inside):4} rows {found[source]:6.1f} %"
            f"  covered {coverage_percent(inside):4.0f} %"
        )
        for model, rows in by(inside, lambda case: case.row.model).items():
            print(
                f"      {model[:34]:34} {len(rows):4} rows {percent(rows):6.1f} %"
                f"  bias {bias_percent(rows):+6.1f} %"
            )
    return found


def families(everything: list[Case]) -> tuple[list[dict[str, Any]], list[Outcome]]:
    outcomes = left_out(everything, lambda case: case.family)
    found = table(outcomes, "A model family of a source left out:")
    big = set(big_sources(everything))
    barred = [one for one in outcomes if one.case.row.source in big]
    rows = [
        figure(
            "mape_leave_family_out_percent",
            percent(barred),
            7,
            baselines=_mean_mfu(everything, big),
            details=found,
        ),
        figure("coverage_of_90_percent_interval", coverage_percent(barred), 85, "higher"),
        figure("coverage_all_sources", coverage_percent(outcomes), 80, "higher"),
    ]
    return rows, outcomes


def _mean_mfu(everything: list[Case], sources: set[str]) -> dict[str, float]:
    """The baseline: the mean utilisation of the other families on the same device."""
    errors: list[float] = []
    for case in everything:
        if case.row.source not in sources:
            continue
        beside = [
            mfu(other)
            for other in everything
            if other.row.source == case.row.source
            and other.row.accelerator == case.row.accelerator
            and other.row.model != case.row.model
        ]
        errors.append(abs(sum(beside) / len(beside) / mfu(case) - 1))
    return {"mean MFU of the device": 100 * sum(errors) / len(errors)}


def devices(everything: list[Case]) -> list[dict[str, Any]]:
    trials = unseen_everywhere(everything)
    big = set(big_sources(everything))
    print("\nA device in no row of the fit, three rows to calibrate with:")
    for one in trials:
        print(f"  {one.source[-58:]}  rows {', '.join(one.calibration)}")
        print(show(one, "all others"))
    print("\nThe same from one device of the source alone:")
    for known, one in pairs(everything):
        print(show(one, known) + f"  {one.source[-30:]}")
    inside = [one for one in trials if one.source in big]

    def mean(name: str) -> float:
        return percent([item for one in inside for item in getattr(one, name)])

    baselines = {
        "uncalibrated": mean("uncalibrated"),
        "other devices' MFU": mean("others_mfu"),
        "mean MFU of three rows": mean("mean_mfu"),
        "published, uncalibrated": PUBLISHED_UNCALIBRATED,
        "published, naive": PUBLISHED_NAIVE,
    }
    details = {f"{one.source} {one.device}": round(percent(one.calibrated), 2) for one in trials}
    covered = coverage_percent([item for one in inside for item in one.calibrated])
    return [
        figure("mape_unseen_gpu_percent", mean("calibrated"), 10, baselines=baselines, details=details),
        figure("coverage_unseen_gpu", covered, 80, "higher"),
    ]


def regrets(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    found = choices(outcomes)
    print("\nChoosing the cheapest by prediction (the family unseen):")
    for one in found:
        print(
            f"  {one.source[-40:]:40} {one.model[:16]:16} S={one.seq_len:<6} {one.options:3} options"
            f"  regret {one.regret_percent:5.2f} %   middle {one.middle_percent:5.1f} %"
            f"  worst {one.worst_percent:5.1f} %"
        )
    mean = _mean([one.regret_percent for one in found])
    baselines = {
        "middle option": _mean([one.middle_percent for one in found]),
        "worst option": _mean([one.worst_percent for one in found]),
        "largest regret": max(one.regret_percent for one in found),
    }
    return [figure("regret_percent", mean, 5, baselines=baselines, details={"choices": len(found)})]


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def guards(everything: list[Case]) -> list[dict[str, Any]]:
    """What would show that the fit is to the rows and not to what lies behind them."""
    found: list[dict[str, Any]] = []
    for source in big_sources(everything):
        inside = [case for case in everything if case.row.source == source]
        outcomes, widths = nested(inside)
        print(f"\nNested, {source}: widths of priors {widths}")
        found.append(figure("mape_nested_percent", percent(outcomes), 7))
        found.append(figure("mape_two_families_out_percent", percent(two_left_out(inside)), 10))
    whole = left_out(everything, lambda case: case.row.source)
    details = table(whole, "A whole source left out (its software is not known):")
    found.append(figure("mape_leave_source_out_percent", percent(whole), 30, details=details))
    model = fit_on(everything)
    seen = table([outcome(case, model) for case in everything], "Seen rows:")
    print(f"  {len(everything)} rows, {len(seen)} sources")
    return found


def others(path: Path) -> None:
    model = fit_on(cases())
    outcomes = [outcome(case, model) for case in cases(path)]
    table(outcomes, f"Rows of {path.name}, by a fit of all rows in the package:")
    picked: list[Choice] = choices(outcomes)
    for one in picked:
        print(f"  {one.model} S={one.seq_len}: {one.options} options, regret {one.regret_percent:.2f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=Path, help="a table of the same columns, to predict")
    path = parser.parse_args().rows
    if path is not None:
        others(path)
        return
    everything = cases()
    rows, outcomes = families(everything)
    rows += regrets(outcomes)
    rows += devices(everything)
    rows += guards(everything)
    where = {"python": platform.python_version(), "machine": platform.machine()}
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "throughput.json").write_text(
        json.dumps([{**row, "where": where} for row in rows], indent=2) + "\n"
    )


if __name__ == "__main__":
    main()
