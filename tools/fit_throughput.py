# ruff: noqa: INP001 - a script, not a package
"""Fit the throughput model's constants on the published rows in the package, and write them beside the rows.

Usage: python tools/fit_throughput.py [--check]. The same rows give the same file, but for the date. With
--check nothing is written, and the exit code says whether the file is what the rows give.
"""

from __future__ import annotations

import hashlib
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headway.catalog.tables import accelerators, data_bytes
from headway.catalog.throughput import FIT_NAME, ROWS_NAME, throughput_rows
from headway.planner.throughput.constants import PRIORS
from headway.planner.throughput.fit import fitted
from headway.planner.throughput.model import model_from
from headway.planner.throughput.published import observations
from headway.planner.throughput.spreads import family_spreads

DATA = Path(__file__).resolve().parents[1] / "platform" / "headway" / "catalog" / "data"
TOOL = "tools/fit_throughput.py"


def rounded(value: float) -> float:
    """Six digits: what libraries of different machines agree on."""
    return float(f"{value:.6g}")


def content() -> dict[str, Any]:
    """The file's content without its date."""
    rows = observations(throughput_rows(), accelerators())
    fit = fitted(rows)
    model = model_from(fit, family_spreads(rows, fit))
    return {
        "about": "constants of planner/throughput, fitted; corrections, noise and spreads are of logarithms",
        "tool": TOOL,
        "rows": {
            "file": ROWS_NAME,
            "sha256": hashlib.sha256(data_bytes(ROWS_NAME)).hexdigest(),
            "used": len(rows),
        },
        "devices_sha256": hashlib.sha256(data_bytes("accelerators.csv")).hexdigest(),
        "constants": {name: rounded(getattr(model.constants, name)) for name in PRIORS},
        "corrections": {
            key: [rounded(mean), rounded(deviation)]
            for key, (mean, deviation) in sorted(model.corrections.items())
        },
        "noise": {stack: rounded(value) for stack, value in sorted(model.noise.items())},
        "family_spreads": {stack: rounded(value) for stack, value in sorted(model.family_spreads.items())},
    }


def difference(left: object, right: object) -> float:
    """The largest difference of figures: relative for large ones, absolute for those below one."""
    if isinstance(left, dict) and isinstance(right, dict):
        if left.keys() != right.keys():
            return float("inf")
        return max((difference(left[key], right[key]) for key in left), default=0.0)
    if isinstance(left, list) and isinstance(right, list):
        pairs = zip(left, right, strict=True)
        return max((difference(a, b) for a, b in pairs), default=0.0)
    if isinstance(left, int | float) and isinstance(right, int | float):
        return abs(left - right) / max(1e-4, abs(left), abs(right)) if abs(left - right) > 1e-5 else 0.0
    return 0.0 if left == right else float("inf")


def main() -> int:
    """Write the file, or check it."""
    path = DATA / FIT_NAME
    found = content()
    if "--check" in sys.argv[1:]:
        shipped = json.loads(path.read_text(encoding="utf-8"))
        shipped.pop("date", None)
        apart = difference(shipped, found)
        print(f"{FIT_NAME}: largest difference {apart:.2g}")
        return int(apart > 1e-3)
    found["date"] = datetime.now(tz=UTC).date().isoformat()
    path.write_text(json.dumps(found, indent=1, sort_keys=False) + "\n", encoding="utf-8")
    print(f"{path.name}: {found['rows']['used']} rows, {len(found['constants'])} constants")
    return 0


if __name__ == "__main__":
    sys.exit(main())
