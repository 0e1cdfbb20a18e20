"""Activations kept in host memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.memory.technique import Change, Technique

if TYPE_CHECKING:
    from torch import nn

NAME = "offload_activations"


def apply(model: nn.Module) -> Change:
    """Change every block."""
    from headway.memory.blocks import blocks_of
    from headway.memory.layers.recompute import OffloadedBlock
    from headway.memory.swap import is_swapped, swap

    blocks = blocks_of(model)
    if not blocks:
        return Change(NAME, (), (("", "the model has no list of like blocks"),))
    for _name, block in blocks:
        if not is_swapped(block, OffloadedBlock):
            swap(block, OffloadedBlock, lean_calls=0)
    return Change(NAME, tuple(name for name, _block in blocks))


TECHNIQUE = Technique(
    name=NAME,
    kind="recompute",
    does="what a block keeps for the backward pass lies in host memory",
    saves="a block's kept activations on the device",
    costs="their bytes over the host link, twice",
    exact=True,
    needs="host memory; on a processor it saves nothing",
    source="torch.autograd.graph.save_on_cpu",
    apply=apply,
)
