"""Credits and budgets: none is spent twice, none is a team's own, and they go off what is to come."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from headway.cli.main import cli
from headway.controller.budgets import spend
from headway.costing.layers import Credit, draw_credits
from headway.settings import Settings
from headway.units import Money

D = Decimal
SEPTEMBER = ("--from", "2025-09-01", "--until", "2025-10-01")
BOOK = "version: 1\nlayers:\n- {{kind: credit, name: start-up, amount: {} USD}}\n"


def document(*words: str):
    done = CliRunner().invoke(cli, [*words, "-o", "json"], catch_exceptions=False)
    return json.loads(done.output)


@pytest.fixture
def total(finished_run) -> Decimal:
    return D(document("receipt", finished_run.run_id)["totals"][0]["amount"])


def test_a_credit_is_spent_once_whatever_times_are_asked_about(total, home) -> None:
    (home / "prices.yaml").write_text(BOOK.format(f"{total / 4:f}"))
    days = [("2025-08-01", "2025-08-31"), ("2025-08-31", "2025-09-15"), ("2025-09-15", "2025-10-01")]
    parts = [document("budget", "1 USD", "--from", a, "--until", b) for a, b in days]
    assert sum(D(part["credits"]) for part in parts) == total / 4
    assert sum(D(part["spent"]) for part in parts) == total * 3 / 4


def test_a_teams_spend_is_told_without_the_accounts_credits(total, home) -> None:
    (home / "prices.yaml").write_text(BOOK.format("5"))
    found = document("budget", "1 USD", *SEPTEMBER, "--team", "nlp")
    assert (D(found["spent"]), D(found["credits"])) == (total, 0)
    words = ["budget", "1 USD", *SEPTEMBER, "--team", "nlp"]
    assert "none is counted for one team" in CliRunner().invoke(cli, words).output


@pytest.mark.parametrize("credit", ["0", "0.5", "1.5", "100"])
def test_the_projection_is_of_charges_and_credits_pay_of_it_what_they_have(
    total, home, finished_run, credit
) -> None:
    """Half the time over: twice as much is to be charged, and credits go off that, not off the half alone."""
    (home / "prices.yaml").write_text(BOOK.format(f"{max(D('1e-9'), total * D(credit)):f}"))
    half = int(datetime(2025, 9, 1, tzinfo=UTC).timestamp() * 1e6) + 15 * 86400 * 10**6
    with finished_run.ledger.read() as connection:
        asked = (Money(D(1), "USD"), None, "2025-09-01", "2025-10-01")
        found = spend(connection, Settings.load(), asked, half)
    assert found.elapsed_share == 0.5
    assert found.credits.amount == min(total, max(D("1e-9"), total * D(credit)))
    assert found.projected.amount == max(D(0), total * 2 - max(D("1e-9"), total * D(credit)))


def test_a_budget_of_nothing_is_refused() -> None:
    done = CliRunner().invoke(cli, ["budget", "0 USD"])
    assert "a budget of 0" in str(done.exception)


@given(
    st.lists(st.tuples(st.integers(0, 100), st.integers(0, 50)), max_size=12),
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 60), st.integers(1, 60)), max_size=4),
)
def test_credits_pay_no_more_than_they_hold_nor_than_is_owed(charges, pots) -> None:
    given = [Credit(str(n), D(a), "USD", s, s + w) for n, (a, s, w) in enumerate(pots)]
    drawn = draw_credits([(at, D(amount)) for at, amount in charges], "USD", given, 101)
    assert all(0 <= paid <= amount for paid, (_at, amount) in zip(drawn.paid, charges, strict=True))
    assert sum(drawn.paid) + drawn.left <= sum(one.amount for one in given)
    within = sum(D(a) for at, a in charges if any(c.start <= at < c.stop for c in given))
    assert sum(drawn.paid) <= within
