"""How fast plans are made, and how a node and a transfer are priced by several rules.

Prints tables and writes benchmarks/out/planner.json; every figure is measured side by side in this run.
"""

from __future__ import annotations

import json
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from headway.catalog.tables import accelerators, instance_types, on_demand_prices, service_prices
from headway.controller.offerings import device_offering
from headway.controller.quotes import Quote
from headway.costing.attribution import Holding, NodeBill, attribute
from headway.costing.market import service_tiers
from headway.costing.sharing import RULES, amounts
from headway.costing.tiers import tiered
from headway.planner.predict import memory_bytes, predict
from headway.planner.search import HEADROOM, node_counts, plan, recipes
from headway.planner.types import Limits, Offering, Work
from headway.profile.closed_form import profile_of
from headway.profile.configs import shape_of

OUT = Path(__file__).resolve().parents[1] / "out"
LIMITS = Limits(1, None, None, None, None, ("any",), "internal", "bf16")
CANDIDATES = 10_000
ROUNDS = 5
HOUR = 3_600_000_000


def offerings() -> list[Offering]:
    """Machines of the catalogue with a current price, in as many shapes as make 10,000 candidates."""
    kinds = instance_types()
    priced = {
        row.instance: row for row in on_demand_prices() if row.effective_to is None and row.currency == "USD"
    }
    found: list[Offering] = []
    count, size = 0, 1
    while count < CANDIDATES:
        for name, row in sorted(priced.items()):
            kind = kinds.get(name)
            if kind is None or kind.accelerator not in accelerators() or kind.accelerator_count < 1:
                continue
            device = accelerators()[kind.accelerator]
            if "bf16" not in device.peak_flops or count >= CANDIDATES:
                continue
            devices = int(kind.accelerator_count)
            each = Quote(Decimal(row.price_text) / devices, row.currency, "list price", row.source)
            one = device_offering(device, devices, each)
            # Equal hardware is laid out once: these differ by a few bytes of memory, so that each is tried.
            other = one.memory_bytes - len(found)
            one = replace(one, key=f"{name}/{size}", instance=name, max_nodes=8 * size, memory_bytes=other)
            found.append(one)
            count += sum(
                len(list(recipes(work(), nodes * devices, nodes))) for nodes in node_counts(one, LIMITS)
            )
        size += 1
    return found


def work() -> Work:
    """BERT-Large with all exact layer techniques allowed."""
    shape = shape_of("bert-large", {})
    return Work(profile_of(shape), 40_000_000, 1024, profile_of(shape, lean=True))


def brute(of: Work, among: list[Offering]) -> tuple[Decimal, int]:
    """The least cost by predicting every candidate whole, and how many there were."""
    best, count = Decimal("Infinity"), 0
    for offering in among:
        for nodes in node_counts(offering, LIMITS):
            devices = nodes * offering.devices
            for recipe in recipes(of, devices, nodes):
                count += 1
                if devices > of.global_batch:
                    continue
                if memory_bytes(of, recipe, devices, offering.devices) <= HEADROOM * offering.memory_bytes:
                    best = min(best, predict(of, recipe, offering, nodes).cost or best)
    return best, count


def seconds(do: Callable[[], object]) -> float:
    taken: list[float] = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        do()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def shared_node() -> list[tuple[str, list[Decimal]]]:
    """A p5.48xlarge for an hour: three pods, by each rule, and what stays idle."""
    bill = NodeBill("p5", 0, HOUR, 55_040_000_000, Decimal("55.04"), amounts(8, 192, 2048))
    pods = [
        Holding("a", 0, HOUR, amounts(4, 48, 512)),
        Holding("b", 0, HOUR, amounts(2, 24, 256)),
        Holding("c", 0, HOUR // 2, amounts(1, 12, 128)),
    ]
    return [
        (
            name,
            [
                Decimal(sum(part.amount_nano for part in attribute(bill, pods, rule) if part.run_id == run))
                / 10**9
                for run in ("a", "b", "c", "")
            ],
        )
        for name, rule in RULES.items()
    ]


def main() -> None:
    """Measure, print, write."""
    of, among = work(), offerings()
    best, count = brute(of, among)
    planned = seconds(lambda: plan(of, among, LIMITS))
    plain = seconds(lambda: brute(of, among))
    chosen = plan(of, among, LIMITS).chosen
    assert chosen is not None
    assert chosen.prediction is not None
    assert chosen.prediction.cost == best, "the plan is not the brute-force optimum"
    closed = seconds(lambda: profile_of(shape_of("bert-large", {})))
    tiers = service_tiers(service_prices(), "data-transfer", "out to internet", "us-east-1")
    egress = tiered(Decimal(60_000), tiers)
    whole = RULES["gpu-anchored"](amounts(8, 192, 2048), Fraction("55.04"), {"a": amounts(8, 16, 64)})["a"]
    where = {"python": platform.python_version(), "machine": platform.machine()}
    rows: list[dict[str, Any]] = [
        {
            "name": "plan_10k_seconds", "value": round(planned, 4), "unit": "s", "goal": 0.3,
            "better": "lower", "baselines": {"every_candidate_predicted_whole": round(plain, 4)},
            "candidates": count, "where": where,
        },
        {
            "name": "closed_form_profile_seconds", "value": round(closed, 6), "unit": "s", "goal": 0.01,
            "better": "lower", "baselines": {}, "where": where,
        },
        {
            "name": "egress_60000_gb_usd", "value": float(egress.amount), "unit": "USD", "goal": 5019.20,
            "better": "equal", "baselines": {"tiers_of_another_tool_reported": 1407.91}, "where": where,
        },
        {
            "name": "pod_with_all_gpus_share_of_node", "value": float(whole), "unit": "share", "goal": 1.0,
            "better": "equal",
            "baselines": {
                name: round(
                    float(
                        RULES[name](amounts(8, 192, 2048), Fraction("55.04"), {"a": amounts(8, 16, 64)})["a"]
                    ),
                    4,
                )
                for name in ("opencost", "scad")
            },
            "where": where,
        },
    ]  # fmt: skip
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "planner.json").write_text(json.dumps(rows, indent=2) + "\n")
    print(
        f"{len(among)} offerings, {count:,} candidates: {planned:.3f} s (goal 0.3);"
        f" each predicted whole {plain:.3f} s"
    )
    print(f"closed-form profile {closed * 1000:.2f} ms\n")
    print("p5.48xlarge for an hour, 55.04 USD: 4 GPUs / 2 GPUs / 1 GPU for half of it")
    print(f"{'rule':18} {'a':>8} {'b':>8} {'c':>8} {'idle':>8}")
    for name, parts in shared_node():
        print(f"{name:18} " + " ".join(f"{part:8.2f}" for part in parts))
    print(
        f"\na pod with 8 of 8 GPUs, 16 vCPU, 64 GiB pays {float(whole):.0%} of the node", rows[3]["baselines"]
    )
    print("\n60,000 GB out of us-east-1 in a month")
    for part in egress.parts:
        print(f"{part.quantity:>10,} GB at {part.price}: {part.amount:>10,.2f}")
    print(f"{'in all':>13} {egress.amount:>21,.2f} USD; one GB more costs {egress.marginal_price}")


if __name__ == "__main__":
    main()
