"""Each offering's efficiency is this model's on that device, from published runs; processors keep theirs."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest

from headway.catalog.tables import accelerators
from headway.controller.efficiencies import is_causal, with_efficiencies
from headway.controller.offerings import device_offering
from headway.controller.quotes import Quote
from headway.planner.types import Work
from headway.profile.closed_form import profile_of
from headway.profile.configs import shape_of

ONE = Quote(Decimal(1), "USD", "list price", "table")


def work(name: str) -> Work:
    return Work(profile_of(shape_of(name, {})), 1_000_000, 1024)


@pytest.mark.parametrize(
    ("name", "causal"), [("bert-large", False), ("gpt2-xl", True), ("llama-3.1-8b", True)]
)
def test_published_runs_say_how_much_of_the_peak_a_model_reaches(name: str, causal: bool) -> None:
    of = work(name)
    assert is_causal(of.profile) is causal
    plain = [device_offering(accelerators()[key], 8, ONE) for key in ("h100-sxm", "a100-80", "l40s")]
    found = with_efficiencies(plain, of)
    for one in found:
        assert 0.1 < one.efficiency.low < one.efficiency.expected < one.efficiency.high <= 1
        assert one.efficiency.basis.startswith("throughput model")
    # The newer device reaches less of its higher peak, and is still faster.
    h100, a100 = found[0].efficiency.expected, found[1].efficiency.expected
    assert h100 < a100
    assert h100 * 989e12 > a100 * 312e12


def test_what_the_model_says_nothing_of_keeps_what_it_had() -> None:
    of = work("bert-large")
    processor = replace(
        device_offering(accelerators()["cpu-core-generic"], 8, replace(ONE, price=None)), processor=True
    )
    small = device_offering(accelerators()["t4"], 8, ONE)
    huge = work("llama-3.1-70b")
    assert with_efficiencies([processor], of) == [processor]
    assert with_efficiencies([small], huge) == [small]
