"""Sharded recipes against the plain model, with real processes over gloo."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch.distributed as dist

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit" / "memory"))
import memory_models as models

from headway.memory.gate_workers import Case, check_workers
from headway.memory.recipe import Recipe, uniform
from headway.memory.registry import LEAN_LAYERS

pytestmark = pytest.mark.real
LEAN: dict[str, Any] = {"layers": LEAN_LAYERS, "micro_batch": 1, "accumulation": 2}


@pytest.mark.parametrize(
    "build",
    [
        models.bert_and_batch,
        models.roberta_and_batch,
        models.gpt2_and_batch,
        models.llama_and_batch,
        models.plain_and_batch,
    ],
)
def test_every_sharding_gives_the_plain_gradients(build: Callable[[], Any]) -> None:
    recipes = {
        "ddp": Recipe(sharding="ddp", **LEAN),
        "ddp, autocast": Recipe(sharding="ddp", precision="bf16", **LEAN),
        "zero1": Recipe(sharding="zero1", **LEAN),
        "fsdp": Recipe(sharding="fsdp", **LEAN),
        "fsdp, recompute": Recipe(sharding="fsdp", recompute=uniform("nothing"), **LEAN),
        "fsdp, policy": Recipe(sharding="fsdp", recompute=uniform("matmul+attention"), **LEAN),
        "fsdp, bf16": Recipe(sharding="fsdp", precision="bf16", **LEAN),
        "hsdp": Recipe(sharding="hsdp", **LEAN),
    }
    cases = [
        Case(build, recipe, 2, workers_in_node=1 if name == "hsdp" else None)
        for name, recipe in recipes.items()
    ]
    found = dict(zip(recipes, check_workers(cases), strict=True))
    assert {name: problems for name, problems in found.items() if problems} == {}


def lying_build() -> tuple[Any, Any]:
    """A model that is another one in every process: gradients that are averaged are nobody's."""
    model, batch = models.bert_and_batch()
    model.bert.encoder.layer[0].output.dense.weight.data.mul_(1 + dist.get_rank())
    return model, batch


def test_workers_that_differ_are_found_out() -> None:
    (problems,) = check_workers([Case(lying_build, Recipe(sharding="fsdp", micro_batch=2), 2)])
    assert any("gradient differs" in problem for problem in problems)
