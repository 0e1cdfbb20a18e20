"""Joules from a counter or a model, and who pays for them."""

import os
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.catalog.here import here_figures
from headway.meter.energy import CoreTime, Model, Rapl, RaplZones, best_source

RANGE = 262_143_328_850


@pytest.fixture
def powercap(tmp_path):
    def zone(name, label, value, parent=None):
        folder = (parent or tmp_path) / name
        folder.mkdir()
        (folder / "name").write_text(f"{label}\n")
        (folder / "energy_uj").write_text(f"{value}\n")
        (folder / "max_energy_range_uj").write_text(f"{RANGE}\n")
        return folder

    class Tree:
        root = tmp_path
        first = zone("intel-rapl:0", "package-0", 1000)
        second = zone("intel-rapl:1", "package-1", 5000)
        # The kernel shows a sub-zone both inside its package and beside it.
        core = zone("intel-rapl:0:0", "core", 900)
        dram = zone("intel-rapl:0:1", "dram", 900)
        system = zone("intel-rapl:2", "psys", 9000)
        mmio = zone("intel-rapl-mmio:0", "package-0", 7000)

        @staticmethod
        def add(folder, amount):
            value = (int((folder / "energy_uj").read_text()) + amount) % (RANGE + 1)
            (folder / "energy_uj").write_text(f"{value}\n")

    (tmp_path / "intel-rapl").mkdir()
    return Tree


def test_packages_are_summed_and_nothing_is_counted_twice(powercap):
    zones = RaplZones(powercap.root)
    assert zones.readable
    for folder, amount in (
        (powercap.first, 100), (powercap.second, 20), (powercap.core, 80), (powercap.dram, 10),
        (powercap.system, 400), (powercap.mmio, 100),
    ):  # fmt: skip
        powercap.add(folder, amount)
    assert zones.microjoules() == 120
    assert zones.microjoules() == 0


def test_a_counter_that_wraps_loses_at_most_its_last_step(powercap):
    (powercap.first / "energy_uj").write_text(str(RANGE - 50))
    zones = RaplZones(powercap.root)
    (powercap.first / "energy_uj").write_text("70")
    assert zones.microjoules() == 120


def test_a_counter_reset_without_a_range_is_never_negative(powercap):
    zones = RaplZones(powercap.root)
    (powercap.first / "max_energy_range_uj").unlink()
    (powercap.first / "energy_uj").write_text("1")
    assert zones.microjoules() == 0


@pytest.mark.parametrize("content", [None, "", "abc"])
def test_a_package_that_cannot_be_read_is_left_out(powercap, content):
    if content is None:
        (powercap.first / "energy_uj").unlink()
    else:
        (powercap.first / "energy_uj").write_text(content)
    zones = RaplZones(powercap.root)
    powercap.add(powercap.second, 7)
    assert zones.readable
    assert zones.microjoules() == 7


def test_what_could_not_be_read_for_a_while_is_made_up_for(powercap):
    zones = RaplZones(powercap.root)
    hidden = powercap.first / "hidden"
    (powercap.first / "energy_uj").rename(hidden)
    assert zones.microjoules() == 0
    hidden.write_text("1500")
    hidden.rename(powercap.first / "energy_uj")
    assert zones.microjoules() == 500


def test_without_a_readable_counter_the_model_says_so(tmp_path, powercap):
    figures = here_figures()
    assert (best_source(figures, powercap.root).method, best_source(figures, powercap.root).quality) == (
        "rapl",
        "measured",
    )
    for folder in (powercap.first, powercap.second):
        (folder / "energy_uj").unlink()
    source = best_source(figures, powercap.root)
    assert (source.method, source.quality) == ("model", "modelled")
    assert best_source(figures, tmp_path / "nowhere").method == "model"


def shared(powercap, amount, **cores):
    source = Rapl(RaplZones(powercap.root))
    powercap.add(powercap.first, amount)
    return source.microjoules(CoreTime(**cores))


def test_a_run_pays_its_share_of_the_busy_time(powercap):
    assert shared(powercap, 1000, held=100, used=30, machine_busy=60, machine_capacity=400) == 500


def test_a_run_never_pays_more_than_the_package(powercap):
    assert shared(powercap, 1000, held=100, used=99, machine_busy=60, machine_capacity=400) == 1000


def test_on_an_idle_machine_a_run_pays_for_the_cores_it_holds(powercap):
    assert shared(powercap, 1000, held=100, used=0, machine_busy=0, machine_capacity=400) == 250


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=8), st.integers(0, 10**6))
def test_runs_that_share_a_package_never_pay_more_than_it_used(used, energy):
    class Zones:
        def microjoules(self):
            return energy

    busy = sum(used)
    paid = [
        Rapl(Zones()).microjoules(CoreTime(held=1000, used=mine, machine_busy=busy, machine_capacity=8000))
        for mine in used
    ]
    assert sum(paid) <= energy
    assert busy == 0 or sum(paid) >= energy - len(used)


@pytest.mark.parametrize(
    ("held", "used", "microjoules"),
    [
        (2_000_000, 0, 3_000_000),
        (2_000_000, 2_000_000, 10_000_000),
        (2_000_000, 500_000, 4_750_000),
        (0, 0, 0),
    ],
)
def test_modelled_joules_are_idle_watts_held_and_the_difference_used(held, used, microjoules):
    # 1.5 W idle and 5 W busy per core, from the catalogue.
    model = Model(here_figures())
    assert model.microjoules(CoreTime(held, used, 0, 1)) == microjoules


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_modelled_joules_lie_between_idle_and_busy(held, used):
    found = Model(here_figures()).microjoules(CoreTime(held, used, 0, 1))
    if held:
        assert int(held * Decimal("1.5")) <= found <= held * 5
    assert found >= 0


def test_the_real_tree_is_read_without_harm():
    assert RaplZones().microjoules() >= 0
    assert os.cpu_count()
