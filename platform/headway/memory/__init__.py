"""Less memory per training step: techniques that keep results, as recipes that can be planned and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

    from headway.memory.applied import Applied
    from headway.memory.recipe import Recipe


def apply(model: nn.Module, recipe: Recipe) -> Applied:
    """Change a model, in place, as a recipe says; see `headway.memory.applied.apply_recipe`.

    `headway.memory.recipe.recipe_of({"layers": [...]})` makes a recipe.

    Raises:
        TypeError: one of the two is something else.
        UserError: the recipe contradicts itself or names what does not exist.
    """
    from headway.memory.applied import apply_recipe

    return apply_recipe(model, recipe)
