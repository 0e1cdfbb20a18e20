from __future__ import annotations

import json

import pytest

from headway.errors import UserError
from headway.memory.recipe import Recipe, Segment, recipe_of, uniform
from headway.memory.registry import LAYERS, TECHNIQUES, lossy_in, techniques_of

RECIPE = Recipe(
    layers=("fused_loss", "lean_attention"),
    recompute=(Segment(2, "nothing"), Segment(-1, "attention")),
    sharding="fsdp",
    precision="bf16",
    micro_batch=4,
    accumulation=2,
    allocator=(("expandable_segments", "True"),),
)


def test_a_recipe_survives_json() -> None:
    assert recipe_of(json.loads(json.dumps(RECIPE.to_data()))) == RECIPE
    assert recipe_of({}) == Recipe()
    assert Recipe().to_data() == {}


def test_segments_cover_the_blocks() -> None:
    assert RECIPE.keeps(4) == ("nothing", "nothing", "attention", "attention")
    assert RECIPE.keeps(1) == ("nothing",)
    assert Recipe(recompute=(Segment(1, "nothing"),)).keeps(3) == ("nothing", "all", "all")
    assert uniform("all") == ()


@pytest.mark.parametrize(
    "data",
    [
        {"layer": []}, {"sharding": "zero3"}, {"precision": "fp8"}, {"micro_batch": 0}, {"micro_batch": True},
        {"micro_batch": 1.5}, {"recompute": "full"}, {"recompute": [{"keep": "most"}]}, {"recompute": [3]},
        {"layers": "fused_loss"}, {"optimizer": "fast"}, {"gradients": "int4"}, {"accumulation": -1},
        {"recompute": [{"keep": "all", "blocks": -2}]},
    ],
)  # fmt: skip
def test_a_wrong_recipe_is_told_with_what_is_allowed(data: dict[str, object]) -> None:
    with pytest.raises(UserError, match=r"recipe: .*(it has|can be)"):
        recipe_of(data)


@pytest.mark.parametrize(
    "recipe",
    [
        Recipe(layers=("gelu",)),
        Recipe(layers=("replayed_dropout", "packed_dropout")),
        Recipe(gradients="bf16"),
        Recipe(gradients="powersgd", sharding="fsdp"),
        Recipe(optimizer="in_backward", accumulation=2),
        Recipe(optimizer="in_backward", sharding="ddp"),
        Recipe(optimizer="offload", sharding="zero1"),
    ],
)
def test_contradictions_are_refused(recipe: Recipe) -> None:
    with pytest.raises(UserError, match="recipe"):
        techniques_of(recipe)


def test_a_recipe_names_its_techniques() -> None:
    names = [item.name for item in techniques_of(RECIPE)]
    assert names == [
        "mixed_precision",
        "lean_attention",
        "fused_loss",
        "recompute",
        "fully_sharded",
        "accumulation",
    ]
    assert lossy_in(Recipe(sharding="ddp", gradients="powersgd")) == ("compressed_gradients",)


def test_every_technique_says_everything_of_itself() -> None:
    for technique in TECHNIQUES.values():
        texts = (technique.does, technique.saves, technique.costs, technique.needs, technique.source)
        assert all(len(text) > 5 for text in texts), technique.name
    assert all(TECHNIQUES[name].apply is not None for name in LAYERS)
