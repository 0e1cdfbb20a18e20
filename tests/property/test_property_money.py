"""Nothing is lost: runs + idle + unused + overhead = invoice, waste sums to the run, spot is its integral."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.costing.attribution import IDLE, Holding, NodeBill, attribute, share_idle
from headway.costing.commitments import Commitment, Covered
from headway.costing.focus import focus_rows
from headway.costing.invoice import NodeLife, node_bill, price_integral, settle
from headway.costing.lines import Owner, Rate, charge
from headway.costing.prices import Price
from headway.costing.sharing import RULES, amounts
from headway.costing.usage import Metric, Usage
from headway.costing.waste import Waste
from headway.units import round_nano

TRACES = settings(max_examples=1000, deadline=None, derandomize=True)
SECOND = 1_000_000
HOUR = 3600 * SECOND
SHAPES = (amounts(8, 192, 2048), amounts(1, 4, 16), amounts(4, 48, 384))
rates = st.decimals("0.01", "99", places=4)


@st.composite
def spot_series(draw: st.DrawFn) -> list[Price]:
    """Prices that change at odd times; the last holds on."""
    times = sorted(draw(st.sets(st.integers(1, 7200), max_size=6)))
    edges = [0, *(time * SECOND + draw(st.integers(0, 999_999)) for time in times)]
    ends = [*edges[1:], None]
    return [
        Price("s", "aws/r/p/spot/z1", "instance-hour", f"{draw(rates)}", "USD", start, stop, "sku")
        for start, stop in zip(edges, ends, strict=True)
    ]


@st.composite
def nodes(draw: st.DrawFn) -> tuple[NodeLife, list[Holding]]:
    """A node and pods on it that never hold more GPUs than it has; some overlap its end."""
    shape = draw(st.sampled_from(SHAPES))
    start = draw(st.integers(0, HOUR))
    stop = start + draw(st.integers(1, 2 * HOUR))
    name = draw(st.uuids()).hex
    life = NodeLife(name, "aws/r/p/spot/z1", start, stop, shape)
    gpus = int(shape.gpus)
    held: list[Holding] = []
    for _ in range(draw(st.integers(0, 5))):
        take = draw(st.integers(0, gpus))
        part = Fraction(draw(st.integers(1, 7)), 7) if take else Fraction(0)
        asked = amounts(0, draw(st.integers(0, 64)), draw(st.integers(0, 512)))
        begin = draw(st.integers(start - 10, stop))
        end = draw(st.integers(begin, stop + 10))
        asked = type(asked)(take * part, asked.vcpus, asked.memory_gib)
        if sum(one.amounts.gpus for one in held) + asked.gpus <= gpus:
            held.append(Holding(draw(st.sampled_from("abc")), begin, end, asked))
    return life, held


@TRACES
@given(
    spot_series(), st.lists(nodes(), max_size=3), st.sampled_from(sorted(RULES)),
    st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100), st.integers(1, 2)), max_size=3),
    st.decimals("0", "9999.99", places=2),
    st.dictionaries(st.sampled_from(("eks", "nat")), st.integers(0, 10**12)),
)  # fmt: skip
def test_all_parts_add_up_to_the_invoice(
    prices: list[Price],
    lives: list[tuple[NodeLife, list[Holding]]],
    rule: str,
    uses: list[tuple[int, int, int]],
    fee: Decimal,
    overhead: dict[str, int],
) -> None:
    bills = [node_bill(life, prices) for life, _held in lives]
    commitment = Commitment("block", 6, 0, 100, fee, "USD")
    covered = [Covered(f"r{n}", min(a, b), max(a, b), nodes) for n, (a, b, nodes) in enumerate(uses)]
    holdings = {life.node: held for life, held in lives}
    parts = settle(bills, holdings, [(commitment, covered)], overhead, RULES[rule])
    invoice = sum(bill.amount_nano for bill in bills) + round_nano(fee) + sum(overhead.values())
    assert sum(part.amount_nano for part in parts) == invoice
    assert all(part.amount_nano >= 0 for part in parts)
    for bill in bills:
        shares = attribute(bill, holdings[bill.node], RULES[rule])
        whole = sum(share.amount_nano for share in shares)
        for how in ("none", "even", "weighted"):
            assert sum(share_idle(shares, how).values()) == whole


@TRACES
@given(spot_series(), st.integers(0, 7200), st.integers(1, 1800))
def test_the_spot_integral_is_the_sum_over_seconds(prices: list[Price], start: int, length: int) -> None:
    whole = [
        replace(
            p,
            effective_from=p.effective_from // SECOND * SECOND,
            effective_to=None if p.effective_to is None else p.effective_to // SECOND * SECOND,
        )
        for p in prices
    ]
    whole = [p for p in whole if p.effective_to is None or p.effective_to > p.effective_from]
    found = price_integral(
        whole, prices[0].offering_key, "instance-hour", start * SECOND, (start + length) * SECOND
    )
    brute = sum(
        next(p.amount for p in whole if p.holds_at(second * SECOND)) / 3600
        for second in range(start, start + length)
    )
    assert abs(found - brute) < Decimal("1e-20")


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    spot_series(), st.integers(0, HOUR), st.integers(1, HOUR),
    st.dictionaries(st.sampled_from(list(Waste)), st.integers(0, 10**9), min_size=1),
)  # fmt: skip
def test_waste_sums_to_the_run_and_focus_ratios_to_one(
    prices: list[Price], start: int, length: int, waste: dict[Waste, int]
) -> None:
    rate = Rate(Metric.NODE_HELD, "compute", prices[0].offering_key, "instance-hour", Decimal(HOUR))
    row = Usage("a", start, start + length, Metric.NODE_HELD, length, "allocation", "measured")
    lines = charge([row], [rate], prices, Owner("r", 1, "a", "pool", "team"), waste)
    exact = price_integral(prices, prices[0].offering_key, "instance-hour", start, start + length)
    # Each price in force makes a charge of its own, rounded once.
    assert abs(sum(line.amount_nano for line in lines) - exact * 10**9) <= len(prices)
    rows = focus_rows(lines, {price.id: price for price in prices}, {})
    assert sum(Decimal(str(r["EffectiveCost"])) for r in rows) * 10**9 == sum(x.amount_nano for x in lines)
    ratios: dict[str, Decimal] = {}
    for line, found in zip(lines, rows, strict=True):
        ratio = Decimal(str(found["AllocatedMethodDetails"]["Elements"][0]["AllocatedRatio"]))
        ratios[line.price_id] = ratios.get(line.price_id, Decimal(0)) + ratio
    assert set(ratios.values()) == {Decimal(1)}
    assert all("AllocatedMethodId" not in r for r in focus_rows(lines, {}, {}, "1.2"))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.integers(0, 192), st.integers(0, 2048), st.sampled_from(SHAPES), rates)
def test_who_holds_all_gpus_pays_for_all_of_the_node(vcpus: int, memory: int, shape, price: Decimal) -> None:
    pod = amounts(shape.gpus, vcpus, memory)
    bill = NodeBill("n", 0, HOUR, round_nano(price), price, shape)
    (share,) = attribute(bill, [Holding("r", 0, HOUR, pod)])
    assert (share.run_id, share.share, share.amount_nano) == ("r", 1, bill.amount_nano)


def test_a_node_without_pods_is_idle() -> None:
    bill = NodeBill("n", 0, HOUR, 55_040_000_000, Decimal("55.04"), SHAPES[0])
    (share,) = attribute(bill, [])
    assert (share.run_id, share.amount_nano) == (IDLE, 55_040_000_000)


@pytest.mark.parametrize("seconds", [1, 59, 60, 61])
def test_a_node_is_billed_by_the_second_and_for_a_minute_at_least(seconds: int) -> None:
    price = Price("s", "k", "instance-hour", "36", "USD", 0, None, "sku")
    bill = node_bill(NodeLife("n", "k", 0, seconds * SECOND - 1, SHAPES[1]), [price])
    assert bill.amount_nano == max(60, seconds) * 10_000_000
