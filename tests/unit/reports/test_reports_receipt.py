"""A receipt adds up, and its unit costs count only work that was kept."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.catalog.here import here_figures
from headway.cli.receipt import receipt_text
from headway.controller.receipts import receipt_of
from headway.costing.lines import CostLine
from headway.costing.prices import Price
from headway.costing.usage import Metric
from headway.costing.waste import Waste
from headway.reports.document import SCHEMA_VERSION, iso_time, receipt_document
from headway.reports.live import Live, bar, live_line
from headway.reports.receipt import GridFactor, build_receipt
from headway.runs.rows import ProgressRow, RunRow
from headway.runs.states import RunState
from headway.units import Money, format_amount

PRICES = {
    name: Price("s" * 64, f"here/{name}", unit, "0.1", currency, 0, None, "sku")
    for name, unit, currency in (
        ("core", "core-hour", "USD"),
        ("energy", "kWh", "USD"),
        ("euro", "kWh", "EUR"),
    )
}
GRID = GridFactor(Decimal(400), "USA", "src", "", Decimal("1.5"))


def run_row(state=RunState.SUCCEEDED, reason=None):
    return RunRow("tiny-1", "tiny", "nlp", state, reason, None, {}, None, {}, 0, None)


def line(nano, waste=Waste.USEFUL, price="core", attempt=1, quantity="2"):
    category = "compute" if price == "core" else "energy"
    one = PRICES[price]
    return CostLine(
        "accrued", "tiny-1", attempt, "al", "p", "nlp", category, "direct", waste, 0, 10**6, quantity,
        one.unit, one.id, nano, one.currency, "m",
    )  # fmt: skip


def build(lines, **more):
    values = {
        "run": run_row(),
        "attempts": [],
        "lines": lines,
        "prices": {one.id: one for one in PRICES.values()},
        "snapshots": {"s" * 64: {"source": "file", "licence": "x", "fetched_at": 0}},
        "usage": {},
        "metrics": [],
        "retained": None,
        "lost": [],
        "grid": GRID,
        "settled": True,
    }
    return build_receipt(**{**values, **more})


LINES = st.lists(
    st.builds(
        line,
        st.integers(0, 10**15),
        st.sampled_from(list(Waste)),
        st.sampled_from(list(PRICES)),
        st.integers(1, 3),
    ),
    max_size=15,
)


@given(LINES)
def test_rows_waste_and_totals_say_the_same_sum(lines):
    receipt = build(lines)
    for total in receipt.totals:
        mine = [x for x in lines if x.currency == total.currency]
        assert total.nano == sum(x.amount_nano for x in mine)
        assert sum(r.amount.nano for r in receipt.rows if r.amount.currency == total.currency) == total.nano
        parts = [part for part in receipt.waste if part.amount.currency == total.currency]
        assert sum(part.amount.nano for part in parts) == total.nano
        assert [part.waste for part in parts] == list(Waste)
        if total.amount:
            assert sum(part.share for part in parts) == pytest.approx(1)
        else:
            assert {part.share for part in parts} == {None}
    assert {total.currency for total in receipt.totals} == {x.currency for x in lines}
    assert {source.number for source in receipt.sources} == set(range(1, len(receipt.sources) + 1))
    assert receipt_text(receipt)
    json.dumps(receipt_document(receipt), allow_nan=False)


def test_unit_costs_divide_by_what_was_kept():
    kept = ProgressRow(2, 0, step=50, samples=800, tokens=80_000, loss=None)
    receipt = build([line(10**9), line(3 * 10**9, Waste.REPLAY)], retained=kept)
    costs = {cost.unit: cost.amount.amount for cost in receipt.unit_costs}
    assert costs == {
        "receipt.per_step": Decimal(4) / 50,
        "receipt.per_thousand_samples": Decimal(4) * 1000 / 800,
        "receipt.per_million_tokens": Decimal(4) * 1_000_000 / 80_000,
    }
    assert receipt.retained_step == 50


def test_a_unit_that_is_not_known_is_left_out_not_zero():
    kept = ProgressRow(1, 0, step=50, samples=None, tokens=0, loss=None)
    assert [cost.unit for cost in build([line(1)], retained=kept).unit_costs] == ["receipt.per_step"]
    assert build([line(1)]).unit_costs == ()
    assert build([line(1)]).joules is None
    assert build([line(1)]).carbon is None


def test_energy_and_carbon_come_from_the_meter():
    usage = {
        (1, Metric.ENERGY, "model"): 3_600_000 * 10**6,
        (2, Metric.ENERGY, "rapl"): 0,
        (1, Metric.CORE_HELD, "a"): 9,
    }
    kept = ProgressRow(1, 0, step=1, samples=1000, tokens=None, loss=None)
    receipt = build([line(1)], usage=usage, retained=kept)
    assert receipt.joules == 3_600_000
    assert receipt.joules_method == ("model", "rapl")
    assert receipt.joules_per_sample == 3600
    assert receipt.carbon.grams == Decimal(400) * Decimal("1.5")
    unknown = GridFactor(None, "Nowhere", "", "", Decimal(1))
    assert build([line(1)], usage=usage, grid=unknown).carbon is None


def test_currencies_are_never_added():
    receipt = build([line(10**9), line(2 * 10**9, price="euro")])
    assert [str(total) for total in receipt.totals] == ["2.00 EUR", "1.00 USD"]


@given(st.integers(1, 10**15))
def test_an_amount_that_is_not_zero_never_prints_as_zero(nano):
    text = receipt_text(build([line(nano)]))
    total = next(row for row in text.splitlines() if "total" in row)
    assert Decimal(total.split()[-2]) * 10**9 == nano
    assert Decimal(str(Money.from_nano(nano, "USD")).split()[0].replace(",", "")) > 0


@given(st.decimals("1e-30", "1e12", allow_nan=False, allow_infinity=False))
def test_no_amount_prints_as_zero(amount):
    shown = Decimal(format_amount(amount).replace(",", ""))
    assert shown > 0
    # To one per cent, and never finer than half a nano-unit: the ledger knows nothing smaller.
    assert abs(shown - amount) <= max(amount * Decimal("0.01"), Decimal("0.5e-9"))


def test_a_run_that_used_nothing_says_so():
    text = receipt_text(build([], run=run_row(RunState.CANCELLED)))
    assert "nothing" in text
    assert "verify" not in text


def test_a_finished_runs_receipt(finished_run):
    with finished_run.ledger.read() as connection:
        receipt = receipt_of(connection, finished_run.run_id, here_figures())
    document = receipt_document(receipt)
    assert document["schema_version"] == SCHEMA_VERSION
    assert document["state"] == "SUCCEEDED"
    assert document["replayed"] == [{"attempt": 1, "reached_step": 57, "back_to_step": 50}]
    assert document["energy"]["joules"] == 1900.0
    assert document["metrics"] == {"held_out_loss": {"first": 2.5, "last": 1.25}}
    assert [price["offering"] for price in document["prices"]] == ["here/core", "here/energy"]
    amounts = [Decimal(row["amount"]) for row in document["lines"]]
    assert [sum(amounts)] == [Decimal(total["amount"]) for total in document["totals"]]
    # 2 cores for 190 s and 1,900 J, at the assumed prices.
    core, energy = (Decimal(price["price"]) for price in document["prices"])
    assert float(sum(amounts)) == pytest.approx(
        float(core * 380 / 3600 + energy * 1900 / 3_600_000), abs=4e-9
    )
    per_step = next(cost for cost in document["unit_costs"] if cost["unit"] == "per_step")
    assert Decimal(per_step["amount"]) == sum(amounts) / 100
    text = receipt_text(receipt)
    for expected in ("attempt 1", "attempt 2", "modelled", "replayed", "back to 50", "sha256"):
        assert expected in text


def test_times_are_iso_in_utc():
    assert iso_time(0) == "1970-01-01T00:00:00.000+00:00"
    assert iso_time(None) is None


def live(**more):
    values = {
        "run": run_row(RunState.RUNNING),
        "progress": None,
        "steps": None,
        "samples_per_second": None,
        "steps_per_second": None,
        "joules_per_sample": None,
        "cost": None,
    }
    return Live(**{**values, **more})


@pytest.mark.parametrize("state", RunState)
def test_without_progress_the_line_says_the_state(state):
    text = live_line(live(run=run_row(state)), with_bar=True)
    assert text.startswith("tiny-1  ")
    assert "state." not in text
    assert "step" not in text


def test_a_waiting_run_says_why():
    text = live_line(live(run=run_row(RunState.QUEUED, "queue.cores_held")), with_bar=False)
    assert "waiting for cores" in text
    assert live_line(live(run=run_row(RunState.FAILED, "ValueError: x")), with_bar=False).endswith(
        "ValueError: x"
    )


def test_the_line_of_a_training_run():
    progress = ProgressRow(1, 0, step=25, samples=400, tokens=None, loss=0.123456)
    whole = live(
        progress=progress, steps=100, samples_per_second=12.5, steps_per_second=0.5, joules_per_sample=2.5,
        cost=Money.from_nano(3_400_000, "USD"),
    )  # fmt: skip
    text = live_line(whole, with_bar=False)
    for expected in ("25%", "25/100", "0.123", "12.5", "2.5", "0.003400 USD", "2m 30s"):
        assert expected in text
    assert "▕" in live_line(whole, with_bar=True)
    assert "None" not in text


@pytest.mark.parametrize("loss", [float("nan"), float("inf"), None, 0.0])
def test_any_loss_can_be_shown(loss):
    progress = ProgressRow(1, 0, step=0, samples=None, tokens=None, loss=loss)
    assert live_line(live(progress=progress, steps=0), with_bar=True)


@given(st.floats(-2, 3), st.integers(1, 40))
def test_a_bar_has_its_width(share, width):
    assert len(bar(share, width)) == width + 2
