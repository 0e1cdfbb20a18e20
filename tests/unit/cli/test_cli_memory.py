"""techniques, gate, profile: what people see, and that a refused recipe records nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from headway.cli.main import cli
from headway.controller.recipes import batches_of, recipe_of_job
from headway.controller.tracing import request_of_job
from headway.memory.recipe import Recipe
from headway.memory.registry import LAYERS, LEAN_LAYERS, TECHNIQUES
from headway.spec.files import load_job
from headway.spec.recipe import LayerTechnique

JOB = """version: 1
name: tiny
entrypoint: python -c pass
workload:
  model:
    factory: bert-large
    config:
      {{hidden_size: 32, num_hidden_layers: 2, num_attention_heads: 2, intermediate_size: 64,
       vocab_size: 101}}
  steps: 10
  seq_len: 16
  global_batch: 8
needs: {{workers: 2, precision: [{precision}]}}
memory: {memory}
"""


def job(tmp_path: Path, memory: str, precision: str = "fp32") -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(JOB.format(memory=memory, precision=precision))
    return path


def spec(tmp_path: Path, memory: str, precision: str = "fp32"):
    return load_job(job(tmp_path, memory, precision)).spec


def run(*words: str):
    return CliRunner().invoke(cli, list(words), catch_exceptions=True)


def test_the_job_file_knows_the_registrys_layers() -> None:
    assert LayerTechnique.__args__ == LAYERS


def test_techniques_are_listed_with_what_they_cost(home) -> None:
    rows = json.loads(run("techniques", "-o", "json").output)["techniques"]
    assert [row["name"] for row in rows] == list(TECHNIQUES)
    assert "fused_loss" in run("techniques").output


def test_a_job_without_a_recipe_leaves_it_to_the_script(tmp_path: Path) -> None:
    assert recipe_of_job(spec(tmp_path, "{exact: true}")) is None
    assert recipe_of_job(spec(tmp_path, "{recipe: none}")) is None


def test_auto_is_every_exact_layer_technique_and_ddp(tmp_path: Path) -> None:
    assert recipe_of_job(spec(tmp_path, "{recipe: auto}")) == Recipe(
        layers=LEAN_LAYERS, sharding="ddp", micro_batch=4
    )
    low = recipe_of_job(spec(tmp_path, "{recipe: auto}", "bf16"))
    assert low is not None
    assert "norm_from_output" not in low.layers
    assert low.precision == "bf16"


def test_a_recipe_is_read_part_by_part(tmp_path: Path) -> None:
    text = (
        "{exact: false, recipe: {layers: [fused_loss], gradients: powersgd,"
        " recompute: [{blocks: 1, keep: nothing}, {keep: attention}]}}"
    )
    recipe = recipe_of_job(spec(tmp_path, text))
    assert recipe is not None
    assert recipe.keeps(3) == ("nothing", "attention", "attention")
    assert (recipe.layers, recipe.gradients) == (("fused_loss",), "powersgd")


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        ("{recipe: fast}", "not a recipe"),
        ("{recipe: {layers: [gelu]}}", "layers"),
        ("{recipe: {gradients: bf16}}", "memory.exact forbids"),
        ("{exact: false, recipe: {gradients: bf16, sharding: fsdp}}", "needs sharding ddp or zero1"),
        ("{recipe: {layers: [packed_dropout, replayed_dropout]}}", "exclude each other"),
        ("{recipe: {recompute: half}}", "recompute"),
        ("{recipe: {optimizer: in_backward, sharding: ddp}}", "exclude each other"),
        ("{recipe: {optimizer: offload, sharding: zero1}}", "exclude each other"),
        ("{recipe: [fused_loss]}", "not a recipe"),
    ],
)
def test_a_wrong_recipe_is_refused_with_its_line(home, tmp_path: Path, memory: str, said: str) -> None:
    done = subprocess.run(
        [Path(sys.executable).parent / "headway", "gate", job(tmp_path, memory)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert "job.yaml:14" in done.stderr


def test_batches_nest(tmp_path: Path) -> None:
    read = spec(tmp_path, "{recipe: auto}")
    assert batches_of(read) == (4, 1)
    three = load_job(job(tmp_path, "{recipe: auto}"), ("workload.micro_batch=3",)).spec
    assert batches_of(three) == (3, 2)


def test_what_is_traced_is_what_the_job_says(tmp_path: Path) -> None:
    request = request_of_job(spec(tmp_path, "{recipe: auto}", "bf16"))
    assert (request.model, request.seq_len, request.rules) == ("bert-large", 16, "cpu")
    assert request.recipe.precision == "bf16"
    gpu = load_job(job(tmp_path, "{recipe: auto}"), ("needs.gpus=8",)).spec
    assert request_of_job(gpu).rules == "cuda"


def test_the_gate_passes_and_is_remembered(home, tmp_path: Path) -> None:
    path = str(job(tmp_path, "{recipe: {preset: auto, recompute: nothing}}"))
    first = run("gate", path)
    assert first.exit_code == 0, first.output
    assert "gradient gate passed:" in first.output
    assert "CUDA kernels" in first.output
    assert "passed before" in run("gate", path).output


FACTORY = """
import torch
from torch import nn

print("noise on stdout")


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)
        self.act, self.drop = nn.GELU(), nn.Dropout(0.1)

    def forward(self, x):
        class Doubled(torch.autograd.Function):
            @staticmethod
            def forward(ctx, value):
                return value * 2

            @staticmethod
            def backward(ctx, grad):
                return grad * 2

        {body}
        return value.pow(2).mean()


def build():
    return Model(), {{"x": torch.ones(2, 8)}}
"""


def factory_job(tmp_path: Path, body: str) -> Path:
    (tmp_path / "mine.py").write_text(FACTORY.format(body=body))
    path = job(tmp_path, "{recipe: {layers: [fused_activation, replayed_dropout]}}")
    text = path.read_text()
    start, end = text.index("    factory"), text.index("  steps")
    path.write_text(text[:start] + "    factory: mine:build\n" + text[end:])
    return path


def test_a_factory_of_the_users_own_passes(home, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("gate", str(factory_job(tmp_path, "value = self.drop(self.down(self.act(self.up(x))))")))
    assert done.exit_code == 0, done.output
    assert "fused_activation 1" in done.output


def test_a_recipe_that_would_lose_gradients_is_refused(home, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = factory_job(tmp_path, "value = self.down(Doubled.apply(self.act(self.up(x))))")
    done = run("gate", str(path))
    assert done.exit_code != 0
    assert "its gradient would be lost" in str(done.exception) + done.output


def test_a_factory_that_raises_is_told_with_its_line(home, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("gate", str(factory_job(tmp_path, "raise ValueError('boom')")))
    assert "ValueError: boom" in str(done.exception) + done.output
    assert "mine.py:" in str(done.exception) + done.output
