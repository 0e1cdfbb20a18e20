"""This machine's figures: assumptions with a source, replaced one by one, each set its own snapshot."""

import hashlib
from decimal import Decimal

import pytest

from headway.catalog.here import here_figures


def test_every_assumption_names_its_source():
    figures = here_figures()
    for source in (figures.server_source, figures.power_source, figures.tariff_source, figures.carbon_source):
        assert len(source) > 10
    assert figures.snapshot.licence
    assert figures.snapshot.source
    assert figures.snapshot.sha256 == hashlib.sha256(figures.snapshot.body).hexdigest()


def test_the_same_figures_are_the_same_snapshot():
    assert here_figures().snapshot.sha256 == here_figures({}).snapshot.sha256
    one = here_figures({"tariff": "0.2", "pue": "1.1"}, origin="a.yaml")
    assert one.snapshot == here_figures({"pue": "1.1", "tariff": "0.2"}, origin="a.yaml").snapshot


@pytest.mark.parametrize(
    ("key", "value", "field"),
    [
        ("core_price", "0.5", "core_hour_price"),
        ("tariff", "0.31", "tariff_per_kwh"),
        ("pue", "1.4", "pue"),
        ("utilisation", "0.9", "utilisation"),
        ("cores", "3", "cores_limit"),
        ("currency", "EUR", "currency"),
    ],
)
def test_what_the_user_says_replaces_one_figure_and_makes_another_snapshot(key, value, field):
    base, given = here_figures(), here_figures({key: value}, origin="sites.yaml")
    assert str(getattr(given, field)) == value
    assert given.snapshot.sha256 != base.snapshot.sha256
    assert given.snapshot.source.endswith("with sites.yaml")
    untouched = {"tariff_per_kwh", "pue", "utilisation", "server_price", "location"} - {field}
    assert all(getattr(given, name) == getattr(base, name) for name in untouched)


def test_a_place_has_its_own_grid_or_none():
    base = here_figures()
    assert base.grams_co2e_per_kwh is not None
    nowhere = here_figures({"location": "Atlantis"}, origin="s")
    assert nowhere.grams_co2e_per_kwh is None
    france, shouted = (here_figures({"location": name}, origin="s") for name in ("france", "FRANCE"))
    if france.grams_co2e_per_kwh is not None:
        assert france.grams_co2e_per_kwh == shouted.grams_co2e_per_kwh
        assert france.grams_co2e_per_kwh < base.grams_co2e_per_kwh
        assert france.carbon_source


def test_figures_are_exact_decimals():
    figures = here_figures()
    for name in (
        "server_price",
        "cost_of_capital",
        "tariff_per_kwh",
        "core_idle_watts",
        "pue",
        "utilisation",
    ):
        assert isinstance(getattr(figures, name), Decimal)
