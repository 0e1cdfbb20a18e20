"""Places, exchange rates and view models: what the pages show, without a page."""

from dataclasses import replace
from decimal import Decimal

import pytest

from headway.catalog.here import here_figures
from headway.controller.receipts import grid_of, receipt_of, tariff_of
from headway.errors import UserError
from headway.reports.currency import RateTable, parse_rates
from headway.reports.dashboard import Reader, run_view, runs_view
from headway.reports.elsewhere import refusal
from headway.reports.place import Place
from headway.reports.wording import Wording
from headway.runs.account import tariff_document, tariff_from
from headway.runs.receipts import page_of_runs
from headway.units import Money

KNOWN = {"languages": ("en", "fr"), "currencies": ("EUR", "USD"), "states": ("FAILED",), "default": "en"}


def reader(**place):
    return Reader(Place(**place), Wording(place.get("lang", "en")), RateTable())


def test_an_address_and_its_place_are_one():
    place = Place("run", "a b&c-0123456789", "fr", "EUR", "nlp", "FAILED", 7)
    pairs = dict(part.split("=") for part in place.to()[1:].split("&"))
    pairs["run"] = place.run
    assert Place.read(pairs, **KNOWN) == place
    assert "&n=" not in place.to(n=1)


@pytest.mark.parametrize("n", ["0", "-1", "x", "9" * 400, "²", ""])
def test_an_address_that_makes_no_sense_shows_the_first_page(n):
    query = {"page": "../etc", "lang": "xx", "currency": "GBP", "state": "NO", "n": n}
    assert Place.read(query, **KNOWN) == Place()


def test_rates_are_of_the_day_or_before_and_work_both_ways():
    table = parse_rates(
        ["date,base,quote,rate", "2025-01-01,EUR,USD,1.25", "2025-06-01,EUR,USD,2"], "rates.csv"
    )
    assert table.currencies == ("EUR", "USD")
    assert table.convert(Money(Decimal(5), "USD"), "EUR", "2025-05-31").money == Money(Decimal(4), "EUR")
    late = table.convert(Money(Decimal(5), "EUR"), "USD", "2025-06-01")
    assert (late.money, late.day) == (Money(Decimal(10), "USD"), "2025-06-01")
    assert table.convert(Money(Decimal(5), "USD"), "EUR", "2024-12-31") is None
    assert RateTable().convert(Money(Decimal(5), "USD"), "EUR", "2025-05-31") is None


@pytest.mark.parametrize(
    "lines",
    [
        ["Date,USD,JPY,SIT,", "2025-06-02,1.1419,163.27,N/A,", "2025-05-30,1.1339,163.26,N/A,"],
        ["Date, USD, JPY, SIT, ", "2 June 2025, 1.1419, 163.27, N/A, "],
    ],
)
def test_the_central_banks_own_files_are_read(lines):
    table = parse_rates(lines, "eurofxref.csv")
    assert table.currencies == ("EUR", "JPY", "USD")
    assert table.convert(Money(Decimal(1), "EUR"), "USD", "2025-06-03").money.amount == Decimal("1.1419")
    assert table.convert(Money(Decimal(1), "EUR"), "USD", "2025-06-03").day == "2025-06-02"


@pytest.mark.parametrize(
    "lines",
    [
        ["Date,USD", "2025-13-02,1.1"],
        ["Date,USD", "2025-06-02,-1"],
        ["Date,USD", "2025-06-02,much"],
        [],
        ["day,base,quote,rate"],
        ["date,base,quote,rate", "2025-13-01,EUR,USD,1"],
        ["date,base,quote,rate", "2025-01-01,EUR,USD,0"],
        ["date,base,quote,rate", "2025-01-01,EUR,USD,NaN"],
        ["date,base,quote,rate", "2025-01-01,euro,USD,1"],
        ["date,base,quote,rate", "2025-01-01,EUR,EUR,1"],
        ["date,base,quote,rate", "2025-01-01,EUR"],
    ],
)
def test_a_file_of_rates_that_is_none_is_refused(lines):
    with pytest.raises(UserError, match=r"rates\.csv"):
        parse_rates(lines, "rates.csv")


def test_the_tariff_survives_the_way_to_the_dashboard():
    tariff = tariff_of(here_figures())
    assert tariff_from(tariff_document(tariff)) == tariff


def test_a_page_of_runs_holds_only_its_page(ledger, new_history):
    for number in range(30):
        new_history(ledger, f"r{number}-0123456789").submit(number)
    with ledger.read() as connection:
        page = page_of_runs(connection, tariff_of(here_figures()), limit=25, offset=25)
    assert (len(page.runs), page.total, page.in_ledger, page.teams) == (5, 30, 30, ("nlp",))
    view = runs_view(page, reader(n=2))
    assert view.note == "26 to 30 of 30, newest first"
    assert view.previous
    assert not view.following
    assert view.sheet.rows[0][4].text == "n/a (nothing was used yet)"


def test_what_is_not_known_is_said_with_its_reason(finished_run):
    figures = here_figures()
    with finished_run.ledger.read() as connection:
        receipt = receipt_of(connection, finished_run.run_id, figures)
    bare = replace(receipt, joules=None, carbon=None, unit_costs=(), totals=(), rows=(), sources=())
    facts = dict(run_view(bare, reader(page="run")).facts)
    assert facts["Energy"] == "n/a (no energy was metered)"
    assert facts["Unit costs"] == "n/a (no progress was reported)"
    assert dict(run_view(replace(receipt, carbon=None), reader()).facts)["Carbon"].startswith(
        "n/a (no source"
    )
    assert grid_of(figures).location


def test_the_waterfall_ends_at_the_total(finished_run):
    with finished_run.ledger.read() as connection:
        receipt = receipt_of(connection, finished_run.run_id, here_figures())
    (fall,) = run_view(receipt, reader(lang="fr")).waterfalls
    *parts, total = fall.steps
    assert parts[-1].stop == total.stop == receipt.totals[0].amount
    assert "énergie 0,0" in fall.alt
    assert fall.chart["config"]["locale"]["number"]["decimal"] == ","


def test_a_traceback_is_not_a_reason():
    assert refusal(1, "Traceback (most recent call last)") == ""
    assert refusal(2, " no model \n") == "no model"
