"""What a job file asks of a plan: lengths, processors only, use that is stated, prices that nobody knows."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from headway.controller.offerings import offerings_of
from headway.controller.planning import plan_job
from headway.errors import UserError
from headway.planner.types import Verdict
from headway.settings import Settings
from headway.spec.files import load_job, load_sites

ROOT = Path(__file__).resolve().parents[3]
JOB = ROOT / "jobs" / "plans" / "bert-large.yaml"
OWNED = """\
version: 1
sites:
  - name: dc
    kind: owned
    currency: USD
    server: {price: 100000 USD, cores: 64, gpus: 8, accelerator: h100-sxm}
    power_watts: 5000
    tariff: 0.1 USD
    pools: [{name: p}]
"""
RENTED = """\
version: 1
sites:
  - name: r
    kind: aws
    region: eu-west-3
    pools:
      - {name: on-demand, instance: p5.48xlarge}
      - {name: spot, instance: p5.48xlarge, capacity: spot}
      - {name: reserved, instance: p5.48xlarge, capacity: reserved}
      - {name: savings-plan, instance: p5.48xlarge, capacity: savings-plan}
      - {name: block, instance: p5.48xlarge, capacity: block}
"""


def planned(*settings):
    return plan_job(Settings.load(), load_job(JOB, settings).spec)


@pytest.mark.parametrize(
    ("model", "longest"), [("bert-large", 512), ("roberta-large", 512), ("gpt2", 1024), ("gpt2-xl", 1024)]
)
def test_a_sample_longer_than_the_positions_is_refused_by_both_numbers(home, model, longest):
    name = f"workload.model.factory={model}"
    assert planned(name, f"workload.seq_len={longest}").work.profile.seq_len == longest
    with pytest.raises(UserError) as caught:
        planned(name, f"workload.seq_len={longest + 1}")
    assert f"{longest:,}" in str(caught.value)
    assert f"{longest + 1:,}" in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize("given", [1, 196, 198, 512])
def test_an_image_has_the_tokens_that_it_has(home, given):
    name = "workload.model.factory=vit-l"
    assert planned(name, "workload.seq_len=197").work.profile.seq_len == 197
    with pytest.raises(UserError) as caught:
        planned(name, f"workload.seq_len={given}")
    assert str(given) in str(caught.value)
    assert "197" in str(caught.value)


def test_no_gpus_asked_for_is_processors_only(home):
    every = {rival.offering.key: rival for rival in planned("needs.gpus=0").result.rivals}
    assert every["here"].message != "plan.processors_only"
    for key, rival in every.items():
        if key != "here":
            assert (rival.verdict, rival.message) == (Verdict.UNSUITED, "plan.processors_only"), key
    for span in ("1..8", "0..8"):
        unset = planned(f"needs.gpus={span}").result.rivals
        assert not any(rival.message == "plan.processors_only" for rival in unset), span


@pytest.mark.parametrize(
    ("line", "use", "said"),
    [
        ("", "0.7", "used 70% of the time (assumed)"),
        ("    utilisation: 0.7\n", "0.7", "used 70% of the time (as stated)"),
        ("    utilisation: 0.125\n", "0.125", "used 12.5% of the time (as stated)"),
        ("    utilisation: 1\n", "1", "used 100% of the time (as stated)"),
    ],
)
def test_the_use_of_a_server_is_as_stated_or_assumed(home, monkeypatch, tmp_path, line, use, said):
    path = tmp_path / "sites.yaml"
    monkeypatch.setenv("HEADWAY_SITES", str(path))

    def offering(text):
        path.write_text(text)
        return planned().result.rivals[0].offering

    whole = offering(f"{OWNED}    utilisation: 1\n")
    found = offering(OWNED + line)
    assert found.price_per_hour == pytest.approx(whole.price_per_hour / Decimal(use))
    assert said in found.price_basis


def test_an_unpriced_pool_says_where_its_price_would_come_from(home, monkeypatch, tmp_path):
    from headway.controller.figures import figures_of

    path = tmp_path / "sites.yaml"
    path.write_text(RENTED)
    monkeypatch.setenv("HEADWAY_SITES", str(path))
    settings = Settings.load()
    found = offerings_of(load_sites(path), figures_of(settings), 1_790_000_000_000_000)
    basis = {item.capacity: item.price_basis for item in found if item.site == "r"}
    assert len(basis) == 5
    for capacity, said in basis.items():
        assert ("your own price book" in said) is (capacity in {"reserved", "savings-plan", "block"})
        assert capacity in said
        assert "headway prices refresh" in said
