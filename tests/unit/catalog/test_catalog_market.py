"""Price books over list prices, imported clouds, and snapshots that are swapped whole."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from headway.catalog.table import merged
from headway.catalog.types import ListedPrice
from headway.controller.figures import figures_of
from headway.controller.offerings import offerings_of
from headway.controller.pricing import book_of, import_prices, market_of, sites_of
from headway.costing.layers import Credit, DiscountLayer, Drawn, PrivateRate, apply_layers, draw_credits
from headway.settings import Settings
from headway.spec.problems import SpecProblems

NOW = 1_790_000_000_000_000
D = Decimal
BOOK = """
version: 1
layers:
- {kind: rate, name: private, instance: p5.48xlarge, region: us-east-1, price: 40 USD}
- {kind: discount, name: EDP, percent: 10, instances: ["p5.*"]}
- {kind: rate, name: three years, instance: p4d.24xlarge, region: us-east-1, capacity: reserved,
   price: 5 USD, upfront: 26280 USD, years: 1}
- {kind: block, name: september, instance: p5en.48xlarge, region: us-east-1, nodes: 2, fee: 48000 USD,
   from: 2026-09-01, until: 2026-10-01}
- {kind: credit, name: start-up, amount: 100 USD, until: 2027-01-01}
"""
SITES = """
version: 1
sites:
- name: aws
  kind: aws
  region: us-east-1
  pools:
  - {name: od, instance: p5.48xlarge}
  - {name: ri, instance: p4d.24xlarge, capacity: reserved}
  - {name: cb, instance: p5en.48xlarge, capacity: block}
"""
CSV = """provider,region,instance,capacity,price_per_hour,currency,accelerator,accelerators,vcpus,memory_gib,\
source
lambda,us-west-1,gpu_8x_h100,on-demand,23.92,USD,h100-sxm,8,208,1800,quote
gcp,europe-west4,a3-highgpu-8g,spot,30.5,USD,h100-sxm,8,208,1872,
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    (tmp_path / "sites.yaml").write_text(SITES)
    return tmp_path


def offered(now: int = NOW):
    settings = Settings.load()
    found = offerings_of(sites_of(settings), figures_of(settings), now, market_of(settings))
    return {item.key: item for item in found}


def test_layers_work_in_their_order(home: Path) -> None:
    assert offered()["aws/od"].price_per_hour == D("55.04")
    (home / "prices.yaml").write_text(BOOK)
    found = offered()
    assert found["aws/od"].price_per_hour == D("36.0")
    assert "private: 40 USD; EDP: -10" in found["aws/od"].price_basis
    assert "price book prices.yaml" in found["aws/od"].price_source
    assert found["aws/ri"].price_per_hour == D(8)
    assert round(found["aws/cb"].price_per_hour, 6) == D("33.333333")
    # Before the block begins nothing prices it.
    assert offered(NOW - 60 * 86_400_000_000)["aws/cb"].price_per_hour is None
    assert [credit.name for credit in book_of(Settings.load()).credits] == ["start-up"]


@pytest.mark.parametrize(
    ("layer", "said"),
    [
        ("{kind: discount, name: a, percent: 120}", "percent"),
        ("{kind: rate, name: a, instance: p5.48xlarge, region: r, price: 4 USD, upfront: 1 USD}", "no term"),
        (
            "{kind: rate, name: a, instance: p5.48xlarge, region: r, price: 4 USD, upfront: 1 EUR, years: 1}",
            "EUR",
        ),
        ("{kind: block, name: a, instance: x, region: r, nodes: 1, fee: 1 USD, from: 2026-01-01}", "until"),
        ("{kind: credit, name: a, amount: 1 USD, from: 2026-02-30}", "not a day"),
        ("{kind: credit, name: a, amount: 1 USD, from: 2026-02-01, until: 2026-02-01}", "ends before"),
        ("{kind: gift, name: a}", "kind"),
        ("{kind: discount, name: a, percent: 5, instances: [P5]}", "pattern"),
        ("{kind: discount, name: a, percnt: 5}", "percent"),
    ],
)
def test_a_wrong_price_book_is_told_with_its_line(home: Path, layer: str, said: str) -> None:
    (home / "prices.yaml").write_text(f"version: 1\nlayers:\n- {layer}\n")
    with pytest.raises(SpecProblems) as caught:
        book_of(Settings.load())
    assert "prices.yaml:3" in str(caught.value)
    assert said in str(caught.value)


def test_a_rate_in_another_currency_replaces_price_and_currency() -> None:
    rate = PrivateRate("euro", "p5", "r", "on-demand", D(1), D(0), None, "EUR", None, None)
    of = {"instance": "p5", "region": "r", "capacity": "on-demand", "at": 0}
    found = apply_layers(D(2), "USD", [rate], **of)
    assert (found.price, found.currency, found.steps) == (1, "EUR", ("euro: 1 EUR",))
    discount = DiscountLayer("d", D("0.5"), ("p*",), ("*",), ("on-demand",), 10, 20)
    assert apply_layers(D(2), "USD", [discount], **of).price == 2
    assert apply_layers(D(2), "USD", [discount], **{**of, "at": 10}).price == 1
    assert apply_layers(None, "USD", [discount], **{**of, "at": 10}).price is None


def test_credits_pay_until_they_are_spent() -> None:
    given = [Credit("a", D(30), "USD", None, None), Credit("b", D(30), "EUR", None, None)]
    assert draw_credits([(5, D(20)), (1, D(20))], "USD", given, 9) == Drawn((D(10), D(20)), D(0))
    assert draw_credits([(1, D(20))], "USD", given, 9) == Drawn((D(20),), D(10))
    early = [Credit("a", D(30), "USD", 10, 20)]
    assert draw_credits([(9, D(5)), (10, D(5)), (20, D(5))], "USD", early, 30) == Drawn(
        (D(0), D(5), D(0)), D(0)
    )


def test_imported_prices_are_offerings_to_compare_with(home: Path) -> None:
    file = home / "other clouds.csv"
    file.write_text(CSV)
    assert len(import_prices(Settings.load(), file, NOW).section.prices) == 2
    found = offered()
    assert found["import:lambda/us-west-1/gpu_8x_h100"].price_per_hour == D("23.92")
    assert found["import:lambda/us-west-1/gpu_8x_h100"].devices == 8
    assert not next(one for key, one in found.items() if key.startswith("import:gcp/")).launchable
    import_prices(Settings.load(), file, NOW + 1)
    assert len(offered()) == len(found)


def listed(price: str, start: int, seen: int = 0) -> ListedPrice:
    return ListedPrice("p5", "r", "on-demand", "USD", price, start, None, seen, "s")


@pytest.mark.parametrize(
    ("fetched", "series"),
    [
        ([], [("1", 0, None)]),
        ([("1", 500)], [("1", 0, None)]),
        ([("2", 10**12)], [("1", 0, 10**12), ("2", 10**12, None)]),
        ([("2", 5)], [("1", 0, 86_400_000_100), ("2", 86_400_000_100, None)]),  # seen later than it says
        ([("2", 10**12), ("3", 10**13)], [("1", 0, 10**12), ("2", 10**12, 10**13), ("3", 10**13, None)]),
    ],
)
def test_a_fetched_price_follows_the_one_before(fetched, series) -> None:
    found = merged([listed("1", 0, 100)], [listed(price, start) for price, start in fetched])
    assert [(p.price_text, p.effective_from, p.effective_to) for p in found] == series
