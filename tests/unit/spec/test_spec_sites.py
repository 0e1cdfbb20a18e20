"""Sites files: owned and rented sites, tariffs by time of day, what `here` costs."""

from decimal import Decimal
from itertools import pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from headway.spec.files import load_sites
from headway.spec.sites import AwsSite, OwnedSite, SitesSpec
from headway.spec.tariff import DAY_MINUTES, clock, stretches
from headway.units import Money

SITES = Path(__file__).parent / "sites.yaml"


def test_a_good_file():
    loaded = load_sites(SITES)
    rented, owned = loaded.spec.sites
    assert isinstance(rented, AwsSite)
    assert isinstance(owned, OwnedSite)
    assert [pool.capacity for pool in rented.pools] == ["spot", "on-demand"]
    assert rented.latency_to_data == Decimal("0.040")
    assert owned.server.price == Money(Decimal(180_000), "EUR")
    assert [(one.start, one.end, str(one.price.amount)) for one in owned.stretches] == [
        (0, 360, "0.11"),
        (360, 1320, "0.19"),
        (1320, 1440, "0.11"),
    ]
    assert loaded.spec.here is not None
    assert loaded.spec.here.cores == 2
    assert loaded.positions.key(("sites", 1, "server", "gpus")).line == 16
    assert len(loaded.text_sha256) == 64


def test_a_spec_survives_its_own_data():
    spec = load_sites(SITES).spec
    assert SitesSpec.model_validate(spec.to_data()) == spec


def test_one_price_covers_the_day():
    data = load_sites(SITES).spec.to_data()
    data["sites"][1]["tariff"] = "0.2 EUR"
    owned = SitesSpec.model_validate(data).sites[1]
    assert isinstance(owned, OwnedSite)
    assert owned.stretches == ((0, 1440, Money(Decimal("0.2"), "EUR")),)


@given(st.lists(st.integers(0, DAY_MINUTES - 1), min_size=2, max_size=12, unique=True))
def test_any_cut_of_the_day_is_covered_once(cuts):
    cuts = sorted(cuts)
    windows = [
        {"from": clock(start), "to": clock(end), "price": "0.1 USD"}
        for start, end in zip(cuts, [*cuts[1:], cuts[0]], strict=True)
    ]
    here = SitesSpec.model_validate({"version": 1, "here": {"tariff": windows}}).here
    assert here is not None
    found = stretches(here.tariff)
    assert found[0].start == 0
    assert found[-1].end == DAY_MINUTES
    assert all(one.end == other.start for one, other in pairwise(found))
