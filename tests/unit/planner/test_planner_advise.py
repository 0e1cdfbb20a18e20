"""Hardware or software: the answer is the brute-force optimum in every kind of situation."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from itertools import product

import pytest
from test_planner_search import BASE, LIMITS, WORK

from headway.planner.advise import HOURS, Setup, Terms, advise, shares_of
from headway.planner.predict import memory_bytes, predict, step_seconds
from headway.planner.search import HEADROOM, node_counts
from headway.planner.types import Recipe, Work
from headway.profile.closed_form import profile_of
from headway.profile.configs import shape_of

D = Decimal
BERT = shape_of("bert-large", {})
WORKS = {"bf16": WORK, "fp32": Work(profile_of(BERT, precision="fp32"), WORK.samples, WORK.global_batch)}
H100 = replace(
    BASE, key="s/h100", instance="h100.8x", memory_bytes=80 * 10**9, price_per_hour=D("55.04"),
    peak_flops={"bf16": 989e12, "fp32": 67e12}, node_watts=7700.0,
)  # fmt: skip
SMALL = replace(
    BASE, key="s/l4", devices=1, memory_bytes=22 * 10**9, peak_flops={"bf16": 121e12, "fp32": 30e12},
    price_per_hour=D("0.8048"), max_nodes=8, device_link_bytes_per_second=1e10,
    node_link_bytes_per_second=1.25e9, node_watts=100.0,
)  # fmt: skip
THIN = replace(BASE, key="s/thin", node_link_bytes_per_second=2e8, max_nodes=8)
TERMS = Terms(D(50), D(120), D(200), HOURS)
DDP = Recipe("ddp", False, 32)
HALF = Recipe("ddp", False, 16)
FULL = Recipe("fsdp", True, 16)

SCENARIOS = {
    "as it is": {},
    "data-bound": {"data": 60.0},
    "data-bound, few runs": {"data": 60.0, "terms": replace(TERMS, runs=D(1), day=D(0))},
    "data-bound, dear engineers": {"data": 30.0, "terms": replace(TERMS, hour=D(100_000))},
    "communication-bound": {"offering": THIN, "nodes": 8, "recipe": HALF},
    "communication-bound, one run": {
        "offering": THIN,
        "nodes": 8,
        "recipe": HALF,
        "terms": replace(TERMS, runs=D(1)),
    },
    "memory-bound": {"recipe": FULL},
    "memory-bound, small device": {"offering": SMALL, "nodes": 8, "recipe": FULL},
    "fp32": {"precision": "fp32", "recipe": FULL},
    "fp32, one run": {"precision": "fp32", "recipe": FULL, "terms": replace(TERMS, runs=D(1), day=D(0))},
    "under-utilised": {"offering": replace(BASE, efficiency=replace(BASE.efficiency, expected=0.1))},
    "deadline": {"limits": replace(LIMITS, deadline_seconds=4 * 3600.0)},
    "deadline nobody meets": {"limits": replace(LIMITS, deadline_seconds=60.0)},
    "budget": {"limits": replace(LIMITS, budget=D(40), budget_currency="USD")},
    "delay is dear": {"terms": replace(TERMS, day=D(100_000))},
    "delay costs nothing": {"terms": replace(TERMS, day=D(0))},
    "price shock here": {"prices": {"site/pool": "200"}},
    "price shock elsewhere": {"prices": {"s/h100": "5"}},
    "spot is shaken": {"spot": 1.0},
    "one node only": {"limits": replace(LIMITS, max_devices=8)},
    "many runs": {"terms": replace(TERMS, runs=D(5000))},
    "no runs to come": {"terms": replace(TERMS, runs=D(0))},
    "lean layers": {"lean": True},
    "lean layers, memory-bound": {"lean": True, "recipe": FULL, "offering": SMALL, "nodes": 8},
}


def brute(works, now, offerings, limits, terms) -> D:  # noqa: C901 - plain on purpose
    """The least total by trying everything in the plainest way."""
    best: D | None = None
    sizes = [1 << i for i in range(12)]
    shapes = list(product(("ddp", "zero1", "fsdp", "hsdp"), (False, True), (False, True), sizes))
    for offering, (precision, work), mended in product(offerings, works.items(), (False, True)):
        if mended and now.data_seconds is None:
            continue
        for nodes in {*node_counts(offering, limits), *([now.nodes] if offering is now.offering else [])}:
            devices = nodes * offering.devices
            for sharding, recompute, lean, micro in shapes:
                recipe = Recipe(sharding, recompute, micro, lean)
                if (lean and work.lean is None) or micro * devices > work.global_batch:
                    continue
                if (sharding != "ddp" and devices == 1) or (sharding == "hsdp" and not 1 < nodes < devices):
                    continue
                if memory_bytes(work, recipe, devices, offering.devices) > HEADROOM * offering.memory_bytes:
                    continue
                found = predict(work, recipe, offering, nodes)
                step = step_seconds(work, recipe, offering, nodes, offering.efficiency.expected)
                stall = 0.0
                if now.data_seconds is not None and not mended:
                    stall = max(0.0, now.data_seconds / nodes - step)
                seconds = offering.start_seconds
                seconds += (found.seconds.expected - offering.start_seconds) * (1 + stall / step)
                cost = found.cost * D(repr(seconds / found.seconds.expected))
                if limits.deadline_seconds is not None and seconds > limits.deadline_seconds:
                    continue
                if limits.budget is not None and cost > limits.budget:
                    continue
                hours = HOURS["data"] * mended + HOURS["precision"] * (precision != now.precision)
                one, other = now.recipe, recipe
                hours += HOURS["recipe"] * (
                    (one.sharding, one.recompute, one.lean) != (other.sharding, other.recompute, other.lean)
                )
                if offering.key != now.offering.key:
                    hours += HOURS["machines"]
                elif nodes != now.nodes:
                    hours += HOURS["nodes"]
                total = terms.runs * (cost + D(repr(seconds)) / 86400 * terms.day) + hours * terms.hour
                best = total if best is None else min(best, total)
    return best


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_answer_is_the_brute_force_optimum(name: str) -> None:
    case = SCENARIOS[name]
    works = WORKS
    if case.get("lean"):
        works = {
            key: replace(work, lean=profile_of(BERT, precision=key, lean=True)) for key, work in WORKS.items()
        }
    prices = case.get("prices", {})

    def at(offering):
        shaken = replace(offering, interruptions_per_hour=case.get("spot", 0.0))
        return replace(shaken, price_per_hour=D(prices.get(offering.key, f"{offering.price_per_hour}")))

    offering = at(case.get("offering", BASE))
    now = Setup(
        offering,
        case.get("nodes", 1),
        case.get("recipe", DDP),
        case.get("precision", "bf16"),
        case.get("data"),
    )
    offerings = [offering, *(at(one) for one in (BASE, H100, SMALL) if one.key != offering.key)]
    limits, terms = case.get("limits", LIMITS), case.get("terms", TERMS)
    found = advise(works, now, offerings, limits, terms)
    expected = brute(works, now, offerings, limits, terms)
    assert found is not None
    if expected is None:
        assert found.best == found.now, "nothing meets the limits: stay"
    else:
        assert abs(found.best.total - expected) <= D("1e-9") * expected
        assert found.best.total <= found.now.total or limits is not LIMITS
    assert found.options[0].total == found.best.total
    for crossing in found.crossings:
        if crossing.at is not None and crossing.better is not None:
            assert crossing.at >= 0
            moved = replace(terms, **{crossing.name: crossing.at})
            a, b = (
                moved.runs * (one.run_cost + D(repr(one.seconds)) / 86400 * moved.day)
                + one.hours * moved.hour
                for one in (found.best, crossing.better)
            )
            assert abs(a - b) <= D("1e-6") * max(D(1), abs(a))


def test_each_bottleneck_is_named() -> None:
    def bound(**of):
        return shares_of(
            WORK, Setup(of.get("offering", BASE), of.get("nodes", 1), DDP, "bf16", of.get("data"))
        )

    assert bound().bound == "compute"
    assert bound(data=60.0).bound == "data"
    slow = replace(THIN, node_link_bytes_per_second=2e7)
    assert bound(offering=slow, nodes=8).bound == "communication"
    shares = bound(data=60.0)
    assert shares.compute + shares.communication + shares.data == pytest.approx(1)


def test_what_has_no_price_is_not_advised_upon() -> None:
    now = Setup(replace(BASE, price_per_hour=None), 1, DDP, "bf16")
    assert advise(WORKS, now, [H100], LIMITS, TERMS) is None


def test_a_present_setup_that_cannot_be_is_not_advised_upon() -> None:
    """More samples at once than the batch has: its time would be of another run."""
    now = Setup(THIN, 8, DDP, "bf16")
    assert advise(WORKS, now, [H100], LIMITS, TERMS) is None


def test_totals_of_any_size_are_ranked() -> None:
    endless = replace(TERMS, runs=D(10) ** 24)
    found = advise(WORKS, Setup(BASE, 1, DDP, "bf16"), [BASE, H100], LIMITS, endless)
    assert found is not None
    assert found.best.total > 10**24
