"""The plans of four published models over the sample sites, frozen; this machine's own row left out.

Set HEADWAY_WRITE_GOLDEN=1 to write them anew, and look at what changed.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from headway.controller.planning import plan_job
from headway.reports.plan import plan_document
from headway.settings import Settings
from headway.spec.files import load_job

ROOT = Path(__file__).resolve().parents[3]
GOLDEN = ROOT / "tests" / "golden" / "plans"
MODELS = ("bert-large", "gpt2-xl", "llama-3.1-8b", "vit-l")
SAMPLE = {
    *("us-east-1/g6-od", "us-east-1/g6e-od", "us-east-1/p4d-od", "us-east-1/p4d-spot", "us-east-1/p5-od"),
    *("us-east-1/p5-spot", "us-east-1/g5-spot", "eu-west-3/p4d-od", "dc1/l40s", "here"),
}


@pytest.fixture(autouse=True)
def nobodys_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path))
    monkeypatch.delenv("HEADWAY_SITES", raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.mark.parametrize("model", MODELS)
def test_a_plan_is_what_it_was(model):
    planned = plan_job(Settings.load(), load_job(ROOT / "jobs" / "plans" / f"{model}.yaml").spec)
    document = plan_document(planned.work, planned.limits, planned.result, {})
    assert {row["offering"] for row in document["offerings"]} == SAMPLE, "every offering is listed"
    document["offerings"] = [row for row in document["offerings"] if row["offering"] != "here"]
    text = json.dumps(document, indent=1, sort_keys=True) + "\n"
    path = GOLDEN / f"{model}.json"
    if os.environ.get("HEADWAY_WRITE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text()


def test_the_four_plans_show_every_common_verdict():
    verdicts = {
        row["verdict"]
        for model in MODELS
        for row in json.loads((GOLDEN / f"{model}.json").read_text())["offerings"]
    }
    assert {"chosen", "alternative", "dominated", "too-small", "too-slow", "unpriced"} <= verdicts


@pytest.mark.parametrize(
    ("setting", "verdict"),
    [
        ("data.sensitivity=restricted", "forbidden"),
        ("limits.sites=[dc1]", "forbidden"),
        ("limits.budget=1 USD", "over-budget"),
        ("limits.deadline=10m", "too-slow"),
    ],
)
def test_limits_are_hard(setting, verdict):
    planned = plan_job(Settings.load(), load_job(ROOT / "jobs" / "plans" / "bert-large.yaml", [setting]).spec)
    assert verdict in {rival.verdict.value for rival in planned.result.rivals}
