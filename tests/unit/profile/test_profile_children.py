"""Children that run user code: what they depend on, that they end with us, unwritable homes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headway.errors import UserError
from headway.memory.recipe import Recipe
from headway.profile import gated, traced
from headway.profile.gate_child import cut
from headway.profile.traced_types import TraceRequest

MODELS = """
import torch
from torch import nn
from parts.block import make
from pathlib import Path

def build(layers=2):
    width = int(Path("width.json").read_text())
    return nn.Sequential(*[make(width) for _ in range(layers)], Mean()), {"input": torch.ones(2, 4, width)}

class Mean(nn.Module):
    def forward(self, x):
        return x.pow(2).mean()
"""
BLOCK = """
from torch import nn

def make(width):
    return nn.Sequential(nn.Linear(width, 16), nn.GELU(), nn.Linear(16, width))
"""
REQUEST = TraceRequest(recipe=Recipe(layers=("fused_activation",)), factory="models:build", rules="cpu")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "parts").mkdir()
    (tmp_path / "models.py").write_text(MODELS)
    (tmp_path / "parts" / "block.py").write_text(BLOCK)
    (tmp_path / "width.json").write_text("8")
    return tmp_path


def _change(path: Path) -> None:
    path.write_text(path.read_text() + "\n")


@pytest.mark.parametrize("name", ["models.py", "parts/block.py", "width.json", "new.yaml"])
def test_a_profile_is_made_anew_when_code_or_settings_change(folder: Path, name: str) -> None:
    home = folder / "home"
    before = traced.source_of(REQUEST, folder, home)
    assert traced.source_of(REQUEST, folder, home) == before
    (folder / name).touch()
    _change(folder / name)
    assert traced.source_of(REQUEST, folder, home) != before


@pytest.mark.parametrize("name", [".git/x.py", "__pycache__/x.py", "home/profiles/x.json", "weights.bin"])
def test_what_no_factory_reads_does_not_count(folder: Path, name: str) -> None:
    home = folder / "home"
    before = traced.source_of(REQUEST, folder, home)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("1")
    assert traced.source_of(REQUEST, folder, home) == before


def test_the_gate_of_a_factory_is_run_each_time_and_an_unwritable_home_is_no_fault(folder: Path) -> None:
    blocked = folder / "home"
    blocked.write_text("a file where a folder should be")
    for _ in range(2):
        found = gated.gate_for(REQUEST, folder=folder, home=blocked, exact=True)
        assert not found.problems
        assert not found.remembered
    profile = traced.profile_for(REQUEST, folder=folder, home=blocked)
    assert not profile.stored
    assert str(blocked) in profile.ignored


TOWERS = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.act, self.down = nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8)
    def forward(self, x):
        return x + self.down(self.act(self.up(x)))

class Model(nn.Module):
    def __init__(self, layers, lists):
        super().__init__()
        self.towers = lists(lists([Block() for _ in range(layers)]) for _ in range(2))
    def forward(self, x):
        for tower in self.towers:
            for block in tower:
                x = block(x)
        return x.pow(2).mean()

class Hidden(nn.Module):
    def __init__(self, inner):
        super().__init__()
        for number, item in enumerate(inner):
            self.add_module(f"item{number}", item)
    def __iter__(self):
        return iter(self.children())

def two_stacks(layers=7):
    return Model(layers, nn.ModuleList), {"x": torch.ones(2, 4, 8)}

def unrecognised(layers=7):
    return Model(layers, Hidden), {"x": torch.ones(2, 4, 8)}

def whole_only(layers=None):
    return Model(layers or 7, Hidden), {"x": torch.ones(2, 4, 8)}
"""


@pytest.mark.parametrize("name", ["two_stacks", "unrecognised", "whole_only"])
def test_a_factory_of_any_depth_is_counted_by_its_own_depth(tmp_path: Path, name: str) -> None:
    """`layers` is what the factory makes of it: two stacks, or blocks that are not recognised."""
    (tmp_path / "towers.py").write_text(TOWERS)
    request = TraceRequest(factory=f"towers:{name}", micro_batch=2, seq_len=4, rules="cpu")
    found = traced.profile_for(request, folder=tmp_path, home=tmp_path / "home").profile
    assert found.parameters == 2 * 7 * (2 * 8 * 16 + 16 + 8)
    assert found.peak.places["optimizer"]["parameters"] == 4 * found.parameters


def test_an_example_without_samples_is_told() -> None:
    import torch

    with pytest.raises(UserError, match="x is empty"):
        cut({"x": torch.zeros(0, 3)})


ASKING = """
import json
import sys
from pathlib import Path
from headway.profile.asking import ask
ask("headway.profile.child", json.loads(sys.argv[1]), name="slow",
    folder=Path("."), timeout_seconds=60)
"""
SLOW = "import os, time\nfrom pathlib import Path\nPath('pid').write_text(str(os.getpid()))\ntime.sleep(60)\n"


def test_a_child_ends_with_the_process_that_asked(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    request = json.dumps(TraceRequest(factory="slow:f").to_data())
    asking = subprocess.Popen([sys.executable, "-c", ASKING, request], cwd=tmp_path)
    deadline = time.monotonic() + 60
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    child = int((tmp_path / "pid").read_text())
    asking.send_signal(signal.SIGKILL)
    asking.wait()
    while _runs(child):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
