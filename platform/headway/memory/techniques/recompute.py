"""Blocks recomputed in the backward pass, wholly or but for what a policy keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.memory.technique import Change, Technique

if TYPE_CHECKING:
    from torch import nn

    from headway.memory.recipe import Recipe

NAME = "recompute"


def apply(model: nn.Module, recipe: Recipe) -> Change:
    """Give each block the policy that the recipe has for it."""
    from headway.memory.blocks import blocks_of
    from headway.memory.layers.recompute import RecomputedBlock
    from headway.memory.swap import is_swapped, swap

    blocks = blocks_of(model)
    if not blocks:
        return Change(NAME, (), (("", "the model has no list of like blocks"),))
    changed: list[str] = []
    for (name, block), keep in zip(blocks, recipe.keeps(len(blocks)), strict=True):
        if keep == "all":
            continue
        if is_swapped(block, RecomputedBlock):
            block.__dict__["keep"] = keep
        else:
            swap(block, RecomputedBlock, keep=keep, lean_calls=0)
        changed.append(name)
    return Change(NAME, tuple(changed))


TECHNIQUE = Technique(
    name=NAME,
    kind="recompute",
    does="a block keeps its input (nothing), or also its attention, or also its matrix products",
    saves="all of a block's activations but B·S·h·e (nothing); see the profile for the policies between",
    costs="one forward pass of what is not kept; with matrix products kept, elementwise work only",
    exact=True,
    needs="a list of like blocks; random numbers are drawn again from the kept generator state",
    source="Chen et al. (arXiv 1604.06174); torch.utils.checkpoint",
)
