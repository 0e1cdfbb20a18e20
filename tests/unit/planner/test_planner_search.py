"""Plans: every offering has its verdict, the best is never dominated, more offerings never cost more."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.planner.predict import interruption_overhead, memory_bytes, predict
from headway.planner.search import node_counts, plan, recipes
from headway.planner.types import Efficiency, Limits, Offering, Recipe, Verdict, Work
from headway.profile.closed_form import profile_of
from headway.profile.configs import shape_of

WORK = Work(profile_of(shape_of("bert-large", {})), samples=1_000_000, global_batch=1024)
LIMITS = Limits(1, None, None, None, None, ("any",), "internal", "bf16")
BASE = Offering(
    key="site/pool",
    site="site",
    region="us-east-1",
    capacity="on-demand",
    instance="gpu.8x",
    accelerator="a100-40",
    accelerator_name="A100",
    devices=8,
    memory_bytes=42_000_000_000,
    peak_flops={"bf16": 312e12, "fp32": 19.5e12},
    device_link_bytes_per_second=300e9,
    node_link_bytes_per_second=50e9,
    max_nodes=4,
    price_per_hour=Decimal("21.957642"),
    currency="USD",
    price_basis="list price",
    price_source="table",
    tariff_per_kwh=None,
    node_watts=4400.0,
    pue=1.14,
    grams_per_kwh=415.0,
    interruptions_per_hour=0.0,
    start_seconds=300.0,
    efficiency=Efficiency(0.5, 0.4, 0.6, "published"),
    sensitivities=("public", "internal"),
    launchable=False,
)

offerings = st.lists(
    st.builds(
        lambda number, price, peak, memory, nodes, spot, grams: replace(
            BASE,
            key=f"s/{number}",
            price_per_hour=price,
            peak_flops={"bf16": peak},
            memory_bytes=memory,
            max_nodes=nodes,
            interruptions_per_hour=spot,
            grams_per_kwh=grams,
        ),
        number=st.integers(0, 10**6),
        price=st.one_of(st.none(), st.decimals("0.1", "200", places=3)),
        peak=st.floats(1e13, 2e15),
        memory=st.integers(2 * 10**9, 2 * 10**11),
        nodes=st.integers(1, 6),
        spot=st.sampled_from([0.0, 1 / 24, 1.0]),
        grams=st.one_of(st.none(), st.floats(1, 900)),
    ),
    min_size=1,
    max_size=7,
    unique_by=lambda offering: offering.key,
)


@given(offerings)
@settings(max_examples=150, deadline=None)
def test_every_offering_has_one_verdict_and_the_chosen_plan_is_never_dominated(found):
    result = plan(WORK, found, LIMITS)
    assert sorted(rival.offering.key for rival in result.rivals) == sorted(item.key for item in found)
    feasible = [
        rival
        for rival in result.rivals
        if rival.verdict in {Verdict.CHOSEN, Verdict.ALTERNATIVE, Verdict.DOMINATED}
    ]
    assert sum(rival.verdict is Verdict.CHOSEN for rival in result.rivals) == (1 if feasible else 0)
    if not feasible:
        return
    best = result.chosen.prediction
    for rival in feasible:
        other = rival.prediction
        assert not (
            other.cost <= best.cost
            and other.seconds.expected <= best.seconds.expected
            and (other.cost < best.cost or other.seconds.expected < best.seconds.expected)
        )


@given(offerings, offerings)
@settings(max_examples=80, deadline=None)
def test_adding_offerings_never_raises_the_best_cost(some, more):
    def best(found):
        chosen = plan(WORK, found, LIMITS).chosen
        return chosen.prediction.cost if chosen else Decimal("Infinity")

    renamed = [replace(item, key=f"more/{item.key}") for item in more]
    assert best([*some, *renamed]) <= best(some)


@given(offerings)
@settings(max_examples=200, deadline=None)
def test_the_best_cost_is_the_brute_force_one(found):
    costs = [
        predict(WORK, recipe, offering, nodes).cost
        for offering in found
        if offering.price_per_hour is not None
        for nodes in node_counts(offering, LIMITS)
        for recipe in recipes(WORK, nodes * offering.devices, nodes)
        if memory_bytes(WORK, recipe, nodes * offering.devices, offering.devices)
        <= 0.95 * offering.memory_bytes
    ]
    chosen = plan(WORK, found, LIMITS).chosen
    assert (chosen.prediction.cost if chosen else None) == (min(costs) if costs else None)


@given(offerings)
@settings(max_examples=30, deadline=None)
def test_a_plan_does_not_depend_on_the_order_of_the_offerings(found):
    def verdicts(items):
        return {rival.offering.key: rival.verdict for rival in plan(WORK, items, LIMITS).rivals}

    forward, backward = plan(WORK, found, LIMITS), plan(WORK, found[::-1], LIMITS)
    if forward.chosen:
        assert forward.chosen.prediction.cost == backward.chosen.prediction.cost
    assert verdicts(found).keys() == verdicts(found[::-1]).keys()


@pytest.mark.parametrize(
    ("change", "limits", "verdict", "message"),
    [
        ({}, {}, Verdict.CHOSEN, "plan.chosen_cheapest"),
        ({"price_per_hour": None}, {}, Verdict.UNPRICED, "plan.unpriced"),
        ({"memory_bytes": 1 << 30}, {}, Verdict.TOO_SMALL, "plan.too_small"),
        ({}, {"deadline_seconds": 60.0}, Verdict.TOO_SLOW, "plan.too_slow"),
        ({}, {"budget": Decimal(1), "budget_currency": "USD"}, Verdict.OVER_BUDGET, "plan.over_budget"),
        ({}, {"budget": Decimal(9), "budget_currency": "EUR"}, Verdict.UNSUITED, "plan.budget_currency"),
        ({}, {"sensitivity": "restricted"}, Verdict.FORBIDDEN, "plan.too_sensitive"),
        ({}, {"sites": ("other",)}, Verdict.FORBIDDEN, "plan.site_not_allowed"),
        ({"peak_flops": {"fp16": 1e14}}, {}, Verdict.UNSUITED, "plan.no_precision"),
        ({}, {"min_devices": 64}, Verdict.UNSUITED, "plan.wrong_size"),
        ({}, {"max_devices": 4}, Verdict.UNSUITED, "plan.machine_too_big"),
        ({}, {"min_devices": 9, "max_devices": 15}, Verdict.UNSUITED, "plan.no_whole_number"),
        ({}, {"processors_only": True}, Verdict.UNSUITED, "plan.processors_only"),
        ({"processor": True}, {"processors_only": True}, Verdict.CHOSEN, "plan.chosen_cheapest"),
        *(
            ({"price_per_hour": None, "capacity": capacity}, {}, Verdict.UNPRICED, message)
            for capacity, message in (
                ("on-demand", "plan.unpriced"),
                ("spot", "plan.unpriced"),
                ("reserved", "plan.unpriced_contract"),
                ("savings-plan", "plan.unpriced_contract"),
                ("block", "plan.unpriced_contract"),
            )
        ),
    ],
)
def test_each_reason_is_given(change, limits, verdict, message):
    (rival,) = plan(WORK, [replace(BASE, **change)], replace(LIMITS, **limits)).rivals
    assert (rival.verdict, rival.message) == (verdict, message)


@given(
    devices=st.integers(1, 16),
    machines=st.integers(1, 12),
    least=st.integers(1, 200),
    span=st.one_of(st.none(), st.integers(0, 40)),
)
def test_why_no_number_of_machines_will_do_is_true_by_its_own_numbers(devices, machines, least, span):
    most = None if span is None else least + span
    offering = replace(BASE, devices=devices, max_nodes=machines, memory_bytes=1 << 60)
    work = replace(WORK, global_batch=10**6)
    (rival,) = plan(work, [offering], replace(LIMITS, min_devices=least, max_devices=most)).rivals
    possible = [n * devices for n in range(1, machines + 1) if least <= n * devices <= (most or 10**9)]
    said = rival.values
    if possible:
        assert rival.verdict is Verdict.CHOSEN
    elif rival.message == "plan.machine_too_big":
        assert said["devices"] == devices > said["wanted"] == most
    elif rival.message == "plan.wrong_size":
        assert said["most"] == devices * machines < said["needed"] == least
    else:
        assert rival.message == "plan.no_whole_number"
        assert devices <= most
        assert devices * machines >= least
        assert said == {"devices": devices, "wanted": f"{least}..{most}" if span else f"{least}"}


@given(devices=st.integers(1, 16), machines=st.integers(1, 8), batch=st.integers(1, 64))
def test_a_batch_below_the_devices_names_the_smallest_layout_that_was_tried(devices, machines, batch):
    offering = replace(BASE, devices=devices, max_nodes=machines, memory_bytes=1 << 60)
    (rival,) = plan(replace(WORK, global_batch=batch), [offering], LIMITS).rivals
    if batch >= devices:
        assert rival.verdict is Verdict.CHOSEN
    else:
        assert rival.message == "plan.batch_below_devices"
        assert rival.values == {"devices": devices, "batch": batch}


def test_too_little_memory_is_told_of_a_layout_that_the_batch_fills():
    offering = replace(BASE, devices=2, max_nodes=4, memory_bytes=1 << 30)
    (rival,) = plan(replace(WORK, global_batch=4), [offering], LIMITS).rivals
    assert (rival.message, rival.values["devices"]) == ("plan.too_small", 4)


@pytest.mark.parametrize(
    ("change", "limits", "would"),
    [
        ({}, {"deadline_seconds": 60.0}, True),
        ({}, {"budget": Decimal(1), "budget_currency": "USD"}, True),
        ({}, {"sites": ("other",)}, False),
        ({"memory_bytes": 1 << 30}, {}, False),
        ({"price_per_hour": None}, {}, False),
        ({}, {"max_devices": 4}, False),
    ],
)
def test_only_a_larger_limit_would_let_an_offering_in(change, limits, would):
    result = plan(WORK, [replace(BASE, **change)], replace(LIMITS, **limits))
    assert result.chosen is None
    assert result.would_do is would


def test_a_slower_and_dearer_offering_is_dominated_by_name():
    worse = replace(BASE, key="worse", price_per_hour=Decimal(30), grams_per_kwh=500.0)
    result = plan(WORK, [worse, BASE], LIMITS)
    assert [rival.verdict for rival in result.rivals] == [Verdict.CHOSEN, Verdict.DOMINATED]
    assert result.rivals[1].values == {"better": "site/pool"}


def test_currencies_are_never_compared():
    euro = replace(BASE, key="euro", currency="EUR", price_per_hour=Decimal("0.01"))
    result = plan(WORK, [BASE, euro, replace(BASE, key="second")], LIMITS)
    assert result.chosen.offering.currency == "USD"


@pytest.mark.parametrize(("per_hour", "minutes", "overhead"), [(1 / 6, 26.8, 0.088), (1 / 24, 53.7, 0.041)])
def test_young_and_daly(per_hour, minutes, overhead):
    share, every = interruption_overhead(per_hour / 3600, 300)
    assert every / 60 == pytest.approx(minutes, abs=0.1)
    assert share == pytest.approx(overhead, abs=0.0005)


def test_sharding_and_recompute_need_less():
    plain = memory_bytes(WORK, Recipe("ddp", recompute=False, micro_batch=8), 8)
    sharded = memory_bytes(WORK, Recipe("fsdp", recompute=False, micro_batch=8), 8)
    lean = memory_bytes(WORK, Recipe("fsdp", recompute=True, micro_batch=8), 8)
    assert lean < sharded < plain


def test_spot_takes_longer_than_on_demand_on_the_same_machine():
    recipe = Recipe("ddp", recompute=False, micro_batch=8)
    calm = predict(WORK, recipe, BASE, 1)
    spot = predict(WORK, recipe, replace(BASE, interruptions_per_hour=1 / 24), 1)
    assert spot.seconds.expected > calm.seconds.expected
    assert spot.interruptions > 0
    assert calm.checkpoint_every_seconds is None
    assert calm.seconds.low < calm.seconds.expected < calm.seconds.high
    assert calm.cost_low < calm.cost < calm.cost_high
