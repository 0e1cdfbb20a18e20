"""Dropout that keeps its seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.memory.technique import Change, Technique

if TYPE_CHECKING:
    from torch import nn

NAME = "replayed_dropout"


def apply(model: nn.Module) -> Change:
    """Change every nn.Dropout."""
    from headway.memory.layers.dropout import SeedDropout

    return change_dropouts(model, NAME, SeedDropout)


def change_dropouts(model: nn.Module, technique: str, mixin: type) -> Change:
    """Give every nn.Dropout a mixin's forward."""
    import torch

    from headway.memory.layers.dropout import BitDropout, SeedDropout
    from headway.memory.swap import swap

    changed: list[str] = []
    unchanged: list[tuple[str, str]] = []
    for name, module in model.named_modules():
        if not isinstance(module, torch.nn.Dropout) or isinstance(module, SeedDropout | BitDropout):
            continue
        if module.p == 0.0:
            continue  # it drops nothing and keeps nothing
        if type(module) is not torch.nn.Dropout:
            unchanged.append((name, f"{type(module).__name__} may drop in another way"))
            continue
        if module.inplace:
            unchanged.append((name, "it works in place"))
        else:
            swap(module, mixin, lean_calls=0)
            changed.append(name)
    return Change(technique, tuple(changed), tuple(unchanged))


TECHNIQUE = Technique(
    name=NAME,
    kind="layers",
    does="dropout keeps the seed of its mask and draws the mask again in the backward pass",
    saves="B·S·h a dropout with CUDA's masks of one byte, B·S·h·e with a processor's",
    costs="the random numbers are drawn twice",
    exact=True,
    needs="nn.Dropout modules",
    source="the replay that recompute uses (arXiv 1604.06174), for one operation",
    apply=apply,
)
