"""French says all that the dashboard says, and each language writes its own numbers, amounts and days."""

import ast
from decimal import Decimal
from pathlib import Path

import pytest

import headway
from headway.costing.waste import Waste
from headway.messages import catalogue, find_in, text_in
from headway.planner.types import Verdict
from headway.reports.wording import Wording
from headway.runs.states import FailureClass, RunState
from headway.units import Money

ROOT = Path(__file__).parents[3]
SAID = [
    *sorted((ROOT / "dashboards").rglob("*.py")),
    *(
        Path(headway.__file__).parent / "reports" / f"{name}.py"
        for name in ("dashboard", "elsewhere", "waterfall", "wording", "currency")
    ),
]
WHOLE = ("dashboard.", "receipt.", "waste.", "state.", "verdict.", "unit.", "method.", "metric.", "failure.")
EN, FR = catalogue("en"), catalogue("fr")


def spoken():
    """Every text in these files that has the form of a message id."""
    for path in SAID:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in EN:
                yield node.value
            if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                prefix = node.values[0].value
                if prefix.startswith(WHOLE):
                    members = [message for message in EN if message.startswith(prefix)]
                    assert members, f"{path.name}:{node.lineno} {prefix}"
                    yield from members


def test_french_has_every_message_that_the_dashboard_says():
    said = set(spoken())
    assert len(said) > 100
    assert sorted(said - FR.keys()) == []


@pytest.mark.parametrize("prefix", [*WHOLE, "compare.", "hint.compare.", "queue."])
def test_french_has_these_tables_whole(prefix):
    assert sorted(name for name in EN if name.startswith(prefix) and name not in FR) == []


def test_french_has_every_member_of_the_families():
    families = {
        *(f"state.{state.value}" for state in RunState),
        *(f"waste.{waste.value}" for waste in Waste),
        *(f"verdict.{verdict.value}" for verdict in Verdict),
        *(f"failure.{failure.value}" for failure in FailureClass),
    }
    assert families <= FR.keys()
    assert families <= EN.keys()


def test_french_has_every_reason_that_the_planner_gives():
    planner = Path(headway.__file__).parent / "planner"
    given = {
        node.value
        for path in planner.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in EN
    }
    assert given
    assert sorted(given - FR.keys()) == []


def test_a_page_names_no_message_that_is_not_there():
    for path in SAID:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                looks = node.value.startswith("dashboard.") and not node.value.endswith((".", "_"))
                assert not looks or node.value in EN or ".json" in node.value, f"{path.name}: {node.value}"


@pytest.mark.parametrize(
    ("amount", "english", "french"),
    [
        ("0.0034", "0.003400\u00a0USD", "0,003400\u00a0USD"),
        ("1234567.891", "1,234,567.89\u00a0USD", "1\u202f234\u202f567,89\u00a0USD"),
        ("0", "0.00\u00a0USD", "0,00\u00a0USD"),
        ("0.000000001", "0.000000001\u00a0USD", "0,000000001\u00a0USD"),
    ],
)
def test_money_has_the_digits_it_needs_in_both_languages(amount, english, french):
    money = Money(Decimal(amount), "USD")
    assert (Wording("en").money(money), Wording("fr").money(money)) == (english, french)


def test_shares_days_and_durations():
    fr, en = Wording("fr"), Wording("en")
    assert (en.percent(0.854), fr.percent(0.854)) == ("85.4%", "85,4\u202f%")
    assert (en.day("2026-11-30"), fr.day("2026-11-30")) == ("2026-11-30", "30/11/2026")
    assert (en.seconds(276_480), fr.seconds(276_480)) == ("3.2 d", "3,2 j")
    assert (en.number(1234.5), fr.number(1234.5)) == ("1,234", "1\u202f234")
    assert fr.time(None) == "n/d (pas encore terminée)"


def test_a_text_comes_in_the_language_that_is_asked_for():
    assert text_in("fr", "state.RUNNING") == "en cours"
    assert text_in("xx", "state.RUNNING") == "running"
    assert text_in("fr", "no.such.id") == "no.such.id"
    assert find_in("fr", "no.such.id") is None
