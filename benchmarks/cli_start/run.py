"""How long the command line takes to start: `--help` over bare Python, and a plan.

Prints a table and writes benchmarks/out/cli_start.json; every figure is measured side by side in this run.
"""

from __future__ import annotations

import json
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
ROUNDS = 15


def seconds(*command: str) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    commands = {
        "bare": (str(BIN / "python"), "-c", "pass"),
        "help": (str(BIN / "headway"), "--help"),
        "plan": (str(BIN / "headway"), "plan", "jobs/plans/bert-large.yaml", "-o", "json"),
    }
    for command in commands.values():
        seconds(*command)  # what is measured is a warm start
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            taken[name].append(seconds(*command))
    middle = {name: statistics.median(values) for name, values in taken.items()}
    where = {"python": platform.python_version(), "machine": platform.machine()}
    rows = [
        ("help_extra_seconds", middle["help"] - middle["bare"], 0.25),
        ("plan_seconds", middle["plan"], 0.6),
    ]
    results = [
        {
            "name": name,
            "value": round(value, 4),
            "unit": "s",
            "goal": goal,
            "better": "lower",
            "baselines": {"bare_python_seconds": round(middle["bare"], 4)},
            "where": where,
        }
        for name, value, goal in rows
    ]
    out = ROOT / "benchmarks" / "out"
    out.mkdir(parents=True, exist_ok=True)
    (out / "cli_start.json").write_text(json.dumps(results, indent=2) + "\n")
    for name, value, goal in rows:
        print(f"{name:22} {value:.3f} s   goal {goal} s   bare Python {middle['bare']:.3f} s")


if __name__ == "__main__":
    main()
