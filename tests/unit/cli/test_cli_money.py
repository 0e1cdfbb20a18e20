"""advise, whatif, breakeven, budget, export, compare --accelerators: figures, refusals, assumptions."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner

from headway.cli.main import cli
from headway.errors import HeadwayError

PLANS = Path(__file__).parents[3] / "jobs" / "plans"
BERT = str(PLANS / "bert-large.yaml")
LENOVO = (
    "--accelerator", "h100-sxm", "--gpus", "8", "--price", "833806 USD", "--watts", "7250",
    "--tariff", "0.12 USD", "--pue", "1",
)  # fmt: skip


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path))
    return tmp_path


def run(*words: str):
    return CliRunner().invoke(cli, list(words), catch_exceptions=True)


def document(*words: str):
    done = run(*words, "-o", "json")
    assert done.exception is None, done.output
    return json.loads(done.output)


def refusal(*words: str) -> str:
    done = run(*words)
    assert isinstance(done.exception, HeadwayError), done.output
    return f"{done.exception}"


def test_advice_names_what_it_assumes_and_prices_every_change() -> None:
    found = document("advise", BERT)
    assert found["best"] == found["options"][0]
    assert {"hour", "runs", "day", "hours.data"} <= set(found["assumed"])
    assert sum(found["shares"][name] for name in ("compute", "communication", "data")) == pytest.approx(1)
    kinds = {option["kind"] for option in found["options"]}
    assert {"stay", "hardware", "software"} <= kinds
    stated = document(
        "advise", BERT, "--runs", "3", "--hour", "150 USD", "--day", "10 USD", "--hours", "recipe=2"
    )
    assert stated["assumed"] == [f"hours.{name}" for name in ("precision", "data", "nodes", "machines")]
    assert stated["terms"]["hours"]["recipe"] == "2"


def test_a_job_that_waits_for_data_is_told_to_mend_that() -> None:
    found = document("advise", BERT, "--data-wait", "0.6", "--runs", "500", "--at", "us-east-1/p5-od")
    assert found["bound"] == "data"
    assert found["shares"]["data"] == pytest.approx(0.6, abs=1e-3)
    assert Decimal(found["best"]["total"]) < Decimal(found["now"]["total"])
    only = next(option for option in found["options"] if option["changes"] == ["data"])
    assert only["seconds"] < 0.45 * found["now"]["seconds"]
    assert found["payback_runs"] is not None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--at", "mars/p5"), "no offering 'mars/p5'"),
        (("--at", "eu-west-3/p4d-od"), "has no price"),
        (("--hour", "100 EUR"), "EUR where prices are in USD"),
        (("--hours", "lunch=2"), "not CHANGE=N"),
        (("--hours", "recipe=-2"), "-2"),
        (("-s", "limits.deadline=1s"), "nothing meets"),
        (("--at", "us-east-1/p5-od", "-s", "workload.model.factory=nosuch"), "nosuch"),
    ],
)
def test_advice_is_refused_with_a_reason(words: tuple[str, ...], said: str) -> None:
    assert said in refusal("advise", BERT, *words)


def test_advice_on_a_run_that_is_not_there() -> None:
    assert "nosuch" in refusal("advise", "nosuch")


def test_what_if_shows_both_plans() -> None:
    found = document("whatif", BERT, "--price", "us-east-1/p5-spot=0.3")
    assert (found["chosen_before"], found["chosen_after"]) == ("us-east-1/p4d-spot", "us-east-1/p5-spot")
    row = next(row for row in found["offerings"] if row["offering"] == "us-east-1/p5-spot")
    assert float(row["cost_after"]) == pytest.approx(float(row["cost_before"]) * 0.3, rel=1e-6)
    less = document("whatif", BERT, "-s", "limits.sites=[us-east-1]")
    assert next(r for r in less["offerings"] if r["offering"] == "dc1/l40s")["verdict_after"] == "forbidden"
    assert "nothing is changed" in refusal("whatif", BERT)
    assert "OFFERING=FACTOR" in refusal("whatif", BERT, "--price", "x=2")
    assert "no price" in refusal("whatif", BERT, "--price", "us-east-1/p5-od=0")


def test_break_even_is_lenovos_after_as_many_hours() -> None:
    found = document("breakeven", *LENOVO)
    assert found["energy_per_hour"] == "0.870000"
    rows = {row["rented"]: row for row in found["rented"]}
    od = rows["aws/us-east-1/p5.48xlarge/on-demand"]
    assert round(Decimal(od["hours"])) == 15_392
    assert od["tornado"][0]["input"] in {"server price", "use"}
    assert od["saved_share"]["p10"] < od["saved_share"]["p50"] < od["saved_share"]["p90"]
    spot = rows["aws/us-east-1/p5.48xlarge/spot"]
    assert spot["utilisation"] is None
    assert "never" in run("breakeven", *LENOVO).output


def test_break_even_of_an_owned_site(home: Path) -> None:
    (home / "sites.yaml").write_text(
        "version: 1\nsites:\n- {name: dc, kind: owned, currency: USD, power_watts: 7750, tariff: 0.09 USD,"
        " server: {price: 300000 USD, cores: 96, gpus: 8, accelerator: h100-sxm}, pools: [{name: a}]}\n"
    )
    found = document("breakeven", "dc")
    assert (found["gpus"], found["price"]) == (8, "300000")
    assert document("breakeven", "dc", "--price", "400000 USD")["price"] == "400000"
    assert "there are dc" in refusal("breakeven", "other")
    assert "--price" in refusal("breakeven", "--accelerator", "h100-sxm")
    assert "EUR" in refusal("breakeven", "dc", "--yearly", "1 EUR")
    assert "k80" not in refusal("breakeven", "dc", "--accelerator", "nosuch")


def test_a_budget_of_an_empty_ledger_is_all_left() -> None:
    found = document("budget", "100 USD", "--from", "2026-11-01", "--until", "2026-12-01")
    assert (found["spent"], found["left"], found["runs"]) == ("0", "100", 0)
    assert "there is no time" in refusal("budget", "100 USD", "--from", "2026-11-01", "--until", "2026-11-01")
    assert "not a day" in refusal("budget", "100 USD", "--from", "yesterday")
    assert "not an amount of money" in run("budget", "a lot").output


def test_a_job_on_every_accelerator_says_what_each_cannot() -> None:
    rows = {row["accelerator"]: row for row in document("compare", "--accelerators", BERT)["accelerators"]}
    assert rows["h100-sxm"]["seconds"] < rows["a100-80"]["seconds"] < rows["t4"]["seconds"]
    assert rows["h100-sxm"]["price_of"].startswith("aws")
    assert rows["mi300x"]["cost"] is None
    assert any("XLA" in note for note in rows["tpu-v5p"]["notes"])
    assert {"GPU", "TPU", "NPU", "CPU"} <= {row["kind"] for row in rows.values()}
    llama = document("compare", "--accelerators", "--count", "1", str(PLANS / "llama-3.1-8b.yaml"))
    small = next(row for row in llama["accelerators"] if row["accelerator"] == "t4")
    assert small["seconds"] is None
    assert small["cannot"]


def test_an_export_of_nothing_is_empty_and_an_unknown_run_is_told() -> None:
    assert document("export")["rows"] == []
    assert "nosuch" in refusal("export", "nosuch")
