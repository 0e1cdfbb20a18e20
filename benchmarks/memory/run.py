"""Memory: predicted against real and published peaks, bytes kept, the loss head, gradient traffic, limits.

Prints a table and writes benchmarks/out/memory.json; everything is measured in this run, side by side with
eager PyTorch, Tempo's closed form, selective checkpointing, torch.compile's partitioner, PyTorch's chunked
loss, and Liger-Kernel where it runs. Takes about ten minutes on two cores.
"""

from __future__ import annotations

import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import layer_cases
import limit_cases
import loss_cases
import profile_cases
import torch
import traffic_cases

OUT = Path(__file__).resolve().parents[1] / "out"


def figure(
    name: str,
    value: float,
    unit: str,
    goal: float,
    better: str,
    baselines: dict[str, Any] | None = None,
    details: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """One row of the result, printed when it is known."""
    row: dict[str, Any] = {"name": name, "value": value, "unit": unit, "goal": goal, "better": better}
    row["baselines"] = baselines or {}
    if details:
        row["details"] = details
    met = value <= goal if better == "lower" else value >= goal
    beside = "   ".join(f"{key} {item}" for key, item in row["baselines"].items())
    print(f"{'ok ' if met else 'NOT'} {name:32} {value:12.5g} {unit:14} goal {goal:g}   {beside}", flush=True)
    return row


def predictions() -> list[dict[str, Any]]:
    errors = profile_cases.peak_errors_percent()
    batches = profile_cases.tempo_batches()
    reserved = profile_cases.reserved_percent()
    worst = max(abs(ours - published) for published, ours in batches.values())
    shown = {
        f"{p}{', Tempo' if t else ''}": f"{a} published, {b} predicted" for (p, t), (a, b) in batches.items()
    }
    return [
        figure("peak_error_percent_max", max(errors.values()), "%", 0.5, "lower", details=errors),
        figure("peak_configurations", len(errors), "", 24, "higher"),
        figure("tempo_batch_error_max", worst, "samples", 1, "lower", details=shown),
        figure(
            "reserved_error_percent",
            abs(reserved[8]),
            "%",
            5,
            "lower",
            details={str(k): v for k, v in reserved.items()},
        ),
        figure("profile_70b_seconds", profile_cases.profile_70b_seconds(), "s", 20, "lower"),
        figure("closed_form_plan_ms", profile_cases.closed_form_plan_ms(), "ms", 10, "lower"),
    ]


def layers() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for family, goal in (("encoder", 22.1), ("decoder", 25.07)):
        build = layer_cases.encoder if family == "encoder" else layer_cases.decoder
        table: dict[int, dict[str, float]] = {}
        for length in layer_cases.LENGTHS:

            def fused(build: Any = build) -> Any:
                return build("sdpa")

            table[length] = {
                "ours": layer_cases.kept(fused, layer_cases.LEAN, length)[0],
                "eager": layer_cases.kept(lambda build=build: build("eager"), layer_cases.Recipe(), length)[
                    0
                ],
                "fused attention": layer_cases.kept(fused, layer_cases.Recipe(), length)[0],
                "SAC": layer_cases.kept(fused, layer_cases.POLICY, length)[0],
                "torch.compile": layer_cases.partitioned(family, length),
                **({"Tempo": layer_cases.tempo(length)} if family == "encoder" else {}),
            }
        worst = max(table, key=lambda length: table[length]["ours"])
        others = {name: round(value, 2) for name, value in table[worst].items() if name != "ours"}
        details = {str(length): values for length, values in table.items()}
        rows.append(
            figure(
                f"{family}_bytes_per_bsh", table[worst]["ours"], "B/(B·S·h)", goal, "lower", others, details
            )
        )
    return rows


def loss() -> list[dict[str, Any]]:
    found = loss_cases.measure(32768, torch.float32)
    eager = found["eager"]
    assert eager is not None
    share = {name: None if value is None else round(100 * value / eager, 2) for name, value in found.items()}
    ours = share.pop("ours")
    assert ours is not None
    return [figure("loss_head_peak_percent", ours, "% of eager", 15, "lower", share)]


def traffic() -> list[dict[str, Any]]:
    found = traffic_cases.measure()
    plain = float(found["plain"]["bytes_per_step"])  # pyright: ignore[reportArgumentType]
    ratio = {name: plain / float(item["bytes_per_step"]) for name, item in found.items()}  # pyright: ignore[reportArgumentType]
    curves = {name: item["losses"] for name, item in found.items()}
    return [
        figure("bf16_traffic_ratio", ratio["bf16"], "x", 1.98, "higher"),
        figure(
            "powersgd_traffic_ratio", ratio["powersgd r=4"], "x", 50, "higher", details={"losses": curves}
        ),
    ]


def limits() -> list[dict[str, Any]]:
    fits, size, over, more = limit_cases.chosen()
    allowed = round(size * (1 + limit_cases.MARGIN))
    good, bad = limit_cases.run_limited(fits, allowed), limit_cases.run_limited(over, allowed)
    details = {
        "micro_batch": fits, "predicted_bytes": size, "limit_bytes": allowed, "said": good.said,
        "over_micro_batch": over, "over_bytes": more, "over_exit": bad.code,
    }  # fmt: skip
    return [
        figure("chosen_batch_exit_code", good.code, "", 0, "lower", details=details),
        figure("batch_25_percent_over_is_killed", float(bad.code != 0), "", 1, "higher"),
    ]


def main() -> None:
    where = {
        "python": platform.python_version(), "machine": platform.machine(), "torch": version("torch"),
        "transformers": version("transformers"),
    }  # fmt: skip
    rows = [*layers(), *loss(), *traffic(), *predictions(), *limits()]
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "memory.json").write_text(json.dumps([{**row, "where": where} for row in rows], indent=2) + "\n")


if __name__ == "__main__":
    main()
