"""Refresh through unmodified boto3: against a local endpoint with AWS's protocols, and against moto."""

from __future__ import annotations

import json
import time
from pathlib import Path

import boto3
import moto
import pytest
from aws_endpoint import Answers, product, serving
from botocore.exceptions import EndpointConnectionError, NoCredentialsError
from click.testing import CliRunner

from headway.catalog.aws_fetch import boto3_clients, fetch
from headway.catalog.refreshed import current, kept
from headway.cli.main import cli
from headway.controller.pricing import market_of, prices_of, refresh, table_of
from headway.errors import DataError, ExternalError
from headway.settings import Settings

REGION = "us-east-1"
P5, P4D = "p5.48xlarge", "p4d.24xlarge"


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    found = Answers()
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with serving(found) as url:
        for service in ("PRICING", "SAVINGSPLANS", "EC2"):
            monkeypatch.setenv(f"AWS_ENDPOINT_URL_{service}", url)
        yield found


def whole_list(**changed: str) -> list[str]:
    """Every known on-demand price of the region, some of them changed."""
    now = time.time_ns() // 1000
    prices = {
        price.instance: price.price_text
        for price in prices_of(Settings.load()).all_in_force(now)
        if (price.region, price.capacity) == (REGION, "on-demand")
    }
    renamed = {key.replace("_", "."): value for key, value in changed.items()}
    return [product(name, price, sku=name) for name, price in {**prices, **renamed}.items()]


def ask(*kinds: str, jumps: bool = False):
    now = time.time_ns() // 1000
    return refresh(Settings.load(), boto3_clients(), ([REGION], kinds, [P5, P4D]), now, jumps=jumps)


def test_on_demand_is_paged_throttled_and_taken_over(answers: Answers) -> None:
    answers.products = whole_list(p5_48xlarge="50.00")
    answers.throttle = 2
    before = prices_of(Settings.load())
    done = ask("on-demand")
    assert len(answers.asked) > len(answers.products) / 2
    (change,) = done.changes
    assert (change.before.price_text, change.now.price_text) == ("55.04", "50")
    now = time.time_ns() // 1000
    after = prices_of(Settings.load())
    assert [price.price_text for price in after.in_force(REGION, P5, "on-demand", now)] == ["50"]
    # What held before still holds then, also from the snapshot that was current before.
    for at, expected in ((1_746_057_600_000_000, "98.32"), (1_751_328_000_000_000, "55.04")):
        for table in (before, after):
            assert [p.price_text for p in table.in_force(REGION, P5, "on-demand", at)] == [expected]
    assert after.sha256 != before.sha256


def test_what_the_guard_refuses_keeps_its_price(answers: Answers) -> None:
    answers.products = whole_list(p5_48xlarge="0.0000100000", p4d_24xlarge="0", g5_xlarge="9.99")
    answers.products.append(product("new.large", "1.00", currency="CNY"))
    answers.products.append(product("odd.large", "1.00", dimensions=2))
    answers.products.append("{}")
    done = ask("on-demand")
    assert {one.why for one in done.refused} == {"guard.placeholder", "guard.not_positive", "guard.rise"}
    assert done.skipped == 2
    now = time.time_ns() // 1000
    table = prices_of(Settings.load())
    assert table.in_force(REGION, P5, "on-demand", now)[0].price_text == "55.04"
    assert any(one.price.instance == "g5.xlarge" for one in done.refused)
    accepted = ask("on-demand", jumps=True)
    assert {one.why for one in accepted.refused} == {"guard.placeholder", "guard.not_positive"}


def test_a_tiny_answer_is_not_the_whole_list(answers: Answers) -> None:
    answers.products = [product(P5, "50.00")]
    with pytest.raises(ExternalError, match="too few to be the whole list"):
        ask("on-demand")
    assert kept(Settings.load().home) == []


def test_spot_follows_zones_by_their_ids_and_never_exceeds_on_demand(answers: Answers) -> None:
    answers.spot = [
        (P5, "us-east-1a", "14.50", "2026-11-20T00:00:00Z"),
        (P5, "us-east-1a", "15.25", "2026-11-21T00:00:00Z"),
        (P5, "us-east-1b", "60.00", "2026-11-20T00:00:00Z"),
        (P5, "us-east-1b", "0.00001", "2026-11-21T00:00:00Z"),
        (P4D, "us-east-1b", "7.10", "2026-11-20T00:00:00Z"),
    ]
    done = ask("spot")
    assert {(one.price.zone, one.why) for one in done.refused} == {
        ("use1-az1", "guard.above_on_demand"),
        ("use1-az1", "guard.placeholder"),
    }
    table = prices_of(Settings.load())
    assert [
        [(p.price_text, p.zone) for p in table.in_force(REGION, P5, "spot", day * 86_400_000_000)]
        for day in (20_777, 20_778)
    ] == [[("14.5", "use1-az6")], [("15.25", "use1-az6")]]
    assert table.observations(REGION, P5, "spot") == []


def test_contracts_are_fetched_with_their_terms(answers: Answers) -> None:
    answers.products = [product(P5, "55.04")]
    answers.blocks = [(P5, "2000.40", 2, 24), (P5, "1910.40", 2, 24)]
    described = {
        "region": REGION,
        "instanceType": P5,
        "tenancy": "shared",
        "productDescription": "Linux/UNIX",
    }
    of = [{"name": key, "value": value} for key, value in described.items()]
    plan = {
        "offeringId": "o-1", "paymentOption": "No Upfront", "planType": "Compute",
        "durationSeconds": 31_536_000, "currency": "USD",
    }  # fmt: skip
    windows = [{**item, "value": "Windows"} if item["name"] == "productDescription" else item for item in of]
    answers.rates = [
        {"savingsPlanOffering": plan, "rate": "38.5", "unit": "Hrs", "properties": of},
        {"savingsPlanOffering": plan, "rate": "45", "unit": "Hrs", "properties": windows},
    ]
    done = ask("reserved", "savings-plan", "block")
    found = {p.capacity: (p.price_text, p.terms) for s in done.taken for p in s.prices if p.instance == P5}
    assert found["reserved"] == ("20.000000000", "1-year standard, Partial Upfront")
    assert found["savings-plan"] == ("38.5", "1-year Compute, No Upfront")
    assert found["block"][0] == "39.800000000"
    assert done.skipped == 1


def test_what_fails_keeps_its_older_prices_and_says_so(answers: Answers) -> None:
    answers.spot = [(P5, "us-east-1a", "14.50", "2026-11-20T00:00:00Z")]
    ask("spot")
    answers.products = whole_list(p5_48xlarge="50.00")
    answers.broken = {"DescribeSpotPriceHistory"}
    done = ask("on-demand", "spot")
    assert [one.kind for one in done.failed] == ["spot"]
    assert "AccessDenied" in done.failed[0].problem
    snapshot = current(Settings.load().home)
    assert sorted(snapshot.sections) == ["on-demand/us-east-1", "spot/us-east-1"]
    assert len(kept(Settings.load().home)) == 2
    answers.broken |= {"get_products"}
    with pytest.raises(ExternalError):
        ask("on-demand", "spot")
    assert current(Settings.load().home).sha256 == snapshot.sha256


def test_who_does_not_answer_is_asked_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path))
    asked: list[tuple[str, str]] = []

    def make(service: str, region: str):
        asked.append((service, region))
        raise EndpointConnectionError(endpoint_url=f"http://{service}")

    now = time.time_ns() // 1000
    found = list(fetch(make, ["a", "b"], ["on-demand", "reserved", "spot", "block"], [P5], now))
    assert asked == [("pricing", "us-east-1"), ("ec2", "a"), ("ec2", "b")]
    assert len(found) == 8
    assert all("EndpointConnectionError" in answer.problem for answer in found)

    def nobody(service: str, region: str):
        asked.append((service, region))
        raise NoCredentialsError

    asked.clear()
    assert len(list(fetch(nobody, ["a", "b"], ["on-demand", "spot", "savings-plan"], [P5], now))) == 6
    assert len(asked) == 1


def test_a_damaged_snapshot_is_never_used(answers: Answers) -> None:
    answers.spot = [(P5, "us-east-1a", "14.50", "2026-11-20T00:00:00Z")]
    sha256 = ask("spot").sha256
    path = Settings.load().home / "prices" / "snapshots" / f"{sha256}.json"
    path.write_bytes(path.read_bytes().replace(b"14.5", b"12.5"))
    with pytest.raises(DataError, match="was changed"):
        prices_of(Settings.load())
    path.unlink()
    with pytest.raises(DataError, match="cannot be read"):
        prices_of(Settings.load())


def test_a_plan_uses_the_fetched_price_and_says_how_old_it_is(answers: Answers) -> None:
    answers.products = whole_list(p5_48xlarge="50.00")
    answers.spot = [(P5, "us-east-1a", "14.50", "2026-11-20T00:00:00Z")]
    sites = Path(Settings.load().home, "sites.yaml")
    sites.parent.mkdir(parents=True, exist_ok=True)
    sites.write_text(
        "version: 1\nsites:\n- {name: aws, kind: aws, region: us-east-1, pools: ["
        "{name: od, instance: p5.48xlarge}, {name: spot, instance: p5.48xlarge, capacity: spot},"
        "{name: ri, instance: p5.48xlarge, capacity: reserved}]}\n"
    )
    runner = CliRunner()
    done = runner.invoke(cli, ["prices", "refresh", "--only", "on-demand", "--only", "spot", "-o", "json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["changes"][0]["now"] == "50"
    shown = json.loads(runner.invoke(cli, ["sites", "list", "-o", "json"]).output)["offerings"]
    by_pool = {row["offering"]: row for row in shown}
    assert by_pool["aws/od"]["price_per_node_hour"] == "50.000000"
    assert by_pool["aws/spot"]["price_per_node_hour"] == "14.500000"
    assert "use1-az6" in by_pool["aws/spot"]["basis"]
    assert by_pool["aws/ri"]["price_per_node_hour"] is None
    changes = json.loads(runner.invoke(cli, ["prices", "diff", "-o", "json"]).output)["changes"]
    assert {row["capacity"] for row in changes} == {"on-demand", "spot"}


@moto.mock_aws
def test_moto_gives_the_hardware_and_a_spot_price_that_the_guard_refuses(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    now = time.time_ns() // 1000
    (machines,) = fetch(
        boto3_clients(), [REGION], ["machines"], ["p5.48xlarge", "g6.12xlarge", "p4de.24xlarge"], now
    )
    assert {(m.name, m.accelerator, int(m.accelerator_count)) for m in machines.machines} == {
        ("p5.48xlarge", "h100-sxm", 8),
        ("g6.12xlarge", "l4", 4),
        ("p4de.24xlarge", "a100-80", 8),
    }
    history = boto3.client("ec2", REGION).describe_spot_price_history(InstanceTypes=[P5])["SpotPriceHistory"]
    assert {row["SpotPrice"] for row in history} == {"0.00001"}
    with pytest.raises(ExternalError, match="nothing was changed"):
        refresh(Settings.load(), boto3_clients(), ([REGION], ["spot"], [P5]), now)
    assert market_of(Settings.load()).table.sha256 == table_of(current(tmp_path)).sha256
