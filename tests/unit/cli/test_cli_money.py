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
    assert "no factor" in refusal("whatif", BERT, "--price", "us-east-1/p5-od=0")


def test_break_even_is_lenovos_after_as_many_hours() -> None:
    found = document("breakeven", *LENOVO)
    assert found["energy_per_hour"] == "0.870000"
    rows = {row["rented"]: row for row in found["rented"]}
    od = rows["aws/us-east-1/p5.48xlarge/on-demand"]
    assert round(Decimal(od["purchase_hours"])) == 15_392
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


def test_a_rented_price_is_the_price_books_wherever_it_is_asked_for(home: Path) -> None:
    def rates():
        even = {row["rented"]: row["rented_per_hour"] for row in document("breakeven", *LENOVO)["rented"]}
        each = document("compare", "--accelerators", "--count", "1", BERT)["accelerators"]
        plans = {row["offering"]: row for row in document("plan", BERT)["offerings"]}
        device = next(row for row in each if row["accelerator"] == "h100-sxm")
        return (
            Decimal(even["aws/us-east-1/p5.48xlarge/on-demand"]),
            Decimal(device["cost"]),
            Decimal(plans["us-east-1/p5-od"]["price_per_node_hour"]),
        )

    before = rates()
    (home / "prices.yaml").write_text(
        "version: 1\nlayers:\n- {kind: discount, name: half, percent: 50}\n"
        "- {kind: rate, name: ours, instance: p4de.24xlarge, region: us-east-2, price: 9 USD}\n"
    )
    assert [after / was for after, was in zip(rates(), before, strict=True)] == pytest.approx(
        [Decimal("0.5")] * 3
    )
    a100 = ("--accelerator", "a100-80", *LENOVO[2:])
    even = {row["rented"]: row for row in document("breakeven", *a100)["rented"]}
    assert even["aws/us-east-2/p4de.24xlarge/on-demand"]["basis"] == "ours: 9 USD", "known by the book alone"


def test_break_even_counts_all_that_owning_costs() -> None:
    def hours(*words: str) -> Decimal:
        rows = {row["rented"]: row for row in document("breakeven", *LENOVO, *words)["rented"]}
        row = rows["aws/us-east-1/p5.48xlarge/on-demand"]
        found = document("breakeven", *LENOVO, *words)
        life = Decimal(5 * 8760)
        used = Decimal(row["hours"])
        owned = Decimal(found["fixed_per_hour"]) * life + Decimal(found["energy_per_hour"]) * used
        assert abs(owned / (Decimal(row["rented_per_hour"]) * used) - 1) < Decimal("1e-5")
        return used

    bare = hours("--residual", "0", "--capital", "0", "--maintenance", "0")
    assert round(bare) == 15_392, "then it is the purchase alone"
    assert hours("--residual", "0", "--capital", "0", "--maintenance", "0.05") > bare
    assert hours("--residual", "0", "--capital", "0.1", "--maintenance", "0") > bare
    assert hours("--residual", "0", "--capital", "0", "--maintenance", "0", "--yearly", "20000 USD") > bare
    dear = document("breakeven", *LENOVO, "--yearly", "900000 USD")["rented"]
    assert all(row["hours"] is None for row in dear), "not within its life"


def test_the_middle_of_the_ranges_is_about_the_figure_itself() -> None:
    found = document("breakeven", *LENOVO)
    low, stated, high = found["ranges"]["server price"]
    assert low < stated < high
    assert stated == 833806
    assert "USD" in found["published_prices"], "beside it, not in its place"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("breakeven", *LENOVO[:4], "--price", "0 USD", *LENOVO[6:]), "costs nothing"),
        (("advise", BERT, "--at", "us-east-1/p5-od", "--nodes", "500"), "at most"),
        (
            ("advise", BERT, "-s", "needs.gpus=8", "--at", "us-east-1/p5-od", "--nodes", "2"),
            "needs.gpus takes",
        ),
        (("advise", BERT, "--hours", "recipe=x"), "--hours recipe=x"),
        (("advise", BERT, "--hours", "recipe=1e9"), "not between"),
        (("whatif", BERT, "--price", "us-east-1/p5-od=2", "--price", "us-east-1/p5-od=3"), "twice"),
        (("whatif", BERT, "--price", "us-east-1/p5-od=1e20"), "no factor"),
        (("whatif", BERT, "--price", "eu-west-3/p4d-od=2"), "no price to change"),
        (("compare", BERT), "--accelerators"),
        (("plan", BERT, "-s", "limits.regions=[mars-*]"), "mars-*"),
    ],
)
def test_figures_that_cannot_be_meant_are_refused(words: tuple[str, ...], said: str) -> None:
    assert said in refusal(*words)


@pytest.mark.parametrize(
    "words",
    [
        ("advise", BERT, "--runs", "1" + "0" * 24),
        ("breakeven", *LENOVO[:6], "--watts", "1e12", *LENOVO[8:]),
        ("breakeven", *LENOVO[:4], "--price", "1e25 USD", *LENOVO[6:]),
        ("budget", "1e25 USD"),
    ],
)
def test_absurd_figures_are_refused_by_their_option(words: tuple[str, ...]) -> None:
    done = run(*words)
    assert done.exit_code == 2
    assert "Invalid value for" in done.output


def test_no_regions_at_all_is_not_anywhere() -> None:
    assert "limits.regions" in refusal("plan", BERT, "-s", "limits.regions=[]")


def test_the_present_setup_on_other_nodes_is_the_best_layout_there() -> None:
    found = document("advise", BERT, "--at", "us-east-1/p5-od", "--nodes", "2")
    stay = next(option for option in found["options"] if option["kind"] == "stay")
    assert found["now"]["nodes"] == stay["nodes"] == 2
    assert found["now"]["total"] == stay["total"]


def test_what_is_for_inference_only_gets_no_training_time() -> None:
    rows = {row["accelerator"]: row for row in document("compare", "--accelerators", BERT)["accelerators"]}
    assert (rows["inferentia1"]["seconds"], rows["inferentia1"]["cannot"]) == (None, ["for inference only"])
    shown = run("compare", "--accelerators", BERT).output
    assert rows["h100-sxm"]["price_of"] in shown
    assert rows["h100-sxm"]["efficiency"] in shown


@pytest.mark.parametrize(
    ("message", "values", "shown"),
    [
        (
            "plan.too_slow",
            {"seconds": 3612.5, "deadline": 3600.0},
            "3,612.500 s at best, the limit is 3,600.000 s",
        ),
        ("plan.too_slow", {"seconds": 9000.0, "deadline": 3600.0}, "2.5 h at best, the limit is 1.0 h"),
        (
            "plan.over_budget",
            {"cost": Decimal("10.004"), "budget": Decimal("10.001"), "currency": "USD"},
            "10.004 USD, the budget is 10.001",
        ),
    ],
)
def test_a_figure_and_its_limit_never_read_the_same(message: str, values: dict, shown: str) -> None:
    from headway.planner.types import Rival, Verdict
    from headway.reports.plan import why

    rival = Rival(None, Verdict.TOO_SLOW, None, message, values)  # type: ignore[arg-type]
    assert why(rival) == shown


SITES = """version: 1
sites:
- {name: dc, kind: owned, currency: EUR, power_watts: 7750, tariff: 0.1 EUR, egress_price: 0.02 EUR,
   server: {price: 200000 EUR, cores: 96, gpus: 8, accelerator: h100-sxm}, pools: [{name: a, max_nodes: 2}]}
- {name: east, kind: aws, region: us-east-1, pools: [{name: p5, instance: p5.48xlarge, max_nodes: 4}]}
- {name: paris, kind: aws, region: eu-west-3, pools: [{name: p5, instance: p5.48xlarge, max_nodes: 4}]}
"""


def test_data_that_move_are_timed_and_priced_or_the_plan_says_why_not(home: Path) -> None:
    (home / "sites.yaml").write_text(SITES)
    where = ("-s", "data.site=east", "-s", "data.size=10TB")
    found = {row["offering"]: row for row in document("plan", BERT, *where)["offerings"]}
    assert found["dc/a"]["reason"] == "plan.moving_currency"
    assert found["east/p5"]["prediction"]["moving_cost"] is None
    unsized = {row["offering"]: row for row in document("plan", BERT, *where[:2])["offerings"]}
    assert unsized["dc/a"]["reason"] == "plan.data_size_unknown"
    far = {r["offering"]: r for r in document("plan", BERT, "-s", "data.site=here", *where[2:])["offerings"]}
    assert far["east/p5"]["reason"] == "plan.data_egress_unknown"
    (home / "sites.yaml").write_text(SITES + "here: {egress_price: 0 USD}\n")
    shown = run("plan", BERT, "-s", "data.site=here", *where[2:], "-s", "limits.sites=[east]").output
    assert "at 1 Gbit/s (assumed)" in shown


def test_offerings_in_another_currency_are_named_as_not_compared(home: Path) -> None:
    (home / "sites.yaml").write_text(SITES)
    assert "not compared, their prices not being in EUR: east/p5 (USD)" in run("plan", BERT).output
    assert "offerings in EUR" in run("advise", BERT, "--at", "east/p5").output


def test_a_plan_reads_in_french(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_LANG", "fr")
    shown = run("plan", BERT).output
    for english in ("not chosen", "prices:", "samples", "efficiency of", "memory and"):
        assert english not in shown


def test_a_long_list_of_offerings_is_cut_for_people_and_whole_for_machines(
    home: Path, tmp_path: Path
) -> None:
    rows = "".join(f"nimbus,zone-{i},gpu-{i % 7},{20 + i % 5},USD,l40s,8,96,900\n" for i in range(300))
    file = tmp_path / "many.csv"
    head = "provider,region,instance,price_per_hour,currency,accelerator,accelerators,vcpus,memory_gib\n"
    file.write_text(head + rows)
    assert run("prices", "import", str(file)).exit_code == 0
    assert len(document("plan", BERT)["offerings"]) > 300
    shown = run("plan", BERT).output.splitlines()
    assert len(shown) < 150
    assert any("more (-o json has them all)" in line for line in shown)
