"""Published figures, reproduced: vendors' break-evens, AWS's own split of a node, its transfer prices."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from headway.catalog.tables import service_prices
from headway.costing.attribution import Holding, NodeBill, attribute
from headway.costing.breakeven import (
    break_even_utilisation,
    energy_per_hour,
    hours_to_break_even,
    mean_tariff,
    nodes_to_own,
    owned_hour,
)
from headway.costing.carbon import Sourced, embodied, operational, run_carbon
from headway.costing.commitments import Commitment, Covered, effective_rate, split_commitment
from headway.costing.market import service_tiers
from headway.costing.owned import OwnedServer, fixed_cost_per_hour
from headway.costing.sharing import RULES, Amounts, amounts, scad_with_unused, slice_of
from headway.costing.tiers import Tier, tiered
from headway.costing.work_done import Kept, per_unit
from headway.errors import DataError, UserError

D = Decimal
HOUR = 3_600_000_000
LENOVO = D(833_806)


@pytest.mark.parametrize(
    ("rented", "hours"), [("98.32", 8_556), ("55.04", 15_392), ("39.80", 21_418), ("14.582", 60_808)]
)
def test_lenovos_server_breaks_even_after(rented: str, hours: int) -> None:
    """Lenovo Press LP2225 (8,556 h), and the same at later prices."""
    found = hours_to_break_even(LENOVO, D("0.87"), D(rented))
    assert found is not None
    assert round(found) == hours


def test_lenovos_five_years() -> None:
    assert round(LENOVO + D("0.87") * 43_800) == 871_912
    assert D("98.32") * 43_800 == 4_306_416


def test_deepseek_v3s_training() -> None:
    """Technical report: 2,664k + 119k + 5k H800 hours at 2 USD; 14.8 T tokens in pretraining."""
    stages = [D(hours) * 1000 * 2 for hours in (2664, 119, 5)]
    assert stages == [5_328_000, 238_000, 10_000]
    assert sum(stages) == 5_576_000
    cost = per_unit(stages[0], Kept(tokens=14_800_000_000_000))["1m_tokens"]
    assert round(cost, 2) == D("0.36")
    assert round(D(180_000) / 2048 / 24, 1) == D("3.7")


def test_awss_own_example_of_a_split_node() -> None:
    """User guide of split cost allocation data: p3.16xlarge at 10 USD, four pods."""
    node = amounts(8, 64, 488)
    asked = {"1": (1, 16, 100), "2": (3, 18, 140), "3": (2, 16, 100), "4": (2, 16, 100)}
    shares = scad_with_unused(node, Fraction(10), {name: amounts(*pod) for name, pod in asked.items()})
    found = [round(D(share.numerator) * 10 / share.denominator, 4) for share in shares.values()]
    assert found == [D("1.9089"), D("3.2644"), D("2.4134"), D("2.4134")]
    assert sum(shares.values()) == 1


def test_transfer_by_tiers() -> None:
    tiers = service_tiers(service_prices(), "data-transfer", "out to internet", "us-east-1")
    golden = tiered(D(10_240 + 40_960 + 5_800), tiers)
    assert [part.amount for part in golden.parts] == [D("921.60"), D("3481.60"), D("406.00")]
    sixty = tiered(D(60_000), tiers)
    assert sixty.amount == D("5019.20")
    assert sixty.marginal_price == D("0.07")
    assert round(sixty.average_price or 0, 5) == D("0.08365")
    assert tiered(D(163_840), tiers).amount == D("12083.20")
    assert tiered(D(1), tiers, before=D(10_240)).amount == D("0.085")
    assert tiered(D(0), tiers).average_price is None
    with pytest.raises(DataError, match="none is borrowed"):
        service_tiers(service_prices(), "data-transfer", "out to internet", "mars-1")


@pytest.mark.parametrize(
    "tiers",
    [
        [],
        [Tier(D(1), None, D(1))],
        [Tier(D(0), D(5), D(1))],
        [Tier(D(0), D(5), D(1)), Tier(D(6), None, D(1))],
        [Tier(D(0), None, D(1)), Tier(D(5), None, D(1))],
        [Tier(D(0), D(0), D(1)), Tier(D(0), None, D(1))],
    ],
)
def test_tiers_that_do_not_follow_one_another_are_refused(tiers: list[Tier]) -> None:
    with pytest.raises(DataError):
        tiered(D(3), tiers)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("gpu-anchored", ("27.52", "13.76", "3.44", "10.32")),
        ("residual", ("23.88", "11.94", "2.99", "16.23")),
        ("opencost", ("18.44", "9.22", "2.30", "25.08")),
        ("scad", ("15.96", "7.98", "2.00", "29.10")),
    ],
)
def test_three_pods_on_a_p5_for_an_hour(rule: str, expected: tuple[str, ...]) -> None:
    node = amounts(8, 192, 2048)
    bill = NodeBill("p5", 0, HOUR, 55_040_000_000, D("55.04"), node)
    pods = [
        Holding("a", 0, HOUR, amounts(4, 48, 512)),
        Holding("b", 0, HOUR, amounts(2, 24, 256)),
        Holding("c", 0, HOUR // 2, amounts(1, 12, 128)),
    ]
    parts = attribute(bill, pods, RULES[rule])
    found = [sum(part.amount_nano for part in parts if part.run_id == run) for run in ("a", "b", "c", "")]
    assert [round(D(nano) / 10**9, 2) for nano in found] == [D(text) for text in expected]
    assert sum(found) == bill.amount_nano


def test_pods_without_gpus_pay_for_what_they_take_and_gpus_carry_the_rest() -> None:
    node = amounts(8, 192, 2048)
    shares = RULES["gpu-anchored"](
        node, Fraction("55.04"), {"gpus": amounts(8, 1, 1), "data": amounts(0, 10, 100)}
    )
    assert shares["data"] == (10 * Fraction("0.03745") + 100 * Fraction("0.00359")) / Fraction("55.04")
    assert sum(shares.values()) == 1
    greedy = RULES["gpu-anchored"](node, Fraction("55.04"), {"one": amounts(1, 192, 2048)})
    assert Fraction(1, 8) < greedy["one"] < 1
    with pytest.raises(DataError, match="9 GPUs"):
        RULES["gpu-anchored"](node, Fraction(1), {"a": amounts(9, 1, 1)})


def test_slices_of_a_gpu() -> None:
    assert slice_of(3, 7) + slice_of(2, 7, 2) == 1
    node = Amounts(Fraction(1), Fraction(4), Fraction(16))
    shares = RULES["gpu-anchored"](
        node, Fraction(1), {"a": Amounts(slice_of(3, 7), Fraction(0), Fraction(0))}
    )
    assert shares["a"] == Fraction(3, 7)
    with pytest.raises(DataError):
        slice_of(8, 7)


def test_reference_server_against_three_prices() -> None:
    """F/u and u* of a 300,000 USD server (facts: 24 %, 33 % and 94 %)."""
    server = OwnedServer(D(300_000), D("0.2"), D("0.1"), D("0.08"), D(5), D("0.03"), D(20_000))
    fixed = fixed_cost_per_hour(server)
    energy = energy_per_hour(D("7.75"), D("1.3"), D("0.09"))
    assert (round(fixed, 2), round(energy, 2)) == (D("12.90"), D("0.91"))
    shares = [break_even_utilisation(fixed, energy, D(p)) for p in ("55.04", "39.80", "14.58")]
    assert [share and round(share * 100) for share in shares] == [24, 33, 94]
    assert break_even_utilisation(D("16.44"), energy, D("14.58")) is None
    hour = owned_hour(fixed, energy, D("0.7"), D("0.7"))
    assert round(hour.target / 8, 2) == D("2.42")
    assert hour.marginal == energy


def test_nodes_to_own_is_the_cheapest_number() -> None:
    demand = [0, 1, 1, 2, 2, 2, 3, 5, 8, 1]
    for price in ("2", "5", "9", "100"):
        owned, cost = nodes_to_own(demand, D(3), D("0.5"), D(price))

        def total(count: int, price: str = price) -> Decimal:
            own, rest = sum(min(d, count) for d in demand), sum(max(0, d - count) for d in demand)
            return count * D(3) * len(demand) + own * D("0.5") + rest * D(price)

        assert cost == min(total(count) for count in range(12))
        assert total(owned) == cost


def test_demand_charges_and_tariffs_by_the_hour() -> None:
    assert mean_tariff([(D(8), D("0.10")), (D(16), D("0.22"))]) == D("0.18")
    assert energy_per_hour(D(10), D("1.5"), D("0.10"), D(73)) == D("3.0")
    with pytest.raises(UserError):
        mean_tariff([])


def test_commitments() -> None:
    assert effective_rate(D("10"), D(87_600), D(1)) == D("20")
    block = Commitment("block", 4, 0, 10 * HOUR, D("400"), "USD")
    assert block.rate_per_node_hour == D(10)
    parts = split_commitment(block, [Covered("a", 0, 10 * HOUR, 2), Covered("b", HOUR, 2 * HOUR)])
    assert parts == {"a": 200 * 10**9, "b": 10 * 10**9, "": 190 * 10**9}
    with pytest.raises(DataError, match="at once"):
        split_commitment(block, [Covered("a", 0, HOUR, 3), Covered("b", HOUR - 1, HOUR, 2)])
    with pytest.raises(DataError, match="outside"):
        split_commitment(block, [Covered("a", 0, 11 * HOUR)])


def test_carbon_of_energy_and_of_making_the_machine() -> None:
    grids = [Sourced(D("415.755"), "CCF"), Sourced(D("244.8"), "eGRID")]
    found = run_carbon(D(10), D("1.15"), grids, (embodied(D("4676.79"), D(100), D(35_040)), "CCF"))
    assert found.operational_grams == operational(D(10), D("1.15"), grids[0])
    assert found.operational_alternatives[0].value == D("2815.2")
    assert round(found.embodied_grams or 0) == 13_347
    assert found.known_grams == (found.operational_grams or 0) + (found.embodied_grams or 0)
    assert run_carbon(None, D(1), grids, None).known_grams is None
    with pytest.raises(UserError):
        embodied(D(1), D(1), D(0))


def test_a_unit_of_kept_work() -> None:
    found = per_unit(D(6), Kept(steps=3, samples=4000, first_loss=D(5), last_loss=D(2)))
    assert found == {"step": 2, "1k_samples": D("1.5"), "point_of_loss": 2}
    assert per_unit(D(6), Kept(steps=0, first_loss=D(2), last_loss=D(2))) == {}
