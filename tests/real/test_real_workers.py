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


FAMILIES: dict[str, Callable[[], Any]] = {
    "bert": models.bert_and_batch,
    "roberta": models.roberta_and_batch,
    "gpt2": models.gpt2_and_batch,
    "llama": models.llama_and_batch,
    "plain": models.plain_and_batch,
}
RECIPES = {
    "ddp": Recipe(sharding="ddp", **LEAN),
    "ddp, autocast": Recipe(sharding="ddp", precision="bf16", **LEAN),
    "zero1": Recipe(sharding="zero1", **LEAN),
    "fsdp": Recipe(sharding="fsdp", **LEAN),
    "fsdp, recompute": Recipe(sharding="fsdp", recompute=uniform("nothing"), **LEAN),
    "fsdp, policy": Recipe(sharding="fsdp", recompute=uniform("matmul+attention"), **LEAN),
    "fsdp, bf16": Recipe(sharding="fsdp", precision="bf16", **LEAN),
    "hsdp": Recipe(sharding="hsdp", **LEAN),
}


@pytest.fixture(scope="module")
def found() -> dict[tuple[str, str], tuple[str, ...]]:
    """What is wrong with each family and recipe; all in the same two processes."""
    cases = {
        (family, name): Case(build, recipe, 2, workers_in_node=1 if name == "hsdp" else None)
        for family, build in FAMILIES.items()
        for name, recipe in RECIPES.items()
    }
    return dict(zip(cases, check_workers(list(cases.values())), strict=True))


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("family", FAMILIES)
def test_every_sharding_gives_the_plain_gradients(
    found: dict[tuple[str, str], tuple[str, ...]], family: str, name: str
) -> None:
    assert found[family, name] == ()


def lying_build() -> tuple[Any, Any]:
    """A model that is another one in every process: gradients that are averaged are nobody's."""
    model, batch = models.bert_and_batch()
    model.bert.encoder.layer[0].output.dense.weight.data.mul_(1 + dist.get_rank())
    return model, batch


def test_workers_that_differ_are_found_out() -> None:
    (problems,) = check_workers([Case(lying_build, Recipe(sharding="fsdp", micro_batch=2), 2)])
    assert any("gradient differs" in problem for problem in problems)
