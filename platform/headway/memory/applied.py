"""Apply a recipe's layer techniques, recompute and offload to a model, in place, and say what changed."""

from __future__ import annotations

from dataclasses import dataclass

from torch import nn

from headway.memory.recipe import Recipe
from headway.memory.registry import techniques_of
from headway.memory.technique import Change
from headway.memory.techniques import recompute


@dataclass(frozen=True, slots=True)
class Applied:
    """The model that was changed, and what each technique changed and could not."""

    model: nn.Module
    changes: tuple[Change, ...]

    @property
    def idle(self) -> tuple[str, ...]:
        """Techniques that found nothing to change."""
        return tuple(change.technique for change in self.changes if not change.changed)


def apply_recipe(model: nn.Module, recipe: Recipe) -> Applied:
    """Change `model` as the recipe's layer techniques, recompute and offload say.

    Parameters, buffers, their names and sharing, hooks and the train/eval switch stay as they are. Sharding,
    precision, the optimizer and accumulation belong to the step (`headway.memory.step`).

    Raises:
        TypeError: `model` or `recipe` is something else.
        UserError: the recipe contradicts itself or names what does not exist.
    """
    if not isinstance(model, nn.Module) or not isinstance(recipe, Recipe):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"apply takes a torch module and a Recipe, not {type(model).__name__}, {type(recipe).__name__}"
        )
    changes: list[Change] = []
    for technique in techniques_of(recipe):
        if technique.name == recompute.NAME:
            changes.append(recompute.apply(model, recipe))
        elif technique.apply is not None:
            changes.append(technique.apply(model))
    return Applied(model, tuple(changes))


def calls_of(model: nn.Module) -> dict[str, int]:
    """How often each changed module has worked in its changed way, by name."""
    counts = {
        name: int(module.__dict__["lean_calls"])
        for name, module in model.named_modules()
        if "lean_calls" in module.__dict__
    }
    for name, module in model.named_modules():
        function = module.__dict__.get("activation")
        if hasattr(function, "lean_calls"):
            counts[f"{name}.activation".lstrip(".")] = function.lean_calls  # pyright: ignore[reportOptionalMemberAccess]
    return counts
