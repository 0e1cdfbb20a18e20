"""Charges are exact: nothing is lost between usage, price, waste classes and cost lines."""

from collections import defaultdict
from dataclasses import replace
from decimal import ROUND_HALF_EVEN, Decimal, localcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.costing.lines import Owner, charge, core_rate, energy_rate, quantity_text, resplit
from headway.costing.prices import Price
from headway.costing.usage import Metric, Usage
from headway.costing.verify import verify
from headway.costing.waste import Waste
from headway.errors import DataError

OWNER = Owner("run", 1, "alloc", "pool", "team")
RATES = [core_rate("here"), energy_rate("here", Decimal("1.37"))]
CHANGE = 5_000


def price(key, unit, text, start=0, stop=None, sku="x"):
    return Price("s" * 64, f"here/{key}", unit, text, "USD", start, stop, sku)


def prices(core_before="0.0421", core_after="0.07", energy="0.146"):
    return [
        price("core", "core-hour", core_before, 0, CHANGE),
        price("core", "core-hour", core_after, CHANGE, None),
        price("energy", "kWh", energy),
    ]


TEXTS = st.decimals("0", "1000", places=9, allow_nan=False).map(lambda x: f"{x:f}")
WASTE = st.dictionaries(st.sampled_from(list(Waste)), st.integers(0, 10**12))
ROWS = st.builds(
    lambda start, length, metric, quantity, method: Usage(
        "alloc", start, start + length, metric, quantity, method, "measured"
    ),
    st.integers(0, 10_000),
    st.integers(0, 5_000),
    st.sampled_from(list(Metric)),
    st.integers(0, 10**16),
    st.sampled_from(["a", "b"]),
)
TRACES = st.lists(ROWS, max_size=12)


def exact(quantity_int, rate, one):
    with localcontext() as context:
        context.prec = 80
        amount = Decimal(quantity_int) * rate.factor / rate.integers_per_unit * one.amount * 10**9
        return int(amount.to_integral_value(ROUND_HALF_EVEN))


def charges(lines):
    groups = defaultdict(list)
    for line in lines:
        groups[line.category, line.price_id, line.method].append(line)
    return groups


@settings(max_examples=600, deadline=None)
@given(TRACES, WASTE, TEXTS, TEXTS, TEXTS)
def test_every_charge_is_its_quantity_times_its_price_rounded_once(rows, waste, before, after, energy):
    book = {one.id: one for one in prices(before, after, energy)}
    lines = charge(rows, RATES, list(book.values()), OWNER, waste)
    found = charges(lines)
    for rate in RATES:
        for method in ("a", "b"):
            mine = [row for row in rows if (row.metric, row.method) == (rate.metric, method)]
            groups = {k: v for k, v in found.items() if (k[0], k[2]) == (rate.category, method)}
            # Conservation: cut at a price change, no unit of usage is lost or invented.
            with localcontext() as context:
                context.prec = 80
                quantity = sum((Decimal(x.quantity_text) for v in groups.values() for x in v), Decimal(0))
                wanted = sum(row.quantity_int for row in mine) * rate.factor / rate.integers_per_unit
                assert abs(quantity - wanted) <= len(groups) * Decimal("0.5e-18")
    for (category, price_id, _method), group in found.items():
        rate = next(rate for rate in RATES if rate.category == category)
        one = book[price_id]
        with localcontext() as context:
            context.prec = 80
            units = sum((Decimal(x.quantity_text) for x in group), Decimal(0))
            whole = units * rate.integers_per_unit / rate.factor
            # The quantity text keeps 18 decimals: enough to name the integer it came from.
            integer = int(whole.to_integral_value(ROUND_HALF_EVEN))
            assert abs(whole - integer) < Decimal("1e-2")
        assert sum(line.amount_nano for line in group) == exact(integer, rate, one)
        assert len({line.waste for line in group}) == len(group)
        assert all(line.amount_nano >= 0 and line.currency == "USD" for line in group)
        assert all(line.start >= 0 and line.stop >= line.start for line in group)


@settings(max_examples=200, deadline=None)
@given(TRACES, WASTE, WASTE)
def test_splitting_anew_never_changes_a_charge(rows, first, second):
    lines = charge(rows, RATES, prices(), OWNER, first)
    again = resplit(lines, second)

    def sums(found):
        return {
            key: (sum(x.amount_nano for x in group), sum(Decimal(x.quantity_text) for x in group))
            for key, group in charges(found).items()
        }

    assert sums(again) == sums(lines)
    assert {x.waste for x in again} <= ({k for k, v in second.items() if v} or {Waste.IDLE})
    straight = charge(rows, RATES, prices(), OWNER, second)
    key = lambda x: (x.category, x.price_id, x.method, x.waste)  # noqa: E731
    assert sorted(resplit(again, second), key=key) == sorted(again, key=key)
    assert {(key(x), x.amount_nano, x.quantity_text) for x in straight} == {
        (key(x), x.amount_nano, x.quantity_text) for x in again
    }


def test_lines_of_other_attempts_are_not_thrown_together():
    rows = [Usage("alloc", 0, 10, Metric.CORE_HELD, 10**9, "a", "measured")]
    one = charge(rows, RATES, prices(), OWNER, {Waste.USEFUL: 1})
    two = charge(rows, RATES, prices(), replace(OWNER, attempt=2, allocation_id="other"), {Waste.USEFUL: 1})
    again = resplit([*one, *two], {Waste.FAILED: 1})
    assert [line.attempt for line in again] == [1, 2]
    assert [line.allocation_id for line in again] == ["alloc", "other"]


@settings(max_examples=100, deadline=None)
@given(TRACES, WASTE, st.randoms(use_true_random=False))
def test_costing_does_not_depend_on_the_order_of_usage(rows, waste, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    left, right = (charge(x, RATES, prices(), OWNER, waste) for x in (rows, shuffled))
    assert left == right
    assert [x.id for x in left] == [x.id for x in right]


def test_usage_across_a_price_change_is_cut_in_proportion_to_time():
    rows = [
        Usage("alloc", CHANGE - 1000, CHANGE + 3000, Metric.CORE_HELD, 4 * 3_600_000_000, "a", "measured")
    ]
    lines = charge(rows, RATES, prices("1", "10"), OWNER, {Waste.USEFUL: 1})
    assert sorted((x.quantity_text, x.amount_nano, x.start, x.stop) for x in lines) == [
        ("1", 10**9, CHANGE - 1000, CHANGE),
        ("3", 30 * 10**9, CHANGE, CHANGE + 3000),
    ]


def test_usage_without_a_price_is_an_error_not_free():
    rows = [Usage("alloc", 0, 10, Metric.ENERGY, 5, "a", "measured")]
    with pytest.raises(DataError):
        charge(rows, RATES, prices()[:2], OWNER, {Waste.USEFUL: 1})
    with pytest.raises(DataError):
        charge([replace(rows[0], start=-10)], RATES, prices(), OWNER, {Waste.USEFUL: 1})


def test_time_of_no_class_is_idle():
    rows = [Usage("alloc", 0, 10, Metric.ENERGY, 10**15, "a", "measured")]
    (line,) = charge(rows, RATES, prices(), OWNER, dict.fromkeys(Waste, 0))
    assert line.waste is Waste.IDLE


def test_cores_used_cost_nothing_by_themselves():
    rows = [Usage("alloc", 0, 10, Metric.CORE_USED, 10**15, "a", "measured")]
    assert charge(rows, RATES, prices(), OWNER, {Waste.USEFUL: 1}) == []


@given(st.decimals(0, 10**12, places=18, allow_nan=False))
def test_a_quantitys_text_is_exact_and_plain(value):
    text = quantity_text(value)
    assert "e" not in text.lower()
    assert Decimal(text) == value


@pytest.mark.parametrize(
    "field", ["run_id", "attempt", "waste", "quantity_text", "amount_nano", "price_id", "stop"]
)
def test_every_field_of_a_line_is_in_its_id(field):
    rows = [Usage("alloc", 0, 10, Metric.ENERGY, 10**15, "a", "measured")]
    (line,) = charge(rows, RATES, prices(), OWNER, {Waste.USEFUL: 1})
    other = {"attempt": 2, "amount_nano": 1, "stop": 11, "waste": Waste.IDLE}.get(field, "other")
    assert replace(line, **{field: other}).id != line.id


@pytest.fixture
def proved():
    rows = [
        Usage("alloc", 0, 9000, Metric.CORE_HELD, 7 * 10**12, "a", "measured"),
        Usage("alloc", 0, 9000, Metric.ENERGY, 3 * 10**12, "model", "modelled"),
    ]
    lines = charge(rows, RATES, prices(), OWNER, {Waste.USEFUL: 5, Waste.REPLAY: 2})
    book = {one.id: one for one in prices()}
    return lines, book, {"USD": sum(line.amount_nano for line in lines)}


def failures(lines, book, totals):
    return {check.message for check in verify(lines, book, totals) if not check.ok}


def test_an_honest_receipt_verifies(proved):
    assert failures(*proved) == set()


@settings(max_examples=200, deadline=None)
@given(TRACES, WASTE)
def test_whatever_was_charged_verifies(rows, waste):
    lines = charge(rows, RATES, prices(), OWNER, waste)
    totals = {"USD": sum(line.amount_nano for line in lines)} if lines else {}
    assert failures(lines, {one.id: one for one in prices()}, totals) == set()


@pytest.mark.parametrize("index", range(6))
def test_a_changed_amount_is_caught(proved, index):
    lines, book, totals = proved
    changed = [*lines]
    changed[index] = replace(lines[index], amount_nano=lines[index].amount_nano + 1000)
    assert failures(changed, book, totals) == {"verify.charge", "verify.total"}


@pytest.mark.parametrize("index", range(6))
def test_a_changed_quantity_is_caught(proved, index):
    lines, book, totals = proved
    changed = [*lines]
    changed[index] = replace(lines[index], quantity_text=lines[index].quantity_text.replace(".", "1.", 1))
    assert failures(changed, book, totals) == {"verify.charge"}


def test_a_changed_price_is_caught(proved):
    lines, book, totals = proved
    key = lines[0].price_id
    book = {**book, key: replace(book[key], price_text="0.0001")}
    assert failures(lines, book, totals) == {"verify.charge", "verify.price_hash"}


def test_a_changed_source_of_a_price_is_caught(proved):
    lines, book, totals = proved
    key = lines[0].price_id
    assert failures(lines, {**book, key: replace(book[key], sku="y")}, totals) == {"verify.price_hash"}


def test_a_missing_price_is_caught(proved):
    lines, book, totals = proved
    del book[lines[0].price_id]
    assert failures(lines, book, totals) == {"verify.price_missing"}


@pytest.mark.parametrize("shown", [{}, {"USD": 1}, {"EUR": 5}])
def test_a_wrong_total_is_caught(proved, shown):
    lines, book, _totals = proved
    assert failures(lines, book, shown) == {"verify.total"}
