"""Profiles through a child process: user code stays out of ours, its faults come back with their place."""

import json
import sys

import pytest
from torch import nn

from headway.errors import UserError
from headway.memory.recipe import Recipe
from headway.profile import stored, traced
from headway.profile.child import checked
from headway.profile.polynomial import SavedBytes
from headway.profile.step_types import StepPeak
from headway.profile.traced_types import TracedProfile, TraceRequest, Versions, request_of, traced_profile_of

GOOD = """
import torch
from torch import nn
print("a print of the user's", flush=True)

class Model(nn.Module):
    def __init__(self, layers):
        super().__init__()
        block = lambda: nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
        self.blocks = nn.Sequential(*[block() for _ in range(layers)])
    def forward(self, x, labels):
        return {"loss": ((self.blocks(x) - labels) ** 2).mean()}

def small(layers=3):
    return Model(layers), {"x": torch.zeros(2, 4, 8), "labels": torch.zeros(2, 4, 8)}

def raises():
    number = 1
    raise ValueError("no such weights")
"""
SILENT = "import os\nos._exit(3)\n"
SLOW = "import time\ntime.sleep(60)\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "models.py").write_text(GOOD)
    return tmp_path


def profile(folder, name, **how):
    request = TraceRequest(factory=f"models:{name}", micro_batch=2, seq_len=4, rules="cpu")
    return traced.profile_for(request, folder=folder, home=folder / "home", **how)


def test_a_factory_is_traced_in_a_child_and_stored(folder):
    found = profile(folder, "small")
    assert not found.stored
    assert found.profile.parameters == 3 * (8 * 16 + 16 + 16 * 8 + 8)
    assert found.profile.layers == 3
    assert "models" not in sys.modules
    again = profile(folder, "small")
    assert again.stored
    assert again.profile == found.profile
    plan = again.profile.model_profile()
    assert plan.parameters == found.profile.parameters
    assert plan.flops_per_token > 0
    (path,) = (folder / "home" / "profiles").glob("*.json")
    path.write_text("{")
    damaged, reason = stored.load(path.parent, path.stem)
    assert damaged is None
    assert str(path) in reason
    assert stored.load(path.parent, "another") == (None, "")
    (folder / "models.py").write_text(GOOD + "\n# changed\n")
    assert traced.source_of(TraceRequest(factory="models:small"), folder, folder / "home") != GOOD


def test_what_a_factory_raises_comes_back_with_its_place(folder):
    with pytest.raises(UserError, match=r"ValueError: no such weights at models.py:\d+") as caught:
        profile(folder, "raises")
    assert caught.value.hint


@pytest.mark.parametrize(
    ("factory", "says"),
    [
        ("nosuch.module:f", "no module nosuch.module"),
        ("light:nosuch", "light.py has no callable nosuch"),
        ("silent:f", "exit code 3"),
        ("slow:f", "more than 2 s"),
    ],
)
def test_a_factory_that_is_not_there_or_does_not_answer_is_said(folder, factory, says):
    for name, text in (("light", "f = 1\n"), ("silent", SILENT), ("slow", SLOW)):
        (folder / f"{name}.py").write_text(text)
    with pytest.raises(UserError, match=says):
        traced.profile_for(
            TraceRequest(factory=factory),
            folder=folder,
            home=folder / "home",
            timeout_seconds=2.0 if factory == "slow:f" else 60.0,
        )
    assert not (folder / "home").exists()


@pytest.mark.parametrize("made", [nn.Linear(1, 1), (nn.Linear(1, 1),), (1, {}), (nn.Linear(1, 1), 3), None])
def test_a_factory_returns_a_model_and_a_batch(made):
    with pytest.raises(UserError, match="not a model and a batch"):
        checked(made, "models:f")


def example():
    request = TraceRequest(
        Recipe(precision="bf16", layers=("fused_loss",)),
        model="bert-base",
        config=(("n", 1),),
        targets=("q",),
    )
    peak = StepPeak("cuda", {"optimizer": {"parameters": 4, "gradients": 4, "optimizer": 8}}, (1, 2), 32)
    saved = {"all": SavedBytes((0, 0, 0, 0, 3, 0), exact=True)}
    return TracedProfile(request, Versions("2", "5", "chunked"), 1, 1, 2, peak, peak, peak, saved)


def test_a_profile_survives_its_json():
    text = json.dumps(example().to_data())
    assert traced_profile_of(json.loads(text)) == example()
    with pytest.raises(ValueError, match="format"):
        traced_profile_of({"format": 0})


def test_a_key_changes_with_everything_a_profile_depends_on():
    request, versions = example().request, Versions("2", "5", "chunked")
    other = request_of({**request.to_data(), "micro_batch": 3})
    keys = {
        stored.key_of(request, versions, "a"),
        stored.key_of(request, versions, "b"),
        stored.key_of(request, Versions("3", "5", "chunked"), "a"),
        stored.key_of(request, Versions("2", "5", "torch"), "a"),
        stored.key_of(other, versions, "a"),
    }
    assert len(keys) == 5
    assert stored.key_of(request_of(request.to_data()), versions, "a") in keys


def test_asking_needs_no_torch():
    import subprocess

    code = "import sys, headway.profile.traced as t; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
