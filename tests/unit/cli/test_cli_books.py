"""Spend and exports of a ledger with a settled run: they add up to its receipt."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest
from click.testing import CliRunner

from headway.cli.main import cli


def document(*words: str):
    done = CliRunner().invoke(cli, [*words, "-o", "json"], catch_exceptions=False)
    return json.loads(done.output)


@pytest.fixture
def total(finished_run) -> Decimal:
    return Decimal(document("receipt", finished_run.run_id)["totals"][0]["amount"])


def test_a_budget_counts_what_the_receipt_says(total: Decimal) -> None:
    found = document("budget", "1 USD", "--from", "2025-09-01", "--until", "2025-10-01")
    assert Decimal(found["spent"]) == total
    assert Decimal(found["left"]) == 1 - total
    assert (found["runs"], found["elapsed_share"]) == (1, 1.0)
    assert Decimal(found["projected"]) == total
    assert (
        document("budget", "1 USD", "--from", "2025-09-01", "--until", "2025-10-01", "--team", "x")["runs"]
        == 0
    )
    assert document("budget", "1 USD")["runs"] == 0
    euros = document("budget", "1 EUR", "--from", "2025-09-01", "--until", "2025-10-01")
    assert (euros["spent"], euros["other_currencies"]) == ("0", [f"{total:f} USD"])


def test_credits_of_the_price_book_pay_first(total: Decimal, home) -> None:
    (home / "prices.yaml").write_text(
        "version: 1\nlayers:\n- {kind: credit, name: start-up, amount: 0.000001 USD}\n"
    )
    found = document("budget", "1 USD", "--from", "2025-09-01", "--until", "2025-10-01")
    assert Decimal(found["spent"]) + Decimal(found["credits"]) == total
    assert Decimal(found["credits"]) == Decimal("0.000001")


@pytest.mark.parametrize("version", ["1.3", "1.2"])
def test_focus_rows_add_up_to_the_receipt(total: Decimal, finished_run, version: str) -> None:
    rows = document("export", finished_run.run_id, "--focus", version)["rows"]
    assert rows == document("export", "--focus", version)["rows"]
    assert sum(Decimal(row["EffectiveCost"]) for row in rows) == total
    assert {row["x_RunId"] for row in rows} == {finished_run.run_id}
    for row in rows:
        assert row["ChargePeriodStart"] < row["ChargePeriodEnd"]
        assert row["BillingPeriodStart"] == "2025-09-01T00:00:00Z"
        assert row["Tags"]["team"] == "nlp"
    if version == "1.2":
        assert not any(key.startswith("Allocated") for key in rows[0])
        return
    ratios: dict[tuple[object, ...], Decimal] = {}
    for row in rows:
        charge = (row["x_Attempt"], row["ConsumedUnit"], row["SkuPriceId"], row["x_Method"])
        (element,) = row["AllocatedMethodDetails"]["Elements"]
        ratios[charge] = ratios.get(charge, Decimal(0)) + Decimal(repr(element["AllocatedRatio"]))
    assert set(ratios.values()) == {Decimal(1)}


def test_an_export_is_a_table_too(finished_run) -> None:
    done = CliRunner().invoke(cli, ["export", "-o", "csv"], catch_exceptions=False)
    head, *lines = done.output.splitlines()
    assert "EffectiveCost" in head
    assert len(lines) == len(document("export")["rows"])


def test_a_receipt_names_every_source_of_its_carbon(total: Decimal, finished_run) -> None:
    carbon = document("receipt", finished_run.run_id)["carbon"]
    # 1,400 kg by 35,040 h and 128 vCPUs, half used: 0.624 g a core-hour.
    held = sum(
        float(row["ConsumedQuantity"])
        for row in document("export")["rows"]
        if row["ConsumedUnit"] == "Core-Hours"
    )
    assert carbon["embodied_grams_co2e"] == pytest.approx(held * 1_400_000 / (35_040 * 128 * 0.5))
    assert "CCF" in carbon["embodied_source"]
    shown = CliRunner().invoke(cli, ["receipt", finished_run.run_id], catch_exceptions=False).output
    assert "eGRID" in shown
    assert "making the machine" in shown
